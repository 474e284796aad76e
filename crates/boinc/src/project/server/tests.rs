//! The server, over sockets.

use super::*;
use crate::digest::md5_hex;
use crate::project::directory::Directory;
use crate::project::load::{BodyReservation, MOST_BODY_BYTES};
use crate::project::pages::PROGRAMS;
use crate::project::settings::Settings;
use std::io::Read;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Runs a server while `with` runs.
fn serving(with: impl FnOnce(&Server, SocketAddr)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("program");
    std::fs::write(&program, "0123456789").expect("writes");
    let program = File::open(program).expect("opens");
    let open = Directory::open(&folder.path().join("project"), || {
        Ok(Settings { units: Some(3), ..Settings::default() })
    })
    .expect("opens");
    let place = ServerAddress::new(([127, 0, 0, 1], 0).into(), None).expect("listens");
    let server = Server::new(open, place, &program).expect("has a program");
    let address = server.listener.local_addr().expect("has one");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| server.serve(&stop, |_, _| true));
        // Also when `with` panics, or the scope never ends.
        struct Stops<'a>(&'a AtomicBool);
        impl Drop for Stops<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let stops = Stops(&stop);
        with(&server, address);
        drop(stops);
        running.join().expect("ends").expect("was sound");
    });
}

fn send(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("listens");
    stream.write_all(request).expect("sends");
    let mut reply = Vec::new();
    // The server may reset the connection after its reply.
    let _ = stream.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

fn get(address: SocketAddr, path: &str) -> String {
    send(address, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
}

#[test]
fn the_pages_that_a_client_asks_for_are_there() {
    serving(|server, address| {
        let master = get(address, "/project/");
        let link = format!("\n<link rel=\"boinc_scheduler\" href=\"http://{address}/project/cgi\">\n");
        assert!(master.starts_with("HTTP/1.1 200 OK\r\n") && master.contains(&link), "{master}");
        assert!(get(address, "/project/get_project_config.php").contains("<name>Crosstalk</name>"));
        assert!(get(address, "/project/status").contains("\"done\":false"));
        let key = server.attachment().key;
        let hash = md5_hex(format!("{key}a@b").as_bytes());
        let path = format!("/project/lookup_account.php?email_addr=A%40b&passwd_hash={hash}");
        assert!(get(address, &path).contains(&format!("<authenticator>{key}</authenticator>")));
        let wrong = get(address, "/project/lookup_account.php?email_addr=a%40b&passwd_hash=0");
        assert!(wrong.contains("<error_num>-206</error_num>") && !wrong.contains(&key));
    });
}

#[test]
fn programs_come_whole_or_from_a_byte_on_and_nothing_else_comes() {
    serving(|server, address| {
        let file = server.scheduler.latest_program().expect("has one").file;
        let whole = get(address, &format!("/project/download/{file}"));
        assert!(whole.starts_with("HTTP/1.1 200") && whole.ends_with("\r\n\r\n0123456789"), "{whole}");
        let request = format!("GET /project/download/{file} HTTP/1.1\r\nRange: bytes=7-\r\n\r\n");
        let part = send(address, request.as_bytes());
        assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("\r\n\r\n789"), "{part}");
        assert!(part.contains("Content-Range: bytes 7-9/10\r\n"), "{part}");
        assert!(send(address, request.replace("=7-", "=10-").as_bytes()).contains(" 416 "));
        assert!(get(address, "/project/download/c_2.in").contains("from "));
        for path in [
            "/project/download/c_3.in",
            "/project/download/../journal.ndjson",
            "/project/download/%2e%2e/code_key.pem",
            "/project/download//etc/passwd",
            "/project/journal.ndjson",
            "/",
            "/project/cgi",
        ] {
            let refused = get(address, path);
            // The root shows the project's page.
            assert!(refused.contains(" 404 ") || path == "/", "{path}: {refused}");
        }
    });
}

#[test]
fn malformed_requests_are_refused_and_the_server_continues() {
    serving(|_, address| {
        assert!(send(address, b"\x00\xff\r\n\r\n").contains(" 400 "));
        assert!(send(address, b"PUT /project/ HTTP/1.1\r\n\r\n").contains(" 405 "));
        let post = |path: &str, body: &str| {
            send(
                address,
                format!("POST /project{path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                    .as_bytes(),
            )
        };
        assert!(post("/cgi", "<html></html>").contains(" 400 "));
        assert!(post("/file_upload_handler", "rubbish").contains("<status>-1</status>"));
        let huge = format!("POST /project/cgi HTTP/1.1\r\nContent-Length: {}\r\n\r\n", u64::MAX);
        assert!(send(address, huge.as_bytes()).contains(" 413 "));
        // Silent connections do not delay others.
        let silent: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(address).expect("listens")).collect();
        assert!(get(address, "/project/").contains(" 200 "));
        drop(silent);
    });
}

#[test]
fn bodies_share_a_limit() {
    let all = AtomicU64::new(0);
    let held = BodyReservation::new(&all, MOST_BODY_BYTES).expect("there is room");
    assert_eq!(BodyReservation::new(&all, 1).err().map(|refusal| refusal.0), Some(503));
    drop(held);
    drop(BodyReservation::new(&all, 1).expect("there is room again"));
    assert_eq!(all.load(Ordering::SeqCst), 0);
}

#[test]
fn too_many_requests_get_an_error_and_programs_have_a_limit() {
    let load = Arc::new(Load::default());
    let sent: Vec<Admission> =
        (0..PROGRAMS).map_while(|_| Admission::new(&load, |load| &load.programs, PROGRAMS)).collect();
    assert_eq!(sent.len(), PROGRAMS);
    assert!(Admission::new(&load, |load| &load.programs, PROGRAMS).is_none());
    drop(sent);
    assert_eq!(load.programs.load(Ordering::SeqCst), 0, "who was turned away is not counted");
    serving(|_, address| {
        let silent: Vec<TcpStream> =
            (0..MOST_REQUESTS).map(|_| TcpStream::connect(address).expect("listens")).collect();
        let busy = get(address, "/project/");
        assert!(busy.contains(" 503 "), "{busy}");
        drop(silent);
        let until = Instant::now() + LIMIT_HEAD;
        while !get(address, "/project/").contains(" 200 ") {
            assert!(Instant::now() < until, "it is served when the others have gone");
        }
    });
}

#[test]
fn an_address_in_use_is_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("listens");
    let fault = ServerAddress::new(taken.local_addr().expect("has one"), None);
    assert!(fault.expect_err("refused").remedy.is_some_and(|remedy| remedy.contains("--listen")));
}
