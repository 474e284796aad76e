//! Tests of `http`.

use super::*;
use crate::project::damage::damaged;
use proptest::prelude::*;
use std::net::TcpListener;
use std::thread;

fn head(text: &str) -> Head {
    Head::parse(text.as_bytes()).expect("is one").expect("is whole").0
}

fn status(text: &str) -> u16 {
    Head::parse(text.as_bytes()).expect_err("refused").0
}

#[test]
fn a_request_is_read_as_curl_sends_it() {
    let text = "POST /project/cgi?x=a%20b+c%&y HTTP/1.1\r\nHost: 127.0.0.1:8470\r\nContent-Length: 12\r\n\
                Expect: 100-continue\r\nRange: bytes=500-\r\n\r\nbody";
    let (head, length) = Head::parse(text.as_bytes()).expect("is one").expect("is whole");
    assert_eq!((head.method.as_str(), head.path.as_str()), ("POST", "/project/cgi"));
    assert_eq!(
        (head.length, head.from, head.expects_continue, &text[length..]),
        (12, Some(500), true, "body")
    );
    assert_eq!(head.parameter("x").as_deref(), Some("a b c%"));
    assert_eq!((head.parameter("y").as_deref(), head.parameter("z")), (Some(""), None));
    assert_eq!(Head::parse(&text.as_bytes()[..40]), Ok(None));
}

#[test]
fn an_ambiguous_request_is_refused() {
    let with = |field: &str| format!("POST / HTTP/1.1\r\n{field}\r\n\r\n");
    assert_eq!(status(&with("Content-Length: +1")), 400);
    assert_eq!(status(&with("Content-Length: 1\r\nContent-Length: 2")), 400);
    assert_eq!(status(&with("Content-Length: 99999999999999999999")), 400);
    assert_eq!(status(&with("Transfer-Encoding: chunked")), 501);
    assert_eq!(status("nonsense\r\n\r\n"), 400);
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(LONGEST_HEAD))), 431);
    assert_eq!(head(&with("Content-Length: 7\r\nContent-Length: 7")).length, 7);
    assert_eq!(head(&with("Range: bytes=-5")).from, None);
}

/// The reply to `request`, sent bit by bit, when the body is read.
fn exchanged(request: &'static [u8], longest: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let address = listener.local_addr().expect("has one");
    let host = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).expect("listens");
        for bit in request.chunks(7) {
            stream.write_all(bit).expect("sends");
        }
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("reads");
        reply
    });
    let stream = listener.accept().expect("comes").0;
    let (head, mut exchange) = Exchange::begin(&stream, Duration::from_millis(500)).expect("is one");
    exchange.send_continue(&head).expect("sends");
    let (status, text) = match exchange.read_body(longest) {
        Ok(body) => (200, String::from_utf8(body).expect("is text")),
        Err(Refusal(status, why)) => (status, why),
    };
    exchange.extend_limit(Duration::from_secs(1));
    exchange.reply(status, "text/plain", &text).expect("sends");
    exchange.close();
    drop(stream);
    host.join().expect("ends")
}

#[test]
fn a_body_is_read_to_its_end_and_no_further() {
    let reply =
        exchanged(b"POST / HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello there", 5);
    assert!(reply.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(reply.ends_with("Content-Length: 5\r\nConnection: close\r\n\r\nhello"), "{reply}");
}

#[test]
fn a_body_that_is_too_long_or_never_comes_is_refused() {
    assert!(exchanged(b"POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\nhello!", 5).contains(" 413 "));
    assert!(exchanged(b"POST / HTTP/1.1\r\nContent-Length: 50\r\n\r\nhello", 99).contains(" 408 "));
}

#[test]
fn a_head_that_never_ends_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let mut slow = TcpStream::connect(listener.local_addr().expect("has one")).expect("listens");
    let stream = listener.accept().expect("comes").0;
    slow.write_all(b"GET / HT").expect("sends");
    let refused = Exchange::begin(&stream, Duration::from_millis(100)).err().expect("refused");
    assert_eq!(refused.map(|refusal| refusal.0), Some(408));
    drop(slow);
    let gone = Exchange::begin(&stream, Duration::from_millis(100)).err().expect("is gone");
    assert_eq!(gone, None);
}

const HEAD: &str = "GET /project/x?a=%41 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nRange: bytes=5-\r\n\r\n";

#[test]
fn a_head_without_end_is_refused_when_it_is_too_long() {
    for part in ["GET ", "GET / HTTP/1.1\r\n", "a: b\r\n", "\r\n", "GET /?", "%", " "] {
        let endless = part.repeat(LONGEST_HEAD);
        for head in [endless.clone(), format!("GET / HTTP/1.1\r\na: {endless}")] {
            // Line ends alone are no head yet.
            let parsed = Head::parse(&head.as_bytes()[..LONGEST_HEAD]);
            assert!(!matches!(parsed, Ok(None)), "{part:?} is waited for for ever");
        }
    }
}

#[test]
fn a_host_that_reads_slowly_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let mut slow = TcpStream::connect(listener.local_addr().expect("has one")).expect("listens");
    let stream = listener.accept().expect("comes").0;
    let host = thread::spawn(move || {
        let mut bit = [0; 64 << 10];
        while slow.read(&mut bit).is_ok_and(|read| read > 0) {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let until = Instant::now() + Duration::from_millis(300);
    let mut exchange = Exchange { stream: &stream, until, buffered: Vec::new(), left: 0 };
    // The host would take all of it in more than a minute.
    assert!(exchange.send_bytes(&vec![0; 256 << 20]).is_err(), "it takes longer than that");
    drop(stream);
    host.join().expect("ends");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Head::parse(&bytes);
    }

    #[test]
    fn a_damaged_head_is_read_or_refused(request in damaged(HEAD.into())) {
        if let Ok(Some((head, length))) = Head::parse(&request) {
            prop_assert!(length <= request.len());
            let _ = head.parameter("a");
        }
    }
}
