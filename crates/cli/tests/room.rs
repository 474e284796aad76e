//! `crosstalk guard` and `exec` at a limit of processes, or of clients that read metrics: they report it, and do not
//! panic.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::external::{Running, alone, await_that};
use crate::common::{command, finish, lacks_groups, stderr};

/// A control group that limits its processes and threads (`pids.max`).
struct LimitedGroup(PathBuf);

impl LimitedGroup {
    fn new() -> Option<LimitedGroup> {
        let tree = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
        let found = tree.into_iter().find(|tree| {
            let offered = fs::read_to_string(tree.join("cgroup.subtree_control"));
            tree.ends_with("pids") && tree.exists() || offered.is_ok_and(|offered| offered.contains("pids"))
        });
        let path = found.map(|tree| tree.join(format!("crosstalk-test-{}", std::process::id())));
        let Some(path) = path.filter(|path| fs::create_dir(path).is_ok()) else {
            eprintln!("skipped: no control group here can limit processes");
            return None;
        };
        Some(LimitedGroup(path))
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        await_that("it is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_limit_of_processes_and_threads_is_reported() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let Some(group) = LimitedGroup::new() else { return };
    for words in ["guard --for 0.1s --metrics 127.0.0.1:0", "exec --background -- true"] {
        let mut codes = Vec::new();
        for most in [1, 3, 4, 5, 9] {
            fs::write(group.0.join("pids.max"), most.to_string()).expect("may be set");
            let script = format!("echo $$ > {}/cgroup.procs && exec $CROSSTALK {words}", group.0.display());
            let mut start = Command::new("sh");
            start.args(["-c", &script]).env("CROSSTALK", env!("CARGO_BIN_EXE_crosstalk"));
            start.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let output = finish(start.spawn().expect("sh starts"));
            let code = output.status.code();
            assert!(code == Some(0) || code == Some(4), "{words}, {most}: {}", stderr(&output));
            assert!(code == Some(0) || stderr(&output).contains("cannot"), "{}", stderr(&output));
            codes.extend(code);
        }
        assert_eq!((codes[0], codes[4]), (4, 0), "{words}: too few, and enough: {codes:?}");
    }
}

#[test]
fn a_client_too_many_for_metrics_gets_503() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let mut guard = command(Path::new("/"), &["guard", "--metrics", "127.0.0.1:0"]).spawn().expect("starts");
    let mut first_line = String::new();
    let stdout = guard.stdout.take().expect("piped");
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut first_line).expect("prints the address");
    let _guard = Running::of(guard);
    let address =
        first_line.trim().trim_start_matches("metrics at http://").trim_end_matches("/metrics").to_string();
    let request = || {
        let mut stream = TcpStream::connect(&address).expect("listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("may be set");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("is taken");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).map(|_| reply)
    };
    assert!(request().expect("answers").starts_with("HTTP/1.1 200 OK\r\n"));
    // They send nothing, and the guard closes their connections after two seconds.
    let silent: Vec<TcpStream> = (0..16).map(|_| TcpStream::connect(&address).expect("listens")).collect();
    let reply = request().expect("answers");
    assert!(reply.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{reply}");
    drop(silent);
    await_that("there is room again", || {
        request().is_ok_and(|reply| reply.starts_with("HTTP/1.1 200 OK\r\n"))
    });
}
