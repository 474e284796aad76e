//! The connection to one peer: sends and receives whole messages, without blocking.

use crosstalk_core::Fault;
use crosstalk_model::VirtualTime;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;

use crate::header::{HEADER, Header, Kind};

/// The most bytes that are allocated for a payload before any of it has arrived.
/// Beyond that, memory grows with the bytes that arrive.
const MAX_PREALLOCATION: u64 = 1 << 20;

/// The most bytes that are read from one peer before the next peer is read.
const MAX_DRAIN: usize = 4 << 20;

/// A message that has arrived.
#[derive(Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) tag: u32,
    pub(crate) head: VirtualTime,
    pub(crate) epoch: u32,
    pub(crate) body: Vec<u8>,
}

/// The state of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerState {
    /// Connected.
    Connected,
    /// It has finished, and all its messages have arrived.
    Finished,
    /// The connection ended before the peer had finished.
    Gone,
    /// It has ended because another node, of this number, is gone.
    ReportsGone(usize),
}

/// A connection to one peer.
pub(crate) struct Link {
    pub(crate) stream: TcpStream,
    source: u32,
    key: u64,
    pub(crate) peer: PeerState,
    /// Messages that have arrived and were not received yet, in the order of sending.
    pub(crate) inbox: VecDeque<Message>,
    /// The first `filled` bytes of the next header.
    partial: [u8; HEADER],
    filled: usize,
    /// The header and the payload so far of the message that is arriving.
    incoming: Option<(Header, Vec<u8>)>,
    /// Number of messages received.
    received: u32,
    /// Number of messages sent.
    sent: u32,
    /// Whether a message has been written in part.
    pub(crate) writing: bool,
}

impl Link {
    /// A link over a connection on which `Hello` has been exchanged.
    pub(crate) fn new(stream: TcpStream, source: usize, key: u64) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Link {
            stream,
            source: source as u32,
            key,
            peer: PeerState::Connected,
            inbox: VecDeque::new(),
            partial: [0; HEADER],
            filled: 0,
            incoming: None,
            received: 0,
            sent: 0,
            writing: false,
        })
    }

    /// Reads what has arrived, about [`MAX_DRAIN`] bytes at most. Returns the bytes of payload.
    pub(crate) fn drain(&mut self) -> Result<usize, Fault> {
        let mut bytes = 0;
        while self.peer == PeerState::Connected && bytes < MAX_DRAIN {
            let within = self.incoming.is_some();
            match if within { self.read_body() } else { self.read_header()? } {
                Ok(0) => self.peer = PeerState::Gone,
                Ok(n) if within => bytes += n,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.peer = PeerState::Gone,
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
            self.incoming = Some((header, Vec::with_capacity(header.length.min(MAX_PREALLOCATION) as usize)));
        }
        Ok(read)
    }

    fn check(&self, header: Result<Header, Fault>) -> Result<Header, Fault> {
        let header = header.map_err(|fault| fault.on(self.source as usize))?;
        let found = (header.source, header.number, header.key);
        let expected = (self.source, self.received, self.key);
        if found != expected || header.kind == Kind::Hello {
            return Err(Fault::attempt(format!(
                "malformed message header: expected (source, number, key) {expected:?}, found {found:?}"
            ))
            .on(self.source as usize));
        }
        Ok(header)
    }

    fn read_body(&mut self) -> io::Result<usize> {
        let Some((header, body)) = &mut self.incoming else { return Ok(0) };
        let (before, missing) = (body.len(), header.length - body.len() as u64);
        if body.capacity() == before {
            // Doubles, but never beyond what the message needs.
            body.reserve_exact(missing.min(MAX_PREALLOCATION.max(before as u64)) as usize);
        }
        let room = (body.capacity() - before).min(MAX_DRAIN) as u64;
        // Bytes that were read before an error are in `body`.
        let result = (&self.stream).take(missing.min(room)).read_to_end(body);
        match (body.len() - before, result) {
            (0, result) => result,
            (came, _) => Ok(came),
        }
    }

    /// Moves the arriving message to the inbox once it is complete.
    fn complete(&mut self) {
        let Some((header, body)) = self.incoming.take_if(|(header, body)| header.length == body.len() as u64)
        else {
            return;
        };
        self.received = self.received.wrapping_add(1);
        match header.kind {
            Kind::Goodbye => return self.peer = PeerState::Finished,
            Kind::PeerGone => return self.peer = PeerState::ReportsGone(header.tag as usize),
            Kind::Hello | Kind::Point | Kind::Collective(_) => {}
        }
        self.inbox.push_back(Message {
            kind: header.kind,
            tag: header.tag,
            head: header.head,
            epoch: header.epoch,
            body,
        });
    }

    /// Completes a header with the message's number and the attempt's key.
    pub(crate) fn stamp(&mut self, header: Header) -> [u8; HEADER] {
        let number = self.sent;
        self.sent = self.sent.wrapping_add(1);
        Header { number, key: self.key, ..header }.encode()
    }

    /// Writes header and body from byte `done` on, as far as the socket takes them.
    /// Returns the number of bytes written so far.
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
        self.writing = done < HEADER + body.len();
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    /// A link to node 1, and node 1's socket.
    fn pair() -> (Link, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let far = TcpStream::connect(listener.local_addr().expect("has one")).expect("connects");
        let (near, _) = listener.accept().expect("accepts");
        (Link::new(near, 1, 7).expect("is a link"), far)
    }

    fn drain_until(link: &mut Link, done: impl Fn(&Link) -> bool) {
        let begin = Instant::now();
        while !done(link) {
            link.drain().expect("well-formed");
            assert!(begin.elapsed() < Duration::from_secs(5), "it does not arrive");
        }
    }

    #[test]
    fn a_payload_that_is_announced_but_does_not_arrive_takes_no_memory() {
        let (mut link, mut far) = pair();
        let header = Header { length: 1 << 32, key: 7, ..Header::bare(Kind::Point, 1, 0) };
        far.write_all(&header.encode()).expect("sends");
        drain_until(&mut link, |link| link.incoming.is_some());
        let capacity = link.incoming.as_ref().map(|(_, body)| body.capacity() as u64);
        assert!(capacity <= Some(MAX_PREALLOCATION));
        drop(far);
        drain_until(&mut link, |link| link.peer == PeerState::Gone);
    }

    #[test]
    fn a_message_in_pieces_is_received_whole() {
        let (mut link, mut far) = pair();
        let body = [3; 1000];
        let header = Header { length: 1000, key: 7, ..Header::bare(Kind::Point, 1, 9) };
        for piece in [&header.encode()[..], &body].concat().chunks(31) {
            far.write_all(piece).expect("sends");
            link.drain().expect("well-formed");
        }
        drain_until(&mut link, |link| !link.inbox.is_empty());
        let message = link.inbox.pop_front().expect("is there");
        assert_eq!((message.tag, message.body), (9, body.to_vec()));
    }
}
