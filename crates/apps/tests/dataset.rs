//! Data sets, fetched from a server on this machine.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::thread;

use crosstalk_apps::dataset::{Catalogue, install};
use crosstalk_core::{Fault, FaultKind};

/// SHA-256 of `abc` (FIPS 180-2, appendix B.1).
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// A server that answers each request with this status and body.
fn serve(status: &'static str, body: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("has one");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut request, mut byte) = (Vec::new(), [0]);
            while !request.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                request.push(byte[0]);
            }
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // Who takes no more has gone.
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        }
    });
    address
}

/// A catalogue of one data set, `tiny`; `files` says where it goes.
fn catalogue(address: SocketAddr, size: usize, sha256: &str, files: &str) -> Catalogue {
    let text = format!(
        "[tiny]\ntitle = \"T\"\nlicence = \"L\"\nsource = \"S\"\nsize = \"{size} B\"\n\
         url = \"http://{address}/tiny\"\nsha256 = \"{sha256}\"\n{files}\n"
    );
    Catalogue::parse(&text, "tiny.toml").expect("reads")
}

fn fetch(catalogue: &Catalogue, dir: &Path) -> Result<(), Fault> {
    install(catalogue.find("tiny").expect("is there"), dir)
}

/// Whether this machine can fetch anything.
fn lacks_programs() -> bool {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let lacks = !runs("curl") && !runs("wget");
    if lacks {
        eprintln!("skipped: neither curl nor wget is installed");
    }
    lacks
}

#[test]
fn a_file_is_put_where_the_catalogue_says_and_is_not_fetched_twice() {
    if lacks_programs() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let catalogue = catalogue(serve("200 OK", b"abc".to_vec()), 3, ABC, "file = \"deep/down/abc.txt\"");
    assert_eq!(fetch(&catalogue, &data), Ok(()));
    assert_eq!(fs::read(data.join("deep/down/abc.txt")).expect("is there"), b"abc");
    assert!(catalogue.find("tiny").expect("is there").is_complete_in(&data));
    let fault = fetch(&catalogue, &data).expect_err("is there");
    assert!(fault.message.contains("already there") && fault.kind == FaultKind::Usage, "{fault}");
    assert!(fault.place.is_some_and(|place| place.ends_with("abc.txt")));
}

#[test]
fn what_differs_from_the_catalogue_is_not_kept() {
    if lacks_programs() {
        return;
    }
    let file = "file = \"abc.txt\"";
    for (body, size, words) in
        [(&b"abd"[..], 3, "expected SHA-256"), (b"ab", 3, "found 2"), (b"abcd", 3, "found more")]
    {
        let dir = tempfile::tempdir().expect("a directory");
        let fault = fetch(&catalogue(serve("200 OK", body.to_vec()), size, ABC, file), dir.path());
        let fault = fault.expect_err(words);
        assert!(fault.message.contains(words) && fault.remedy.is_some(), "{fault}");
        assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 0, "{words}");
    }
}

#[test]
fn a_server_that_refuses_or_is_not_there_is_said() {
    if lacks_programs() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let nobody = TcpListener::bind("127.0.0.1:0").expect("listens").local_addr().expect("has one");
    for (address, words) in [(serve("404 Not Found", Vec::new()), "404"), (nobody, "127.0.0.1")] {
        let fault = fetch(&catalogue(address, 3, ABC, "file = \"abc.txt\""), dir.path()).expect_err("fails");
        assert_eq!(fault.kind, FaultKind::Environment);
        assert!(fault.message.starts_with("cannot fetch it") && fault.message.contains(words), "{fault}");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("network")));
        assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 0);
    }
}

#[test]
fn an_archive_that_is_none_is_said() {
    if lacks_programs() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let members = "[tiny.members]\n\"a/b.csv\" = \"b.csv\"";
    let fault = fetch(&catalogue(serve("200 OK", b"abc".to_vec()), 3, ABC, members), dir.path());
    assert!(fault.expect_err("is none").message.contains("`a/b.csv`"));
    assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 0);
}

#[test]
fn what_is_got_by_hand_says_its_steps() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = "[tiny]\ntitle = \"T\"\nlicence = \"L\"\nsource = \"S\"\nsize = \"3 B\"\nfile = \"abc.txt\"\n\
        by_hand = [\"write three letters\", \"save them\"]\n";
    let catalogue = Catalogue::parse(text, "tiny.toml").expect("reads");
    let fault = fetch(&catalogue, dir.path()).expect_err("by hand");
    let remedy = fault.remedy.expect("has the steps");
    assert!(remedy.starts_with("write three letters; save them; put it at "), "{remedy}");
    assert!(remedy.ends_with("/abc.txt"), "{remedy}");
}
