//! The connection to one peer: sends and receives whole messages, without blocking. What is received goes through
//! a small buffer, so that one call reads several short messages; the bytes of a long one go straight to where they
//! belong.

use crosstalk_core::Fault;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;

use crate::header::{HEADER, Header, Kind};
use crate::send_queue::{Posted, SendQueue};

/// The most bytes that are allocated for a payload before any of it has arrived.
/// Beyond that, memory grows with the bytes that arrive.
const MAX_PREALLOCATION: u64 = 1 << 20;

/// The most bytes that are read from one peer before the next peer is read.
const MAX_DRAIN: usize = 4 << 20;

/// Bytes that are read at once, for headers and short messages.
const BUFFER: usize = 32 << 10;

/// A message that has arrived.
#[derive(Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) header: Header,
    pub(crate) body: Vec<u8>,
    /// How many messages had arrived at the rank before.
    pub(crate) arrival: u64,
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

/// Where the body of the next message of a kind goes, if it has this length.
pub(crate) struct Target<'b> {
    pub(crate) wants: &'b dyn Fn(&Header) -> bool,
    pub(crate) into: &'b mut [u8],
    /// Whether a body goes there now, and how many of its bytes are there.
    taken: Option<usize>,
    /// The message is whole.
    done: Option<Header>,
}

impl<'b> Target<'b> {
    pub(crate) fn new(wants: &'b dyn Fn(&Header) -> bool, into: &'b mut [u8]) -> Self {
        Target { wants, into, taken: None, done: None }
    }

    /// Whether a part of the message is there.
    pub(crate) fn has_begun(&self) -> bool {
        self.taken.is_some()
    }

    /// The header of the message, once it is whole.
    pub(crate) fn done(&self) -> Option<Header> {
        self.done
    }
}

/// The body of the message that is arriving.
#[derive(Debug)]
enum Body {
    /// It is kept.
    Own(Vec<u8>),
    /// It goes to the target of the operation that waits.
    Elsewhere,
}

/// A connection to one peer.
pub(crate) struct Link {
    pub(crate) stream: TcpStream,
    source: u32,
    key: u64,
    pub(crate) peer: PeerState,
    /// Messages that have arrived and were not received yet, in the order of sending.
    pub(crate) inbox: VecDeque<Message>,
    /// What was read and not looked at yet: `buffer[from..to]`.
    buffer: Box<[u8]>,
    from: usize,
    to: usize,
    incoming: Option<(Header, Body)>,
    /// Whether a message has been written in part, or waits to be.
    pub(crate) writing: bool,
    /// What the socket has not taken yet.
    pub(crate) queue: SendQueue,
    /// How many of the program's messages were sent to the peer.
    pub(crate) sent: u64,
    /// How many of the peer's have arrived.
    pub(crate) arrived: u64,
    /// Whether the peer has said that this connection counts.
    is_accepted: bool,
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
            buffer: vec![0; BUFFER].into(),
            from: 0,
            to: 0,
            incoming: None,
            writing: false,
            queue: SendQueue::default(),
            sent: 0,
            arrived: 0,
            is_accepted: false,
        })
    }

    /// Reads what has arrived, about [`MAX_DRAIN`] bytes at most. Returns the bytes of payload that are kept.
    /// `arrivals` counts messages.
    pub(crate) fn drain(
        &mut self,
        mut target: Option<&mut Target>,
        arrivals: &mut u64,
    ) -> Result<usize, Fault> {
        let (mut bytes, mut kept) = (0, 0);
        loop {
            // Also what was read last: nothing would say that it is there.
            while self.peer == PeerState::Connected
                && self.advance(target.as_deref_mut(), arrivals, &mut kept)?
            {}
            if self.peer != PeerState::Connected || bytes >= MAX_DRAIN {
                break;
            }
            match self.read(target.as_deref_mut()) {
                Ok(0) => self.peer = PeerState::Gone,
                Ok(n) => bytes += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.peer = PeerState::Gone,
            }
        }
        Ok(kept)
    }

    /// Reads what has come of a connection that may not count. Returns whether it does.
    pub(crate) fn reads_accepted(&mut self) -> Result<bool, Fault> {
        self.drain(None, &mut 0)?;
        Ok(self.is_accepted)
    }

    /// Reads once: into the body of a long message, or into the buffer.
    fn read(&mut self, target: Option<&mut Target>) -> io::Result<usize> {
        if self.from == self.to {
            (self.from, self.to) = (0, 0);
            match (&mut self.incoming, target) {
                (Some((header, Body::Own(body))), _) => {
                    let missing = header.length as usize - body.len();
                    if missing >= BUFFER {
                        return read_into(&self.stream, body, missing);
                    }
                }
                (Some((_, Body::Elsewhere)), Some(Target { into, taken: Some(there), .. }))
                    if into.len() - *there >= BUFFER =>
                {
                    let n = (&self.stream).read(&mut into[*there..])?;
                    *there += n;
                    return Ok(n);
                }
                _ => {}
            }
        } else if self.to == BUFFER {
            self.buffer.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        let n = (&self.stream).read(&mut self.buffer[self.to..])?;
        self.to += n;
        Ok(n)
    }

    /// Takes a header, or bytes of a body, from the buffer. Returns whether there may be more to take.
    fn advance(
        &mut self,
        target: Option<&mut Target>,
        arrivals: &mut u64,
        kept: &mut usize,
    ) -> Result<bool, Fault> {
        let Some((header, body)) = &mut self.incoming else { return self.begin(target) };
        let buffered = &self.buffer[self.from..self.to];
        let whole = match body {
            Body::Own(body) => {
                let n = buffered.len().min(header.length as usize - body.len());
                body.extend_from_slice(&buffered[..n]);
                self.from += n;
                body.len() as u64 == header.length
            }
            Body::Elsewhere => {
                let Some(Target { into, taken: Some(there), done, .. }) = target else {
                    // The operation that it was for has failed: what follows cannot be read.
                    self.peer = PeerState::Gone;
                    return Ok(false);
                };
                let n = buffered.len().min(into.len() - *there);
                into[*there..*there + n].copy_from_slice(&buffered[..n]);
                (self.from, *there) = (self.from + n, *there + n);
                let whole = *there == into.len();
                if whole {
                    *done = Some(*header);
                }
                whole
            }
        };
        if whole && let Some((header, body)) = self.incoming.take() {
            self.complete(header, body, arrivals, kept);
        }
        Ok(whole)
    }

    /// Begins the next message, if its header is there.
    fn begin(&mut self, target: Option<&mut Target>) -> Result<bool, Fault> {
        let Some(wire) = self.buffer[self.from..self.to].first_chunk::<HEADER>() else { return Ok(false) };
        let header = self.check(Header::decode(wire))?;
        self.from += HEADER;
        let body = match target {
            Some(target)
                if target.taken.is_none()
                    && !self.inbox.iter().any(|message| (target.wants)(&message.header))
                    && target.into.len() as u64 == header.length
                    && (target.wants)(&header) =>
            {
                target.taken = Some(0);
                Body::Elsewhere
            }
            _ => Body::Own(Vec::with_capacity(header.length.min(MAX_PREALLOCATION) as usize)),
        };
        self.incoming = Some((header, body));
        Ok(true)
    }

    fn check(&self, header: Result<Header, Fault>) -> Result<Header, Fault> {
        let header = header.map_err(|fault| fault.on(self.source as usize))?;
        let (found, expected) = ((header.source, header.key), (self.source, self.key));
        if found != expected {
            let what =
                format!("malformed message header: expected (source, key) {expected:?}, found {found:?}");
            return Err(Fault::attempt(what).on(self.source as usize));
        }
        if matches!(header.kind, Kind::Hello | Kind::ClockServer) {
            let what =
                format!("malformed message header: {:?} within a connection, which it opens", header.kind);
            return Err(Fault::attempt(what).on(self.source as usize));
        }
        Ok(header)
    }

    /// A message is whole.
    fn complete(&mut self, header: Header, body: Body, arrivals: &mut u64, kept: &mut usize) {
        match header.kind {
            Kind::Goodbye => self.peer = PeerState::Finished,
            Kind::PeerGone => self.peer = PeerState::ReportsGone(header.tag as usize),
            Kind::Accepted => self.is_accepted = true,
            Kind::Hello | Kind::ClockServer => {}
            Kind::Point | Kind::Collective(_) | Kind::Waits => {
                *arrivals += 1;
                self.arrived += u64::from(counts(header.kind));
                if let Body::Own(body) = body {
                    *kept += body.len();
                    self.inbox.push_back(Message { header, body, arrival: *arrivals });
                }
            }
        }
    }

    /// Whether a message that `wanted` accepts has come, in whole or in part.
    pub(crate) fn has(&self, wanted: &dyn Fn(&Header) -> bool) -> bool {
        self.inbox.iter().any(|message| wanted(&message.header))
            || self.incoming.as_ref().is_some_and(|(header, _)| wanted(header))
    }

    /// Completes a header with the attempt's key.
    pub(crate) fn stamp(&self, header: Header) -> [u8; HEADER] {
        Header { key: self.key, ..header }.encode()
    }

    /// Writes parts, the header first, from byte `done` on, as far as the socket takes them, and at most up to byte
    /// `until`. Returns the number of bytes written so far.
    pub(crate) fn write(&mut self, parts: &[&[u8]], mut done: usize, until: usize) -> io::Result<usize> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let until = until.min(length);
        while done < until {
            let (mut skip, mut room) = (done, until - done);
            let mut left: smallvec::SmallVec<[IoSlice; 4]> = smallvec::SmallVec::new();
            for part in parts {
                let skipped = skip.min(part.len());
                skip -= skipped;
                let taken = room.min(part.len() - skipped);
                room -= taken;
                if taken > 0 {
                    left.push(IoSlice::new(&part[skipped..skipped + taken]));
                }
            }
            match (&self.stream).write_vectored(&left[..left.len().min(libc::UIO_MAXIOV as usize)]) {
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.writing = done < length;
        Ok(done)
    }
}

impl Link {
    /// Writes a message as far as the socket takes it now, behind those that wait. What is left waits for
    /// [`Link::flush`].
    pub(crate) fn post(&mut self, parts: &[&[u8]]) -> io::Result<Posted> {
        let done = if self.queue.is_empty() { self.write(parts, 0, usize::MAX)? } else { 0 };
        if !self.queue.is_empty() || self.writing {
            self.queue.push(parts.concat().split_off(done));
            self.writing = true;
        }
        Ok(self.queue.last())
    }

    /// Writes what waits, as far as the socket takes it now.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        // A message that is written in part by itself stays so.
        if self.queue.is_empty() {
            return Ok(());
        }
        while let Some(bytes) = self.queue.front() {
            match (&self.stream).write(bytes) {
                Ok(n) => self.queue.take(n),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.writing = false;
        Ok(())
    }
}

/// Whether a message is one of the program's, by itself or in a collective.
pub(crate) fn counts(kind: Kind) -> bool {
    matches!(kind, Kind::Point | Kind::Collective(_))
}

/// Reads at most `missing` bytes to the end of `body`, which grows as they come.
fn read_into(stream: &TcpStream, body: &mut Vec<u8>, missing: usize) -> io::Result<usize> {
    let before = body.len();
    if body.capacity() == before {
        // Doubles, but never beyond what the message needs.
        body.reserve_exact(missing.min((MAX_PREALLOCATION as usize).max(before)));
    }
    let room = (body.capacity() - before).min(MAX_DRAIN).min(missing);
    // One call for all that has come: `Read::read_to_end` would begin with 8 KiB.
    let capacity = &mut body.spare_capacity_mut()[..room];
    let (came, _) = rustix::io::read(stream, capacity)?;
    let came = came.len();
    // SAFETY: the call has written these bytes.
    unsafe { body.set_len(before + came) };
    Ok(came)
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

    fn drain_until(
        link: &mut Link,
        mut target: Option<&mut Target>,
        done: impl Fn(&Link, Option<&Target>) -> bool,
    ) {
        let begin = Instant::now();
        while !done(link, target.as_deref()) {
            link.drain(target.as_deref_mut(), &mut 0).expect("well-formed");
            assert!(begin.elapsed() < Duration::from_secs(5), "it does not arrive");
        }
    }

    fn point(length: u64, tag: u32) -> Header {
        Header { length, key: 7, ..Header::bare(Kind::Point, 1, tag) }
    }

    #[test]
    fn a_message_written_in_part_stays_so_though_nothing_is_queued() {
        let (mut link, _far) = pair();
        let body = vec![0; 64 << 20];
        let header = point(body.len() as u64, 1).encode();
        let done = link.write(&[&header, &body], 0, usize::MAX).expect("the peer is there");
        assert!(done < body.len(), "more than sockets hold");
        link.flush().expect("nothing to do");
        assert!(link.writing, "nothing else may be written between");
    }

    #[test]
    fn a_payload_that_is_announced_but_does_not_arrive_takes_no_memory() {
        let (mut link, mut far) = pair();
        far.write_all(&point(1 << 32, 0).encode()).expect("sends");
        drain_until(&mut link, None, |link, _| link.incoming.is_some());
        let Some((_, Body::Own(body))) = &link.incoming else { panic!("it is kept") };
        assert!(body.capacity() as u64 <= MAX_PREALLOCATION);
        drop(far);
        drain_until(&mut link, None, |link, _| link.peer == PeerState::Gone);
    }

    #[test]
    fn a_message_in_pieces_is_received_whole() {
        let (mut link, mut far) = pair();
        let body = [3; 1000];
        for piece in [&point(1000, 9).encode()[..], &body].concat().chunks(31) {
            far.write_all(piece).expect("sends");
            link.drain(None, &mut 0).expect("well-formed");
        }
        drain_until(&mut link, None, |link, _| !link.inbox.is_empty());
        let message = link.inbox.pop_front().expect("is there");
        assert_eq!((message.header.tag, message.body), (9, body.to_vec()));
    }

    #[test]
    fn a_message_goes_to_its_target_and_those_around_it_are_kept() {
        for length in [0_usize, 5, BUFFER - HEADER, BUFFER + 1, 3 * BUFFER + 7] {
            let (mut link, mut far) = pair();
            let body: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            let mut wire = Vec::new();
            for tag in [1, 2, 3] {
                wire.extend(point(length as u64, tag).encode());
                wire.extend(&body);
            }
            let writer = std::thread::spawn(move || far.write_all(&wire).map(|()| far));
            let mut into = vec![0; length];
            let wants = |header: &Header| header.tag == 2;
            let mut target = Target::new(&wants, &mut into);
            drain_until(&mut link, Some(&mut target), |_, target| target.is_some_and(|t| t.done().is_some()));
            assert_eq!(target.done().map(|header| header.tag), Some(2));
            drain_until(&mut link, None, |link, _| link.inbox.len() == 2);
            assert_eq!(into, body);
            assert!(link.inbox.iter().all(|message| message.body == body && message.header.tag != 2));
            writer.join().expect("no panic").expect("sends");
        }
    }

    #[test]
    fn parts_are_written_one_after_the_other_from_any_byte() {
        let (mut link, mut far) = pair();
        let parts: [&[u8]; 4] = [b"head", b"", b"er a", b"nd body"];
        assert_eq!(link.write(&parts, 2, usize::MAX).expect("writes"), 15);
        let mut found = [0; 13];
        far.read_exact(&mut found).expect("reads");
        assert_eq!(&found, b"ader and body");
    }
}
