//! Tests of `connection`.

use super::*;
use std::net::{TcpListener, TcpStream};
use std::thread;

/// What a request returns when the peer answers with these chunks, each followed by a pause.
fn reply_of(chunks: Vec<Vec<u8>>, pause: Duration, endless: bool) -> Result<String, Fault> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("has one");
    let peer = thread::spawn(move || {
        let mut stream = listener.accept().expect("is asked").0;
        let mut asked = Vec::new();
        let mut byte = [0];
        while asked.last() != Some(&END) && stream.read_exact(&mut byte).is_ok() {
            asked.push(byte[0]);
        }
        loop {
            for chunk in &chunks {
                if stream.write_all(chunk).is_err() {
                    return asked;
                }
                thread::sleep(pause);
            }
            if !endless {
                return asked;
            }
        }
    });
    let mut connection = Connection::open(address, Duration::from_millis(500), 10_000)?;
    let reply = connection.request("<get_state/>");
    drop(connection);
    let asked = peer.join().expect("ends");
    assert_eq!(asked, b"<boinc_gui_rpc_request>\n<get_state/>\n</boinc_gui_rpc_request>\n\x03");
    reply
}

const NOW: Duration = Duration::ZERO;

#[test]
fn a_reply_in_pieces_is_one_reply() {
    let pieces = ["<boinc_gui_rpc_", "reply>\n<a>1</a>", "\n</boinc_gui_rpc_reply>\n", "\u{3}"];
    let pieces = pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect();
    assert_eq!(reply_of(pieces, Duration::from_millis(5), false).as_deref(), Ok("\n<a>1</a>\n"));
}

#[test]
fn hostile_replies_are_faults() {
    let refused = |chunk: &[u8], pause, endless| {
        reply_of(vec![chunk.to_vec()], pause, endless).expect_err("refused").message
    };
    assert!(refused(&[b'x'; 5000], NOW, true).contains("longer than 10000 bytes"));
    // Without an end, but each byte in time.
    assert!(refused(b"x", Duration::from_millis(50), true).contains("did not answer within 0.5 s"));
    assert!(refused(b"<html>no</html>\x03", NOW, false).contains("no BOINC client"));
    assert!(refused(b"<boinc_gui_rpc_reply><a>1</a>\x03", NOW, false).contains("cut short"));
    assert!(refused(b"<boinc_gui_rpc_reply>", NOW, false).contains("closed the connection"));
    assert!(refused(b"\xff\xfe\x00\x03", NOW, false).contains("no BOINC client"));
}

#[test]
fn a_refused_connection_is_reported_with_its_remedy() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    // No other test gets a connection's own end while it lives, and nobody listens on it.
    let held =
        TcpStream::connect(listener.local_addr().expect("has one")).expect("is accepted by the kernel");
    let address = held.local_addr().expect("has one");
    let fault = Connection::open(address, DEADLINE, LONGEST).expect_err("nobody listens");
    assert_eq!(fault.place, Some(address.to_string()));
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("boinc-client")), "no remedy");
}
