//! The end that sends: writes, or datagrams, on one stream or on several.

use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::tcp::retransmitted;

use super::carriers::Carriers;
use super::spec::Session;
use crate::clock;
use crate::medium::{Medium, over};
use crosstalk_work::peer::socket::{broken, gone, passing};
use crosstalk_work::peer::{TICK, Until};

/// A connection that takes no byte for so long leads to nobody.
const STALLED: u64 = 5_000_000_000;

/// What was sent, on all streams together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SendCount {
    /// Bytes of payload.
    pub bytes: u64,
    /// Writes, or datagrams.
    pub writes: u64,
    /// From before the first to after the last, in seconds.
    pub seconds: f64,
    /// Writes that were due by then, where a rate was asked for.
    pub due: Option<u64>,
    /// Segments that were sent again, over TCP.
    pub retransmitted: Option<u64>,
    /// The congestion control, over TCP.
    pub congestion: Option<String>,
    /// What timing one write costs, in seconds.
    pub overhead: f64,
}

impl SendCount {
    fn add(&mut self, other: SendCount) {
        self.bytes += other.bytes;
        self.writes += other.writes;
        self.seconds = self.seconds.max(other.seconds);
        self.due = self.due.or(other.due.map(|_| 0)).map(|due| due + other.due.unwrap_or(0));
        self.retransmitted = match (self.retransmitted, other.retransmitted) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
        self.congestion = self.congestion.take().or(other.congestion);
    }
}

/// The most bytes that are handed over at once, whatever size another host asks a serving end to write: more than
/// a socket takes at once.
const LARGEST_WRITE: usize = 16 << 20;

/// What a write holds. It is there before anything is timed: finding its memory takes longer than
/// sending it.
pub fn payload(session: &Session) -> Vec<u8> {
    vec![0x5a; (session.size as usize).min(LARGEST_WRITE)]
}

/// What all streams of a session go by.
struct Flow<'a> {
    session: &'a Session,
    payload: &'a [u8],
    peer: SocketAddr,
    begin: u64,
    end: u64,
    /// Whether another stream has failed.
    over: &'a AtomicBool,
    until: &'a Until<'a>,
}

/// Sends on all of `carriers`, each with a thread of its own, and meanwhile does what `meanwhile` does,
/// which is told how to learn whether it still goes on.
pub fn send(
    carriers: Carriers,
    session: &Session,
    payload: &[u8],
    peer: SocketAddr,
    until: &Until,
    meanwhile: impl FnOnce(&dyn Fn() -> bool) -> Result<(), Fault>,
) -> Result<SendCount, Fault> {
    carriers.set_congestion(session.congestion.as_deref())?;
    let overhead = clock::overhead();
    let over = AtomicBool::new(false);
    let begin = clock::now();
    let seconds = session.seconds.clamp(0.0, until.left().as_secs_f64());
    let end = begin + (seconds * 1e9) as u64;
    let flow = Flow { session, payload, peer, begin, end, over: &over, until };
    let mut sent = thread::scope(|scope| {
        let flow = &flow;
        let threads: Vec<_> = match carriers {
            Carriers::Streams(media) => {
                media.into_iter().map(|one| scope.spawn(|| flow.medium(one))).collect()
            }
            Carriers::Datagrams(all) => {
                all.into_iter().map(|one| scope.spawn(move || flow.guard(|| flow.datagrams(&one)))).collect()
            }
        };
        let attended = meanwhile(&|| threads.iter().any(|thread| !thread.is_finished()));
        if attended.is_err() {
            over.store(true, Ordering::Relaxed);
        }
        let mut sum = SendCount::default();
        for thread in threads {
            sum.add(thread.join().map_err(|_| Fault::attempt("a sending thread panicked"))??);
        }
        attended.map(|()| sum)
    })?;
    until.check("the measurement to end")?;
    sent.overhead = overhead;
    Ok(sent)
}

impl Flow<'_> {
    /// When one stream fails, all are over.
    fn guard(&self, work: impl FnOnce() -> Result<SendCount, Fault>) -> Result<SendCount, Fault> {
        let sent = work();
        if sent.is_err() {
            self.over.store(true, Ordering::Relaxed);
        }
        sent
    }

    fn goes_on(&self, now: u64, sent: &SendCount) -> bool {
        now < self.end
            && sent.bytes < self.session.bytes.unwrap_or(u64::MAX)
            && !self.over.load(Ordering::Relaxed)
            && !self.until.cancelled()
    }

    /// How many nanoseconds there are until the next byte is due; nothing where it is.
    #[inline]
    fn early(&self, now: u64, sent: &SendCount) -> Option<u64> {
        let rate = self.session.rate?;
        let due = self.begin + (sent.bytes as f64 * 8e9 / rate) as u64;
        (due > now).then(|| (due - now).min(self.end.saturating_sub(now)))
    }

    fn sum_up(&self, mut sent: SendCount, now: u64) -> SendCount {
        sent.seconds = (now - self.begin) as f64 * 1e-9;
        let of = |rate: f64| {
            let bytes = rate * sent.seconds.min(self.session.seconds) / 8.0;
            let due = bytes.min(self.session.bytes.unwrap_or(u64::MAX) as f64) / self.session.size as f64;
            // One more than whole gaps have passed; a gap that rounding has passed is none.
            ((due - 1e-6).ceil() as u64).max(sent.writes)
        };
        sent.due = self.session.rate.map(of);
        sent
    }

    /// One stream, until it is over: that it is dropped tells the other end to stop counting.
    fn medium(&self, mut medium: Medium) -> Result<SendCount, Fault> {
        self.guard(|| {
            let mut sent = over!(&mut medium, end => self.stream(end))?;
            if let Some(socket) = medium.socket() {
                sent.retransmitted = retransmitted(socket).ok();
                sent.congestion = tcp_congestion(socket).ok();
            }
            Ok(sent)
        })
    }

    /// Writes into a stream.
    fn stream(&self, end: &mut impl Write) -> Result<SendCount, Fault> {
        let size = self.payload.len() as u64;
        let mut sent = SendCount::default();
        let (mut now, mut moved) = (self.begin, self.begin);
        while self.goes_on(now, &sent) {
            if let Some(early) = self.early(now, &sent) {
                pause(early);
                now = clock::now();
                moved = now;
                continue;
            }
            let write = size.min(self.session.bytes.unwrap_or(u64::MAX) - sent.bytes) as usize;
            let written = end.write(&self.payload[..write]);
            now = clock::now();
            match written {
                Ok(n) => {
                    sent.bytes += n as u64;
                    sent.writes += 1;
                    moved = now;
                }
                Err(e) if passing(&e) && now - moved < STALLED => {}
                Err(e) if passing(&e) => return Err(self.stalled()),
                Err(e) => return Err(broken(self.peer, &e)),
            }
        }
        Ok(self.sum_up(sent, now))
    }

    fn stalled(&self) -> Fault {
        Fault::attempt("the other end takes no more bytes, though the connection stands")
            .at(self.peer.to_string())
            .remedy("see whether it is stopped, or the path is cut")
    }

    /// Datagrams, as fast as they are due or the socket takes them.
    fn datagrams(&self, socket: &UdpSocket) -> Result<SendCount, Fault> {
        let failed = |e: io::Error| broken(self.peer, &e);
        socket.set_nonblocking(false).and_then(|()| socket.set_write_timeout(Some(TICK))).map_err(failed)?;
        let mut sent = SendCount::default();
        let mut now = self.begin;
        while self.goes_on(now, &sent) {
            if let Some(early) = self.early(now, &sent) {
                pause(early);
                now = clock::now();
                continue;
            }
            match socket.send(self.payload) {
                Ok(n) => {
                    sent.bytes += n as u64;
                    sent.writes += 1;
                }
                // A full queue of the device (send(2)): nothing was sent.
                Err(e) if passing(&e) || e.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => {}
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => return Err(gone(self.peer)),
                Err(e) => return Err(failed(e)),
            }
            now = clock::now();
        }
        Ok(self.sum_up(sent, now))
    }
}

impl Carriers {
    /// Has the kernel control congestion this way, where it is asked to.
    fn set_congestion(&self, name: Option<&str>) -> Result<(), Fault> {
        let (Some(name), Carriers::Streams(media)) = (name, self) else { return Ok(()) };
        let set = |socket| {
            set_tcp_congestion(socket, name).map_err(|e| {
                let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
                Fault::usage(format!("the sending end cannot take the congestion control {name:?}: {e}"))
                    .of_parameter("congestion")
                    .remedy(format!("one of: {}", known.unwrap_or_default().trim().replace(' ', ", ")))
            })
        };
        media.iter().filter_map(Medium::socket).try_for_each(set)
    }
}

/// Waits so many nanoseconds: asleep where sleeping is exact enough, and a
/// while at most, so that a slow rate can be cancelled.
fn pause(ns: u64) {
    const SLACK: u64 = 200_000;
    if ns > SLACK {
        thread::sleep(Duration::from_nanos(ns - SLACK).min(TICK));
    } else {
        std::hint::spin_loop();
    }
}
