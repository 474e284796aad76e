//! `crosstalk trace` of unusual services: sendfile, TLS, another network namespace, pipelining, io_uring.

use crate::common::{command, crosstalk, finish, stderr, stdout};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A service with a child that sends it requests.
const SERVICE: &str = r#"
import os, socket, ssl, struct, sys, tempfile, time
kind = sys.argv[1]
if kind == "namespace":
    import fcntl
    flags = struct.pack("16sh", b"lo", 1)  # IFF_UP (netdevice(7))
    fcntl.ioctl(socket.socket(), 0x8914, flags)  # SIOCSIFFLAGS
tls = None
if kind == "tls":
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("cert.pem", "key.pem")
listener = socket.create_server(("127.0.0.1", 0))
file = tempfile.TemporaryFile()
file.write(b"x" * 4096)
file.flush()
size, together = (4096 if kind == "sendfile" else 64), (4 if kind == "pipelined" else 1)

def whole(stream, size):
    taken = b""
    while len(taken) < size:
        part = stream.recv(size - len(taken))
        if not part:
            os._exit(0)
        taken += part
    return taken

def ask():
    stream = socket.create_connection(listener.getsockname())
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls:
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        stream = trusting.wrap_socket(stream)
    first = True
    while True:
        stream.sendall(b"q" * 64 * together)
        whole(stream, size * together)
        if first:
            print("answered", flush=True)
        first = False
        if together > 1:
            time.sleep(0.01)

if os.fork() == 0:
    try:
        ask()
    except OSError:  # the service is gone
        os._exit(0)
stream = listener.accept()[0]
stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
if tls:
    stream = tls.wrap_socket(stream, server_side=True)
while True:
    whole(stream, 64)
    if kind == "sendfile":
        os.sendfile(stream.fileno(), file.fileno(), 0, size)
    else:
        stream.sendall(b"a" * size)
"#;

/// Ends with its test, and its client with it.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A service that has answered once; `None`, with a note, if it cannot run here.
fn service(dir: &Path, before: &[&str], kind: &str) -> Option<Service> {
    let words: Vec<&str> = before.iter().copied().chain(["python3", "-c", SERVICE, kind]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("skipped: {} is not installed", words[0]);
        return None;
    };
    let mut said = String::new();
    let read = BufReader::new(child.stdout.take().expect("piped")).read_line(&mut said);
    let service = Service(child);
    if !before.is_empty() && said.is_empty() {
        eprintln!("skipped: {} is not permitted", before[0]);
        return None;
    }
    assert!(read.is_ok() && said == "answered\n", "{kind}: it does not answer");
    Some(service)
}

/// The result of tracing a process; `None`, with a note, if this machine cannot trace.
fn trace(dir: &Path, pid: u32) -> Option<Value> {
    let found = trace_for(dir, pid, "500 ms")?;
    // On a busy machine some services get no processor within half a second.
    if found["requests"] == 0 { trace_for(dir, pid, "5 s") } else { Some(found) }
}

fn trace_for(dir: &Path, pid: u32, time: &str) -> Option<Value> {
    let output = crosstalk(dir, &["trace", "--pid", &pid.to_string(), "--for", time, "--json"]);
    if output.status.code() == Some(4) && stderr(&output).contains("stages cannot be seen") {
        eprintln!("skipped: {}", stderr(&output).trim());
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found: Value = serde_json::from_str(stdout(&output).lines().last().expect("a line")).expect("JSON");
    assert_eq!(found["service"][0]["pid"].as_u64(), Some(pid.into()), "{found}");
    Some(found)
}

/// Checks that nearly every request is followed. Returns the number of requests.
fn followed(found: &Value) -> u64 {
    let number = |name: &str| found[name].as_u64().unwrap_or_else(|| panic!("{name}: {found}"));
    let (requests, followed) = (number("requests"), number("followed"));
    assert!(requests > 10 && followed * 10 >= requests * 9, "{followed} of {requests}: {found}");
    let client = &found["accounts"].as_array().expect("accounts")[0];
    assert!(client["mean"].as_f64().is_some_and(|mean| mean > 0.0 && mean < 1.0), "{found}");
    requests
}

#[test]
fn a_service_that_sends_files_is_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(service) = service(dir.path(), &[], "sendfile") else { return };
    if let Some(found) = trace(dir.path(), service.0.id()) {
        assert!(followed(&found) > 50, "{found}");
    }
}

#[test]
fn a_service_that_speaks_tls_is_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
        ])
        .args(["-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(dir.path())
        .output();
    if !made.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: openssl makes no certificate here");
        return;
    }
    let Some(service) = service(dir.path(), &[], "tls") else { return };
    if let Some(found) = trace(dir.path(), service.0.id()) {
        assert!(followed(&found) > 50, "{found}");
    }
}

#[test]
fn a_service_in_another_network_namespace_is_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(service) = service(dir.path(), &["unshare", "-n"], "namespace") else { return };
    if let Some(found) = trace(dir.path(), service.0.id()) {
        assert!(followed(&found) > 50, "{found}");
    }
}

/// Four requests without waiting for answers, at most a hundred times a second.
#[test]
fn pipelined_requests_are_one_and_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(service) = service(dir.path(), &[], "pipelined") else { return };
    let Some(found) = trace(dir.path(), service.0.id()) else { return };
    let requests = followed(&found);
    assert!(requests <= 100, "four at a time are one: {requests}");
}

#[test]
fn a_service_with_io_uring_is_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    let at = free.local_addr().expect("has one").to_string();
    drop(free);
    let server =
        Service(command(dir.path(), &["probe", "latency", "--listen", &at]).spawn().expect("starts"));
    let ask = |time: &str| {
        ["probe", "latency", "--to", &at, "--transport", "io-uring", "-t", time].map(String::from)
    };
    let asked = |time: &str| {
        let words = ask(time);
        command(dir.path(), &words.each_ref().map(String::as_str))
    };
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let first = loop {
        let output = finish(asked("0.1").spawn().expect("starts"));
        if !stderr(&output).contains("cannot connect") || std::time::Instant::now() > until {
            break output;
        }
    };
    if first.status.code() == Some(4) && stderr(&first).contains("io_uring") {
        eprintln!("skipped: {}", stderr(&first).trim());
        return;
    }
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let client = asked("2").spawn().expect("starts");
    if let Some(found) = trace(dir.path(), server.0.id()) {
        assert!(followed(&found) > 50, "{found}");
    }
    assert_eq!(finish(client).status.code(), Some(0));
}
