//! `crosstalk trace`: refusals, and the result for a service.

mod common;

use common::{crosstalk, stderr, stdout};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::thread;

fn trace(args: &[&str]) -> Output {
    let dir = tempfile::tempdir().expect("a directory");
    crosstalk(dir.path(), &[&["trace"], args].concat())
}

/// Whether this machine cannot trace, with a note.
fn lacks(output: &Output) -> bool {
    let lacks = output.status.code() == Some(4) && stderr(output).contains("stages cannot be seen");
    if lacks {
        eprintln!("skipped: {}", stderr(output).trim());
    }
    lacks
}

/// A service that answers a byte with a byte, and a client that sends requests without pause.
fn busy_service() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("has one");
    thread::spawn(move || {
        let mut stream = listener.accept().expect("is asked").0;
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
    });
    thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("listens");
        while stream.write_all(&[1]).is_ok() && stream.read_exact(&mut [0]).is_ok() {}
    });
    address
}

#[test]
fn a_command_line_without_a_service_is_refused() {
    let output = trace(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--port"), "{}", stderr(&output));
    for wrong in [&["--port", "0"][..], &["--port", "70000"], &["--pid", "1", "--cgroup", "x"]] {
        assert_eq!(trace(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let output = trace(&["--port", "1", "--for", "10 parsecs"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--for") && stderr(&output).contains("unit"), "{}", stderr(&output));
}

#[test]
fn a_port_without_a_service_is_refused() {
    // No other test gets a connection's own end while it lives, and nobody listens on it.
    let socket = TcpListener::bind("127.0.0.1:0").expect("listens");
    let held = TcpStream::connect(socket.local_addr().expect("has one")).expect("is accepted by the kernel");
    let port = held.local_addr().expect("has one").port().to_string();
    let output = trace(&["--port", &port]);
    if lacks(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("nobody listens on TCP port"), "{}", stderr(&output));
    let output = trace(&["--pid", "4194305"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("no process 4194305"), "{}", stderr(&output));
}

#[test]
fn without_privileges_the_fault_says_what_is_missing() {
    let program = env!("CARGO_BIN_EXE_crosstalk");
    let output = Command::new(program).args(["trace", "--port", "1"]).uid(65_534).gid(65_534).output();
    let Ok(output) = output else {
        eprintln!("skipped: only root can be somebody else");
        return;
    };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("stages cannot be seen"), "{said}");
}

#[test]
fn a_live_service_is_shown_as_text_as_a_page_and_as_a_perfetto_trace() {
    let port = busy_service().port().to_string();
    let dir = tempfile::tempdir().expect("a directory");
    let files = ["--html", "it.html", "--perfetto", "it.json", "--out", "out.json"];
    let output =
        crosstalk(dir.path(), &[&["trace", "--port", &port, "--for", "700 ms"], &files[..]].concat());
    if lacks(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for words in
        ["where it goes", "around p50", "most of it", "received on", "cost of tracing", "ui.perfetto.dev"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).expect("is written");
    assert!(read("it.html").contains("<svg") && read("it.html").ends_with("</html>\n"));
    let events: Value = serde_json::from_str(&read("it.json")).expect("JSON");
    assert!(events["traceEvents"].as_array().is_some_and(|events| events.len() > 10));
    let out: Value = serde_json::from_str(&read("out.json")).expect("JSON");
    assert_eq!((out["result"].as_str(), out["schema"].as_str()), (Some("trace"), Some("crosstalk.trace/1")));
    assert!(out["cost"]["runs_a_request"].as_f64().is_some_and(|runs| runs > 1.0), "{}", out["cost"]);
    // Another trace, by process.
    let pid = std::process::id().to_string();
    let output = trace(&["--pid", &pid, "--port", &port, "--for", "300 ms", "--json"]);
    let reported: Value =
        serde_json::from_str(stdout(&output).lines().last().expect("a line")).expect("JSON");
    assert_eq!(reported["service"][0]["pid"].as_u64(), Some(u64::from(std::process::id())), "{reported}");
    assert!(reported["followed"].as_u64().is_some_and(|followed| followed > 0), "{reported}");
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_traced() {
    let socket = TcpListener::bind("127.0.0.1:0").expect("listens");
    let port = socket.local_addr().expect("has one").port().to_string();
    let output = trace(&["--port", &port, "--for", "1 h", "--html", "no/such/folder/it.html"]);
    if lacks(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("no/such/folder/it.html"), "{}", stderr(&output));
}
