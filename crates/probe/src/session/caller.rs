//! A connection to a server that has not yet said what it is.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::message::receive;

use super::protocol::Request;
use super::token;
use crosstalk_work::peer::Line;
use crosstalk_work::peer::socket::is_temporary;

/// The most bytes of a greeting.
const LONGEST: usize = 256;

/// A connection that was accepted, and has not yet said what it is for.
pub struct NewConnection {
    /// The connection.
    pub stream: TcpStream,
    received: Vec<u8>,
    /// When it connected, or greeted.
    pub since: Instant,
    /// Whether it has greeted.
    pub greeted: bool,
}

/// The first that a new connection sends: a client's greeting, or the token of a data connection.
pub enum Greeting {
    /// Nothing yet.
    Nothing,
    /// It has hung up, or sends something else.
    Gone,
    /// The token of a session: it is a data connection.
    Token(u64),
    /// A greeting with this version: it is a client.
    Hello(u32),
}

impl NewConnection {
    /// A connection that has just been accepted; `None` if it cannot be used.
    pub fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).ok()?;
        Some(NewConnection { stream, received: Vec::new(), since: Instant::now(), greeted: false })
    }

    /// Reads what is there: after the `expected` token nothing more, after a greeting nothing behind
    /// the end of its line.
    pub fn read_greeting(&mut self, expected: Option<u64>) -> Greeting {
        loop {
            let mut bytes = [0; token::SIZE];
            let most = token::SIZE.saturating_sub(self.received.len()).max(1);
            match self.stream.read(&mut bytes[..most]) {
                Ok(0) => return Greeting::Gone,
                Ok(n) => self.received.extend_from_slice(&bytes[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if is_temporary(&e) => return Greeting::Nothing,
                Err(_) => return Greeting::Gone,
            }
            if let Ok(token) = <[u8; token::SIZE]>::try_from(self.received.as_slice()) {
                let token = u64::from_le_bytes(token);
                if expected == Some(token) {
                    return Greeting::Token(token);
                }
            }
            if self.received.ends_with(b"\n") {
                return match receive(&mut self.received.as_slice()) {
                    Ok(Some(Request::Hello { version })) => Greeting::Hello(version),
                    _ => Greeting::Gone,
                };
            }
            if self.received.len() >= token::SIZE && !self.received.starts_with(b"{")
                || self.received.len() > LONGEST
            {
                return Greeting::Gone;
            }
        }
    }

    /// Makes the connection a conversation in JSON lines.
    ///
    /// # Errors
    /// Where the connection cannot be used.
    pub fn into_line(self) -> Result<Line, Fault> {
        let blocking = self.stream.set_nonblocking(false);
        blocking.map_err(|e| Fault::attempt(format!("cannot hold a conversation: {e}")))?;
        Line::new(self.stream)
    }
}
