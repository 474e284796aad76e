use super::*;
use crate::process::descends_from;
use crosstalk_core::FaultKind;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, id};

fn listening() -> (TcpListener, u16) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("listens");
    let port = socket.local_addr().expect("has one").port();
    (socket, port)
}

/// A port that nobody listens on, and that no other test gets while this lives: that of a connection's own end.
fn silent() -> (TcpStream, u16) {
    let (socket, port) = listening();
    let connection = TcpStream::connect(("127.0.0.1", port)).expect("is accepted by the kernel");
    let own = connection.local_addr().expect("has one").port();
    drop(socket);
    (connection, own)
}

#[test]
fn a_service_is_found_by_its_port_or_its_process() {
    let (_socket, port) = listening();
    let by_port = find(&ServiceQuery { ports: vec![port], ..ServiceQuery::default() }).expect("listens");
    assert_eq!((by_port.target.ports, by_port.target.processes), (vec![port], vec![]));
    assert!(by_port.served.iter().any(|(identity, _)| identity.pid == id()));
    let by_pid = find(&ServiceQuery { pid: Some(id()), ..ServiceQuery::default() }).expect("listens");
    assert!(by_pid.target.ports.contains(&port) && by_pid.is_alive());
    assert_eq!((by_pid.target.processes, by_pid.target.namespace), (vec![id()], by_port.target.namespace));
}

#[test]
fn a_port_that_nobody_listens_on_has_a_remedy() {
    let (_held, port) = silent();
    let fault =
        find(&ServiceQuery { ports: vec![port], ..ServiceQuery::default() }).expect_err("nobody listens");
    assert_eq!((fault.kind, fault.place.as_deref()), (FaultKind::Usage, Some("--port")));
    assert!(fault.message.contains("nobody listens") && fault.remedy.is_some(), "{fault}");
    let (_socket, _) = listening();
    let fault =
        find(&ServiceQuery { ports: vec![port], pid: Some(id()), group: None }).expect_err("not on this");
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("take one of")));
}

#[test]
fn a_process_that_is_gone_or_does_not_listen_is_refused() {
    let mut child = Command::new("sleep").arg("30").spawn().expect("starts");
    let fault = find(&ServiceQuery { pid: Some(child.id()), ..ServiceQuery::default() })
        .expect_err("does not listen");
    assert!(fault.message.contains("listens on no TCP port"), "{fault}");
    child.kill().expect("ends");
    child.wait().expect("ended");
    let fault =
        find(&ServiceQuery { pid: Some(child.id()), ..ServiceQuery::default() }).expect_err("is gone");
    assert!(fault.message.contains("there is no process"), "{fault}");
    assert!(descends_from(id(), std::os::unix::process::parent_id()) && !descends_from(1, id()));
}

#[test]
fn another_process_with_the_same_number_is_not_the_service() {
    let (_socket, _) = listening();
    let mut service = find(&ServiceQuery { pid: Some(id()), ..ServiceQuery::default() }).expect("listens");
    service.served[0].0.start += 1;
    assert!(!service.is_alive());
}

#[test]
fn a_missing_group_is_refused() {
    let group = Some(PathBuf::from("there/is/none"));
    let fault = find(&ServiceQuery { group, ..ServiceQuery::default() }).expect_err("is none");
    assert_eq!((fault.kind, fault.place.as_deref()), (FaultKind::Usage, Some("--cgroup")));
}

#[test]
fn a_group_is_found_by_its_folder_and_by_its_name() {
    let expected = Path::new("/sys/fs/cgroup/system.slice/nginx.service");
    for group in [
        "/sys/fs/cgroup/system.slice/nginx.service",
        "/system.slice/nginx.service",
        "system.slice/nginx.service",
    ] {
        assert_eq!(folder(Path::new(group)), expected, "{group}");
    }
}
