//! Messages that go out when they are due, and what came back.

use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::units::{Bytes, Seconds};

use crate::clock;
use crate::latency::{number, numbered};
use crosstalk_work::peer::socket::{broken, gone, passing};
use crosstalk_work::peer::{Line, Until};

/// What messages travel on, without ever sleeping.
pub trait Duplex {
    /// Takes as much of a message as it can; of datagrams all or nothing.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Brings what is there: of datagrams one.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// Whether an end without bytes is the end of the connection.
    fn ends(&self) -> bool;
}

/// A stream of bytes.
pub struct Stream<S>(pub S);

impl<S: Read + Write> Duplex for Stream<S> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }

    fn ends(&self) -> bool {
        true
    }
}

/// UDP datagrams to and from one peer.
pub struct Datagrams(UdpSocket);

impl Datagrams {
    /// Over a connected socket.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Datagrams(socket))
    }
}

impl Duplex for Datagrams {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.send(bytes) {
            // An earlier datagram met no socket: this one may.
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => Ok(bytes.len()),
            sent => sent,
        }
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.recv(into) {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => Err(ErrorKind::WouldBlock.into()),
            received => received,
        }
    }

    fn ends(&self) -> bool {
        false
    }
}

/// What was seen of one rate. Times in histograms are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// From when a message was due until its reply was here.
    pub latency: Histogram,
    /// From when a message was due until all of it was taken.
    pub sent_late: Histogram,
    /// Messages due.
    pub due: u64,
    /// Messages sent, of those.
    pub sent: u64,
    /// For how long messages were due: to the last one, and as long as lies between two, in
    /// nanoseconds.
    pub span: u64,
    /// From the first that was due to the last reply.
    pub took: u64,
}

/// Of so many messages one may be missing without the service being behind.
const MISSING: f64 = 0.001;
/// How much longer than it was offered a rate may take: as a share, and in nanoseconds.
const BEHIND: (f64, u64) = (0.01, 2_000_000);

impl Seen {
    /// Replies a second.
    pub fn achieved(&self) -> f64 {
        self.latency.count() as f64 / (self.took.max(self.span).max(1) as f64 * 1e-9)
    }

    /// The share of those sent that was not answered.
    pub fn lost(&self) -> f64 {
        1.0 - self.latency.count() as f64 / self.sent.max(1) as f64
    }

    /// The share of those due that was not answered, sent or not.
    fn missing(&self) -> f64 {
        1.0 - self.latency.count() as f64 / self.due.max(1) as f64
    }

    /// Whether the replies came as fast as the messages were due.
    pub fn kept_up(&self) -> bool {
        let slack = BEHIND.1.max((self.span as f64 * BEHIND.0) as u64);
        self.missing() <= MISSING && self.took <= self.span + slack
    }
}

/// How often to look whether to go on.
const LOOKS: u32 = 4096;

/// A connection with what is on its way over it.
pub struct Lane<'a, W> {
    wire: W,
    line: &'a Line,
    message: Vec<u8>,
    /// Bytes of the last message that have not been taken.
    left: usize,
    /// Messages begun: the number of the next one.
    sent: u64,
    /// Replies to messages before this one are no longer waited for.
    owed_from: u64,
    /// Messages answered since then.
    answered: u64,
    /// Replies, whole or in part.
    replies: Vec<u8>,
    filled: usize,
}

impl<'a, W: Duplex> Lane<'a, W> {
    /// For messages of `size` bytes, beside the conversation over `line`.
    pub fn new(wire: W, size: Bytes, line: &'a Line) -> Self {
        let size = size.0 as usize;
        let replies = vec![0; size.max(64 << 10)];
        Lane {
            wire,
            line,
            message: vec![0; size],
            left: 0,
            sent: 0,
            owed_from: 0,
            answered: 0,
            replies,
            filled: 0,
        }
    }

    /// Sends one message at each time of `schedule` and takes in the replies, until all are
    /// here or `patience` has passed since the last was due. Then waits until nothing is on
    /// its way any more, so that the next schedule finds the service idle.
    pub fn offer(&mut self, schedule: &[u64], patience: Seconds, until: &Until) -> Result<Seen, Fault> {
        let last = schedule.last().copied().unwrap_or(0);
        let gap = last / (schedule.len() as u64).saturating_sub(1).max(1);
        let mut seen = Seen {
            latency: Histogram::default(),
            sent_late: Histogram::default(),
            due: schedule.len() as u64,
            sent: 0,
            span: last + gap,
            took: 0,
        };
        let patience = (patience.0 * 1e9) as u64;
        let first = self.sent;
        let begin = clock::now();
        let mut turns = 0_u32;
        loop {
            let now = clock::now() - begin;
            let next = schedule.get((self.sent - first) as usize).filter(|due| **due <= now);
            if self.send(next.is_some())? {
                let due = schedule[(self.sent - 1 - first) as usize];
                seen.sent_late.record(now.saturating_sub(due));
            }
            self.receive(|number| {
                let due = number.checked_sub(first).and_then(|place| schedule.get(place as usize));
                if let Some(due) = due {
                    seen.took = clock::now() - begin;
                    seen.latency.record(seen.took - due);
                }
            })?;
            if seen.latency.count() == seen.due || now >= last + patience {
                break;
            }
            self.go_on(&mut turns, until)?;
        }
        // Of a message that has been taken in part nothing is known yet.
        seen.sent = self.sent - first - u64::from(self.left > 0);
        self.drain(patience, until)?;
        Ok(seen)
    }

    /// Looks now and then whether to go on.
    fn go_on(&self, turns: &mut u32, until: &Until) -> Result<(), Fault> {
        *turns = turns.wrapping_add(1);
        if turns.is_multiple_of(LOOKS) { until.check("the replies") } else { Ok(()) }
    }

    /// Takes in what is still on its way, until nothing has come for so many nanoseconds.
    fn drain(&mut self, patience: u64, until: &Until) -> Result<(), Fault> {
        let (mut moved, mut turns) = (clock::now(), 0);
        while self.left > 0 || self.answered < self.sent - self.owed_from {
            // Where this thread was not let run meanwhile, what came is still to be seen.
            let (before, looked) = ((self.answered, self.filled, self.left), clock::now());
            self.send(false)?;
            self.receive(|_| ())?;
            if (self.answered, self.filled, self.left) != before {
                moved = clock::now();
            } else if looked - moved.min(looked) > patience {
                if self.wire.ends() {
                    return Err(Fault::attempt(
                        "the other end does not answer, though the connection stands",
                    )
                    .at(self.line.peer().to_string())
                    .remedy("see whether it is stopped or overloaded, or allow a longer `patience`"));
                }
                // Of datagrams the rest is lost, or comes too late to count.
                self.owed_from = self.sent;
                self.answered = 0;
                return Ok(());
            }
            self.go_on(&mut turns, until)?;
        }
        Ok(())
    }

    /// Sends what is left of a message, or where `another` is due that one. Whether all of a
    /// message has now been taken.
    #[inline]
    fn send(&mut self, another: bool) -> Result<bool, Fault> {
        if self.left == 0 {
            if !another {
                return Ok(false);
            }
            number(&mut self.message, self.sent);
            self.left = self.message.len();
            self.sent += 1;
        }
        let from = self.message.len() - self.left;
        match self.wire.send(&self.message[from..]) {
            Ok(n) => self.left -= n,
            Err(e) if passing(&e) => {}
            Err(e) => return Err(broken(self.line.peer(), &e)),
        }
        Ok(self.left == 0)
    }

    /// Takes in what is there, and hands over the number of every reply that is whole.
    #[inline]
    fn receive(&mut self, mut whole: impl FnMut(u64)) -> Result<(), Fault> {
        let size = self.message.len();
        match self.wire.receive(&mut self.replies[self.filled..]) {
            Ok(0) if self.wire.ends() => return Err(gone(self.line.peer())),
            // Of datagrams each is a reply, or a greeting that came late.
            Ok(n) if !self.wire.ends() && n != size => return Ok(()),
            Ok(n) => self.filled += n,
            Err(e) if passing(&e) => return Ok(()),
            Err(e) => return Err(broken(self.line.peer(), &e)),
        }
        let mut from = 0;
        while self.filled - from >= size {
            let number = numbered(&self.replies[from..from + size]);
            self.answered += u64::from(number >= self.owed_from);
            whole(number);
            from += size;
        }
        self.replies.copy_within(from..self.filled, 0);
        self.filled -= from;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::AtomicBool;

    /// A service that answers `per_reply` nanoseconds after it could begin, one message
    /// after the other, taking and giving a few bytes at a time.
    struct Service {
        per_reply: u64,
        free: u64,
        taken: Vec<u8>,
        replies: VecDeque<(u64, Vec<u8>)>,
        size: usize,
    }

    impl Duplex for Service {
        fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = bytes.len().min(5);
            self.taken.extend_from_slice(&bytes[..n]);
            while self.taken.len() >= self.size {
                let rest = self.taken.split_off(self.size);
                self.free = self.free.max(clock::now()) + self.per_reply;
                self.replies.push_back((self.free, std::mem::replace(&mut self.taken, rest)));
            }
            Ok(n)
        }

        fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.replies.front_mut() {
                Some((at, bytes)) if *at <= clock::now() => {
                    let n = bytes.len().min(into.len()).min(7);
                    into[..n].copy_from_slice(&bytes[..n]);
                    bytes.drain(..n);
                    if bytes.is_empty() {
                        self.replies.pop_front();
                    }
                    Ok(n)
                }
                _ => Err(ErrorKind::WouldBlock.into()),
            }
        }

        fn ends(&self) -> bool {
            true
        }
    }

    fn line() -> (Line, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let other = TcpStream::connect(listener.local_addr().expect("has one")).expect("connects");
        (Line::new(listener.accept().expect("comes").0).expect("a line"), other)
    }

    fn offered(per_reply: u64, gap: u64, count: u64) -> Seen {
        let service = Service { per_reply, free: 0, taken: Vec::new(), replies: VecDeque::new(), size: 16 };
        let schedule: Vec<u64> = (0..count).map(|place| place * gap).collect();
        let (line, _other) = line();
        let never = AtomicBool::new(false);
        let until = Until::new(Seconds(60.0), &never);
        let mut lane = Lane::new(service, Bytes(16), &line);
        // Twice: what is left of the first must not be taken for the second's.
        lane.offer(&schedule, Seconds(0.01), &until).expect("offers");
        lane.offer(&schedule, Seconds(2.0), &until).expect("offers")
    }

    #[test]
    fn a_service_that_is_fast_enough_keeps_up() {
        // On a busy machine this end may itself be late: not in every one of ten tries.
        let seen = (0..10).map(|_| offered(20_000, 100_000, 500)).find(Seen::kept_up).expect("keeps up");
        assert_eq!((seen.latency.count(), seen.lost()), (500, 0.0));
        assert!(seen.latency.quantile(0.1).expect("some") >= 20_000.0);
    }

    #[test]
    fn a_service_that_is_too_slow_is_waited_for_longer_and_longer() {
        // Two services' time fits into each gap but for a third of it: message i waits i·(300 − 200) µs.
        let seen = offered(300_000, 200_000, 400);
        assert!(!seen.kept_up());
        let median = seen.latency.quantile(0.5).expect("some");
        assert!((15e6..40e6).contains(&median), "half of 400 messages are 100 µs late each: {median} ns");
        assert!((seen.achieved() - 1e9 / 300_000.0).abs() < 0.1 * 1e9 / 300_000.0, "{}", seen.achieved());
    }
}
