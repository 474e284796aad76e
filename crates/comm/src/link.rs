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

/// The most that is read from one peer before the others have their turn.
const TURN: usize = 4 << 20;

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
    /// Gave up, because another node is gone.
    Blames(usize),
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
    /// A message has been written in part.
    pub(crate) writing: bool,
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
            writing: false,
        })
    }

    /// Reads what is there, up to [`TURN`]; returns how many bytes of payload came.
    pub(crate) fn drain(&mut self) -> Result<usize, Fault> {
        let mut bytes = 0;
        while self.peer == Peer::Here && bytes < TURN {
            let within = self.incoming.is_some();
            match if within { self.read_body() } else { self.read_header()? } {
                Ok(0) => self.peer = Peer::Gone,
                Ok(n) if within => bytes += n,
                Ok(_) => {}
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
            body.reserve_exact(missing.min(TRUSTED.max(before as u64)) as usize);
        }
        let room = (body.capacity() - before).min(TURN) as u64;
        // What came before an error is kept in `body`.
        let result = (&self.stream).take(missing.min(room)).read_to_end(body);
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
        match header.kind {
            Kind::Goodbye => return self.peer = Peer::Finished,
            Kind::Blame => return self.peer = Peer::Blames(header.tag as usize),
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
        self.writing = done < HEADER + body.len();
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    /// A link of node 1 and the node's own end of it.
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
            assert!(begin.elapsed() < Duration::from_secs(5), "it never comes");
        }
    }

    #[test]
    fn a_length_that_is_announced_but_never_comes_costs_no_memory() {
        let (mut link, mut far) = pair();
        let header = Header { length: 1 << 32, key: 7, ..Header::bare(Kind::Point, 1, 0) };
        far.write_all(&header.encode()).expect("sends");
        drain_until(&mut link, |link| link.incoming.is_some());
        let capacity = link.incoming.as_ref().map(|(_, body)| body.capacity() as u64);
        assert!(capacity <= Some(TRUSTED));
        drop(far);
        drain_until(&mut link, |link| link.peer == Peer::Gone);
    }

    #[test]
    fn a_message_in_pieces_comes_out_whole() {
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
