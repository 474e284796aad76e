//! The part of HTTP that clients use (RFC 9112): one request on a connection, with a body of stated length,
//! one reply, and the end. Everything is limited: the head's size, the body's size, each wait, and the whole
//! exchange.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The longest head, in bytes.
const LONGEST_HEAD: usize = 16 << 10;

/// Fields in a head, at most.
const FIELDS: usize = 64;

/// After a reply, how long and for how many bytes the rest of a request is read.
const LINGER: Duration = Duration::from_secs(2);
const LONGEST_REST: usize = 1 << 20;

/// Why a request is refused: a status, and a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub u16, pub String);

/// A request's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// `GET`, `POST` or another.
    pub method: String,
    /// The path, as it was sent.
    pub path: String,
    /// The part after the path's question mark; may be empty.
    pub query: String,
    /// Bytes of the body.
    pub length: u64,
    /// The first byte that is requested of a file.
    pub from: Option<u64>,
    /// Whether the body is sent only after a `100 Continue`.
    pub expects_continue: bool,
}

impl Head {
    /// Parses the head at the beginning of `bytes`; returns it and its length, or `None` where it is not
    /// complete.
    ///
    /// # Errors
    /// Where it is not a request's head.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refusal> {
        let refused = |status, why: &str| Err(Refusal(status, why.into()));
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let length = match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() >= LONGEST_HEAD => {
                return refused(431, "the head is too long");
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(e) => return refused(400, &e.to_string()),
        };
        let target = request.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut head = Head {
            method: request.method.unwrap_or_default().into(),
            path: path.into(),
            query: query.into(),
            length: 0,
            from: None,
            expects_continue: false,
        };
        let mut has_length = false;
        for field in request.headers.iter() {
            let value = std::str::from_utf8(field.value).unwrap_or_default().trim();
            match field.name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    // Digits only: Rust parses `+1`, too. Two different lengths are an attack.
                    let plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                    match value.parse() {
                        Ok(length) if plain && (!has_length || head.length == length) => head.length = length,
                        _ => return refused(400, "the length is no number"),
                    }
                    has_length = true;
                }
                "transfer-encoding" => return refused(501, "a body in pieces is not taken"),
                "expect" => head.expects_continue = value.eq_ignore_ascii_case("100-continue"),
                "range" => {
                    head.from =
                        value.strip_prefix("bytes=").and_then(|range| range.strip_suffix('-')?.parse().ok())
                }
                _ => {}
            }
        }
        Ok(Some((head, length)))
    }

    /// The value of a parameter of the query, decoded; `None` where there is none.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key == name).then(|| decoded(value))
        })
    }
}

/// Decodes `%41` as `A` and `+` as a blank; keeps other text.
fn decoded(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| (*byte as char).to_digit(16));
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let pair = digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2)));
        match (byte, pair) {
            (b'%', Some((high, low))) => {
                plain.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', _) => plain.push(b' '),
            _ => plain.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// A connection with one request on it.
pub struct Exchange<'a> {
    stream: &'a TcpStream,
    until: Instant,
    /// Bytes that were received and are not read yet.
    buffered: Vec<u8>,
    left: u64,
}

impl<'a> Exchange<'a> {
    /// Reads the head of the request on `stream`; the whole exchange is limited to `limit`.
    ///
    /// # Errors
    /// `Err(Some)` where there is an error to reply; `Err(None)` where the host has closed.
    pub fn begin(stream: &'a TcpStream, limit: Duration) -> Result<(Head, Self), Option<Refusal>> {
        let mut exchange = Exchange { stream, until: Instant::now() + limit, buffered: Vec::new(), left: 0 };
        loop {
            if let Some((head, length)) = Head::parse(&exchange.buffered).map_err(Some)? {
                exchange.buffered.drain(..length);
                exchange.left = head.length;
                return Ok((head, exchange));
            }
            let mut chunk = [0; 4096];
            let read = match exchange.receive(&mut chunk) {
                Ok(read) => read,
                Err(e) if e.kind() == ErrorKind::TimedOut => {
                    return Err(Some(Refusal(408, "the head did not arrive in time".into())));
                }
                Err(_) => return Err(None),
            };
            if read == 0 {
                return Err(None);
            }
            exchange.buffered.extend_from_slice(&chunk[..read]);
        }
    }

    /// Sends `100 Continue`, where the head expects it.
    pub fn send_continue(&mut self, head: &Head) -> io::Result<()> {
        if head.expects_continue { self.send(b"HTTP/1.1 100 Continue\r\n\r\n") } else { Ok(()) }
    }

    /// Reads the whole body, of at most `longest` bytes.
    ///
    /// # Errors
    /// Where it is longer, or does not arrive.
    pub fn body(&mut self, longest: u64) -> Result<Vec<u8>, Refusal> {
        if self.left > longest {
            return Err(Refusal(413, format!("the body is longer than {longest} bytes")));
        }
        let mut body = Vec::new();
        let length = self.left;
        self.read_to_end(&mut body).map_err(|e| Refusal(408, format!("the body did not arrive: {e}")))?;
        if (body.len() as u64) < length {
            return Err(Refusal(400, "the body is cut short".into()));
        }
        Ok(body)
    }

    /// Replies with an error to a connection without an exchange.
    pub fn refuse(stream: &'a TcpStream, status: u16, why: &str) {
        let mut exchange = Exchange { stream, until: Instant::now() + LINGER, buffered: Vec::new(), left: 0 };
        // A host that has closed needs no reply.
        let _ = exchange.reply(status, "text/plain", &format!("{why}\n"));
        exchange.end();
    }

    /// Sets a new limit, from now.
    pub fn extend(&mut self, limit: Duration) {
        self.until = Instant::now() + limit;
    }

    /// Replies with a text.
    pub fn reply(&mut self, status: u16, kind: &str, text: &str) -> io::Result<()> {
        self.head(status, kind, text.len() as u64, None)?;
        self.send(text.as_bytes())
    }

    /// Sends the head of a reply of `length` bytes. `part` is its first byte and the length of the whole
    /// file.
    pub fn head(&mut self, status: u16, kind: &str, length: u64, part: Option<(u64, u64)>) -> io::Result<()> {
        let reason = reason(status);
        let range = part.filter(|(from, whole)| from < whole).map_or(String::new(), |(from, whole)| {
            format!("Content-Range: bytes {from}-{}/{whole}\r\n", whole - 1)
        });
        self.send(
            format!(
                "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{range}\
                 Connection: close\r\n\r\n"
            )
            .as_bytes(),
        )
    }

    /// Sends bytes.
    pub fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        while !bytes.is_empty() {
            // Each time anew: a host that takes a byte now and then gets no new limit with each.
            stream.set_write_timeout(Some(self.time()?))?;
            match stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => bytes = &bytes[sent..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Closes it. The rest of what the host sends is read a little longer, or the host would lose the reply
    /// (RFC 9112, 9.6).
    pub fn end(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.until = self.until.min(Instant::now() + LINGER);
        let mut rest = [0; 4096];
        let mut most = LONGEST_REST;
        while let Ok(read @ 1..) = self.receive(&mut rest) {
            most = most.saturating_sub(read);
            if most == 0 {
                break;
            }
        }
    }

    fn receive(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(self.time()?))?;
            let mut stream = self.stream;
            match stream.read(chunk) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
                other => return other,
            }
        }
    }

    fn time(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Exchange<'_> {
    /// Reads the body.
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let most = chunk.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = if self.buffered.is_empty() {
            if most == 0 { 0 } else { self.receive(&mut chunk[..most])? }
        } else {
            let read = most.min(self.buffered.len());
            chunk[..read].copy_from_slice(&self.buffered[..read]);
            self.buffered.drain(..read);
            read
        };
        self.left -= read as u64;
        Ok(read)
    }
}

/// A status's reason phrase.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        400 => "Bad Request",
        404 => "Not RunningClient",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        416 => "Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Refused",
    }
}

#[cfg(test)]
mod tests {
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
        let (status, text) = match exchange.body(longest) {
            Ok(body) => (200, String::from_utf8(body).expect("is text")),
            Err(Refusal(status, why)) => (status, why),
        };
        exchange.extend(Duration::from_secs(1));
        exchange.reply(status, "text/plain", &text).expect("sends");
        exchange.end();
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

    const HEAD: &str =
        "GET /project/x?a=%41 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nRange: bytes=5-\r\n\r\n";

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
        let began = Instant::now();
        assert!(exchange.send(&vec![0; 256 << 20]).is_err(), "it takes longer than that");
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        drop(stream);
        host.join().expect("ends");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Head::parse(&bytes);
        }

        #[test]
        fn a_spoilt_head_is_read_or_refused(request in damaged(HEAD.into())) {
            if let Ok(Some((head, length))) = Head::parse(&request) {
                prop_assert!(length <= request.len());
                let _ = head.parameter("a");
            }
        }
    }
}
