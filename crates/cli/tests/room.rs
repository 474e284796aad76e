//! Where there is no room for more: processes, or clients that ask for metrics. It is said, and nothing panics.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::external::{Running, alone, await_that};
use crate::common::{command, finish, lacks_groups, stderr};

/// A group in which so many processes and threads may be.
struct Few(PathBuf);

impl Few {
    fn new() -> Option<Few> {
        let tree = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
        let found = tree.into_iter().find(|tree| {
            let told = fs::read_to_string(tree.join("cgroup.subtree_control"));
            tree.ends_with("pids") && tree.exists() || told.is_ok_and(|told| told.contains("pids"))
        });
        let made = found.map(|tree| tree.join(format!("crosstalk-test-{}", std::process::id())));
        let Some(made) = made.filter(|made| fs::create_dir(made).is_ok()) else {
            eprintln!("skipped: there is no group in which processes can be limited");
            return None;
        };
        Some(Few(made))
    }
}

impl Drop for Few {
    fn drop(&mut self) {
        await_that("it is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn without_room_for_a_process_or_thread_it_is_said() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let Some(few) = Few::new() else { return };
    for words in ["guard --for 0.1s --metrics 127.0.0.1:0", "exec --background -- true"] {
        let mut codes = Vec::new();
        for most in [1, 3, 4, 5, 9] {
            fs::write(few.0.join("pids.max"), most.to_string()).expect("may be set");
            let script = format!("echo $$ > {}/cgroup.procs && exec $CROSSTALK {words}", few.0.display());
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
fn who_asks_for_metrics_while_too_many_do_is_told_so() {
    if lacks_groups() {
        return;
    }
    let _alone = alone();
    let mut guard = command(Path::new("/"), &["guard", "--metrics", "127.0.0.1:0"]).spawn().expect("starts");
    let mut said = String::new();
    let stdout = guard.stdout.take().expect("piped");
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut said).expect("says where");
    let _guard = Running::of(guard);
    let address =
        said.trim().trim_start_matches("metrics at http://").trim_end_matches("/metrics").to_string();
    let ask = || {
        let mut stream = TcpStream::connect(&address).expect("listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("may be set");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("is taken");
        let mut told = String::new();
        stream.read_to_string(&mut told).map(|_| told)
    };
    assert!(ask().expect("answers").starts_with("HTTP/1.1 200 OK\r\n"));
    // They say nothing, and are let go after two seconds.
    let silent: Vec<TcpStream> = (0..16).map(|_| TcpStream::connect(&address).expect("listens")).collect();
    let told = ask().expect("answers");
    assert!(told.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{told}");
    drop(silent);
    await_that("there is room again", || ask().is_ok_and(|told| told.starts_with("HTTP/1.1 200 OK\r\n")));
}
