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

/// The head of an HTTP request: method, path, query and headers.
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

/// One HTTP request on a connection, and its reply.
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

    /// Sends `100 Continue`, where the request's head expects it.
    pub fn send_continue(&mut self, head: &Head) -> io::Result<()> {
        if head.expects_continue { self.send_bytes(b"HTTP/1.1 100 Continue\r\n\r\n") } else { Ok(()) }
    }

    /// Reads the whole body, of at most `longest` bytes.
    ///
    /// # Errors
    /// Where it is longer, or does not arrive.
    pub fn read_body(&mut self, longest: u64) -> Result<Vec<u8>, Refusal> {
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
        exchange.close();
    }

    /// Sets a new limit, from now.
    pub fn extend_limit(&mut self, limit: Duration) {
        self.until = Instant::now() + limit;
    }

    /// Replies with a status, a content type and a text.
    pub fn reply(&mut self, status: u16, kind: &str, text: &str) -> io::Result<()> {
        self.send_head(status, kind, text.len() as u64, None)?;
        self.send_bytes(text.as_bytes())
    }

    /// Sends the head of a reply of `length` bytes. `part` is its first byte and the length of the whole
    /// file.
    pub fn send_head(
        &mut self,
        status: u16,
        kind: &str,
        length: u64,
        part: Option<(u64, u64)>,
    ) -> io::Result<()> {
        let reason = reason(status);
        let range = part.filter(|(from, whole)| from < whole).map_or(String::new(), |(from, whole)| {
            format!("Content-Range: bytes {from}-{}/{whole}\r\n", whole - 1)
        });
        self.send_bytes(
            format!(
                "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{range}\
                 Connection: close\r\n\r\n"
            )
            .as_bytes(),
        )
    }

    /// Sends bytes of the reply's body.
    pub fn send_bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
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
    pub fn close(mut self) {
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
mod tests;
