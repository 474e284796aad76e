//! One peer's socket: whole messages in, whole messages out, never blocking.

use crosstalk_core::Fault;
use crosstalk_model::VirtualTime;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;

use crate::header::{HEADER, Header, Kind};

/// The most that is allocated on the word of a header; beyond that, memory
/// grows only as bytes really arrive.
const TRUSTED: u64 = 1 << 20;

/// A message that has arrived.
#[derive(Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) tag: u32,
    pub(crate) head: VirtualTime,
    pub(crate) epoch: u32,
    pub(crate) body: Vec<u8>,
}

/// How the peer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Connected.
    Here,
    /// Said goodbye: everything it sent is here.
    Finished,
    /// The connection ended without a goodbye.
    Gone,
}

/// A connection to one peer.
pub(crate) struct Link {
    pub(crate) stream: TcpStream,
    source: u32,
    key: u64,
    pub(crate) peer: Peer,
    /// Arrived and not asked for yet, in the order in which they were sent.
    pub(crate) inbox: VecDeque<Message>,
    partial: [u8; HEADER],
    filled: usize,
    incoming: Option<(Header, Vec<u8>)>,
    received: u32,
    sent: u32,
}

impl Link {
    /// Takes over a connection whose hello has been exchanged.
    pub(crate) fn new(stream: TcpStream, source: usize, key: u64) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Link {
            stream,
            source: source as u32,
            key,
            peer: Peer::Here,
            inbox: VecDeque::new(),
            partial: [0; HEADER],
            filled: 0,
            incoming: None,
            received: 0,
            sent: 0,
        })
    }

    /// Reads what is there; returns how many bytes of payload came.
    pub(crate) fn drain(&mut self) -> Result<usize, Fault> {
        let mut bytes = 0;
        while self.peer == Peer::Here {
            let step = if self.incoming.is_some() { self.read_body() } else { self.read_header()? };
            match step {
                Ok(0) => self.peer = Peer::Gone,
                Ok(n) => bytes += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.peer = Peer::Gone,
            }
            self.complete();
        }
        Ok(bytes)
    }

    fn read_header(&mut self) -> Result<io::Result<usize>, Fault> {
        let read = (&self.stream).read(&mut self.partial[self.filled..]);
        if let Ok(n) = read {
            self.filled += n;
        }
        if self.filled == HEADER {
            self.filled = 0;
            let header = self.check(Header::decode(&self.partial))?;
            self.incoming = Some((header, Vec::with_capacity(header.length.min(TRUSTED) as usize)));
        }
        Ok(read)
    }

    fn check(&self, header: Result<Header, Fault>) -> Result<Header, Fault> {
        let header = header.map_err(|fault| fault.at(format!("node {}", self.source)))?;
        let found = (header.source, header.number, header.key);
        let expected = (self.source, self.received, self.key);
        if found != expected || header.kind == Kind::Hello {
            return Err(Fault::attempt(format!(
                "malformed message header: expected (source, number, key) {expected:?}, found {found:?}"
            ))
            .at(format!("node {}", self.source)));
        }
        Ok(header)
    }

    fn read_body(&mut self) -> io::Result<usize> {
        let Some((header, body)) = &mut self.incoming else { return Ok(0) };
        let missing = header.length - body.len() as u64;
        let before = body.len();
        // What came before an error is kept in `body`.
        let result = (&self.stream).take(missing).read_to_end(body);
        match (body.len() - before, result) {
            (0, result) => result,
            (came, _) => Ok(came),
        }
    }

    /// Hands over the incoming message once it is whole.
    fn complete(&mut self) {
        let Some((header, body)) = self.incoming.take_if(|(header, body)| header.length == body.len() as u64)
        else {
            return;
        };
        self.received = self.received.wrapping_add(1);
        if header.kind == Kind::Goodbye {
            self.peer = Peer::Finished;
            return;
        }
        self.inbox.push_back(Message {
            kind: header.kind,
            tag: header.tag,
            head: header.head,
            epoch: header.epoch,
            body,
        });
    }

    /// Completes a header with this link's numbers.
    pub(crate) fn stamp(&mut self, header: Header) -> [u8; HEADER] {
        let number = self.sent;
        self.sent = self.sent.wrapping_add(1);
        Header { number, key: self.key, ..header }.encode()
    }

    /// Writes from byte `done` of header and body on, as far as there is room;
    /// returns how far it came.
    pub(crate) fn write(&mut self, header: &[u8; HEADER], body: &[u8], mut done: usize) -> io::Result<usize> {
        while done < HEADER + body.len() {
            let parts = match done.checked_sub(HEADER) {
                Some(from) => [IoSlice::new(&[]), IoSlice::new(&body[from..])],
                None => [IoSlice::new(&header[done..]), IoSlice::new(body)],
            };
            match (&self.stream).write_vectored(&parts) {
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }
}
