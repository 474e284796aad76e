//! `crosstalk data`: a tiny data set, fetched from a server on this machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;

use crate::common::{command, crosstalk, stderr, stdout};
use serde_json::Value;

/// SHA-256 of `abc` (FIPS 180-2, appendix B.1).
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// A server whose every answer is `abc`.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("has one");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut request, mut byte) = (Vec::new(), [0]);
            while !request.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                request.push(byte[0]);
            }
            // A client that has gone reads no more.
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
        }
    });
    address
}

/// Writes a catalogue of one data set, `tiny`, and one that is fetched by hand.
fn catalogue(dir: &Path) {
    let about = "licence = \"for tests alone\"\nsource = \"this test\"\nsize = \"3 B\"\n";
    let text = format!(
        "[tiny]\ntitle = \"Three letters\"\n{about}file = \"a/abc.txt\"\nurl = \"http://{}/abc\"\n\
         sha256 = \"{ABC}\"\n\
         [manual]\ntitle = \"Others\"\n{about}file = \"b.txt\"\nby_hand = [\"write them\"]\n",
        serve()
    );
    std::fs::write(dir.join("sets.toml"), text).expect("writes");
}

/// A directory with only these programs of the path.
fn only(dir: &Path, programs: &[&str]) -> PathBuf {
    let bin = dir.join("bin");
    std::fs::create_dir(&bin).expect("makes");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in programs {
        let found = std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| path.is_file());
        if let Some(found) = found {
            symlink(found, bin.join(program)).expect("links");
        }
    }
    bin
}

fn get(dir: &Path, programs: &[&str], more: &[&str]) -> Output {
    let bin = only(dir, programs);
    let args = [&["data", "get", "tiny", "--catalogue", "sets.toml"], more].concat();
    command(dir, &args).env("PATH", bin).env_remove("CROSSTALK_DATA").output().expect("runs")
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !there {
        eprintln!("skipped: no {program} here");
    }
    there
}

#[test]
fn the_licence_is_printed_and_the_file_is_there() {
    for program in ["curl", "wget"] {
        if !is_there(program) {
            continue;
        }
        let dir = tempfile::tempdir().expect("a directory");
        catalogue(dir.path());
        let output = get(dir.path(), &[program], &[]);
        assert_eq!(output.status.code(), Some(0), "{program}: {}", stderr(&output));
        let text = stdout(&output);
        let (licence, wrote) = text.split_once("wrote data/a/abc.txt").expect("says what it wrote");
        assert!(licence.contains("licence: for tests alone"), "{text}");
        assert!(wrote.contains("CROSSTALK_DATA=data"), "{text}");
        assert_eq!(std::fs::read(dir.path().join("data/a/abc.txt")).expect("is there"), b"abc");
    }
}

#[test]
fn the_directory_is_the_named_one() {
    if !is_there("curl") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    catalogue(dir.path());
    let output = get(dir.path(), &["curl"], &["--dir", "here", "--json"]);
    let last: Value =
        stdout(&output).lines().last().and_then(|l| serde_json::from_str(l).ok()).expect("JSON");
    assert_eq!((&last["result"], &last["wrote"][0]), (&"data".into(), &"here/a/abc.txt".into()), "{last}");
    let list = ["data", "list", "--catalogue", "sets.toml"];
    let listed = command(dir.path(), &list).env("CROSSTALK_DATA", "here").output().expect("runs");
    let text = stdout(&listed);
    assert!(text.contains("in here") && text.contains("by hand"), "{text}");
    let again = ["data", "get", "tiny", "--catalogue", "sets.toml", "--dir", "here"];
    let output = crosstalk(dir.path(), &again);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("already there") && stderr(&output).contains("--dir"));
}

#[test]
fn without_curl_and_wget_the_remedy_names_one() {
    let dir = tempfile::tempdir().expect("a directory");
    catalogue(dir.path());
    let output = get(dir.path(), &[], &[]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("apt-get install curl"), "{}", stderr(&output));
}

#[test]
fn the_bundled_sets_are_listed_with_their_licences() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = crosstalk(dir.path(), &["data", "list"]);
    let text = stdout(&output);
    for words in ["movielens", "wiki-vote", "twitter-higgs", "wikipedia", "CC BY-SA", "research only"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let output = crosstalk(dir.path(), &["data", "get", "movielense"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `movielens`?"), "{}", stderr(&output));
    let output = crosstalk(dir.path(), &["data", "get", "wiki-vote"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("snap.stanford.edu"), "{}", stderr(&output));
}
