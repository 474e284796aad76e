//! The sender: writes or datagrams, on one stream or several.

use rustix::io::Errno;
use rustix::net::sockopt::tcp_congestion;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::tcp::retransmitted_segments;

use super::carriers::Carriers;
use super::counts::SentCount;
use super::session::Session;
use crate::clock;
use crate::session::medium::{Medium, with_stream};
use crosstalk_work::peer::socket::{closed_fault, connection_fault, is_temporary};
use crosstalk_work::peer::{Deadline, TICK};

/// How long a connection may take no byte before it counts as stalled, in nanoseconds.
const STALLED: u64 = 5_000_000_000;

/// The most bytes of one write, whatever size another host asks for: more than a socket takes at once.
const LARGEST_WRITE: usize = 16 << 20;

/// The bytes of a write. They are there before anything is timed: mapping their memory takes longer
/// than sending them.
pub fn make_payload(session: &Session) -> Vec<u8> {
    vec![0x5a; (session.size as usize).min(LARGEST_WRITE)]
}

/// What all streams of a session share.
struct Shared<'a> {
    session: &'a Session,
    payload: &'a [u8],
    peer: SocketAddr,
    begin: u64,
    end: u64,
    /// Whether another stream has failed.
    over: &'a AtomicBool,
    until: &'a Deadline<'a>,
}

/// Sends on all of `carriers`, each with a thread of its own, and calls `meanwhile` with a function that
/// says whether they still send.
///
/// # Errors
/// Where a carrier fails or stalls; those of `meanwhile`; interrupted.
pub fn send_on_all(
    carriers: Carriers,
    session: &Session,
    payload: &[u8],
    peer: SocketAddr,
    until: &Deadline,
    meanwhile: impl FnOnce(&dyn Fn() -> bool) -> Result<(), Fault>,
) -> Result<SentCount, Fault> {
    carriers.set_no_delay(session.no_delay)?;
    carriers.set_congestion_control(session.congestion.as_deref(), "sender")?;
    let overhead = clock::timing_overhead();
    let over = AtomicBool::new(false);
    let begin = clock::now();
    let seconds = session.seconds.clamp(0.0, until.time_left().as_secs_f64());
    let end = begin + (seconds * 1e9) as u64;
    let shared = Shared { session, payload, peer, begin, end, over: &over, until };
    let mut sent = thread::scope(|scope| {
        let shared = &shared;
        let threads: Vec<_> = match carriers {
            Carriers::Streams(media) => {
                media.into_iter().map(|one| scope.spawn(|| shared.medium(one))).collect()
            }
            Carriers::Datagrams(all) => all
                .into_iter()
                .map(|one| scope.spawn(move || shared.end_all_on_error(|| shared.datagrams(&one))))
                .collect(),
        };
        let attended = meanwhile(&|| threads.iter().any(|thread| !thread.is_finished()));
        if attended.is_err() {
            over.store(true, Ordering::Relaxed);
        }
        let mut sum = SentCount::default();
        for thread in threads {
            sum.add(thread.join().map_err(|_| Fault::attempt("a sending thread panicked"))??);
        }
        attended.map(|()| sum)
    })?;
    until.check("the measurement to end")?;
    sent.overhead = overhead;
    Ok(sent)
}

impl Shared<'_> {
    /// Runs `work`; when it fails, ends all streams.
    fn end_all_on_error(&self, work: impl FnOnce() -> Result<SentCount, Fault>) -> Result<SentCount, Fault> {
        let sent = work();
        if sent.is_err() {
            self.over.store(true, Ordering::Relaxed);
        }
        sent
    }

    fn goes_on(&self, now: u64, sent: &SentCount) -> bool {
        now < self.end
            && sent.bytes < self.session.bytes.unwrap_or(u64::MAX)
            && !self.over.load(Ordering::Relaxed)
            && !self.until.is_cancelled()
    }

    /// Nanoseconds until the next byte is due; `None` if it is.
    #[inline]
    fn early(&self, now: u64, sent: &SentCount) -> Option<u64> {
        let rate = self.session.rate?;
        let due = self.begin + (sent.bytes as f64 * 8e9 / rate) as u64;
        (due > now).then(|| (due - now).min(self.end.saturating_sub(now)))
    }

    fn sum_up(&self, mut sent: SentCount, now: u64) -> SentCount {
        sent.seconds = (now - self.begin) as f64 * 1e-9;
        let of = |rate: f64| {
            let bytes = rate * sent.seconds.min(self.session.seconds) / 8.0;
            let due = bytes.min(self.session.bytes.unwrap_or(u64::MAX) as f64) / self.session.size as f64;
            // One write more than gaps that have passed, rounding errors aside.
            ((due - 1e-6).ceil() as u64).max(sent.writes)
        };
        sent.due = self.session.rate.map(of);
        sent
    }

    /// Sends on one stream. Dropping it ends the receiver's count.
    fn medium(&self, mut medium: Medium) -> Result<SentCount, Fault> {
        self.end_all_on_error(|| {
            let mut sent = with_stream!(&mut medium, stream => self.stream(stream))?;
            if let Some(socket) = medium.tcp_socket() {
                sent.retransmitted = retransmitted_segments(socket).ok();
                sent.congestion = tcp_congestion(socket).ok();
            }
            Ok(sent)
        })
    }

    /// Writes into a stream.
    fn stream(&self, stream: &mut impl Write) -> Result<SentCount, Fault> {
        let size = self.payload.len() as u64;
        let mut sent = SentCount::default();
        let (mut now, mut moved) = (self.begin, self.begin);
        while self.goes_on(now, &sent) {
            if let Some(early) = self.early(now, &sent) {
                pause(early);
                now = clock::now();
                moved = now;
                continue;
            }
            let write = size.min(self.session.bytes.unwrap_or(u64::MAX) - sent.bytes) as usize;
            let written = stream.write(&self.payload[..write]);
            now = clock::now();
            match written {
                Ok(n) => {
                    sent.bytes += n as u64;
                    sent.writes += 1;
                    moved = now;
                }
                Err(e) if is_temporary(&e) && now - moved < STALLED => {}
                Err(e) if is_temporary(&e) => return Err(self.stalled()),
                Err(e) => return Err(connection_fault(self.peer, &e)),
            }
        }
        Ok(self.sum_up(sent, now))
    }

    fn stalled(&self) -> Fault {
        Fault::attempt("the receiver takes no more bytes, though the connection stands")
            .at(self.peer.to_string())
            .remedy("see whether it is stopped, or the path is cut")
    }

    /// Sends datagrams as fast as they are due, or as the socket takes them.
    fn datagrams(&self, socket: &UdpSocket) -> Result<SentCount, Fault> {
        let failed = |e: io::Error| connection_fault(self.peer, &e);
        socket.set_nonblocking(false).and_then(|()| socket.set_write_timeout(Some(TICK))).map_err(failed)?;
        let mut sent = SentCount::default();
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
                // The device's queue is full (send(2)): nothing was sent.
                Err(e) if is_temporary(&e) || e.raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => {}
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => return Err(closed_fault(self.peer)),
                Err(e) => return Err(failed(e)),
            }
            now = clock::now();
        }
        Ok(self.sum_up(sent, now))
    }
}

/// Waits for `ns` nanoseconds: asleep if sleeping is exact enough, and for a tick at most, so that a
/// slow rate can be cancelled.
fn pause(ns: u64) {
    const SLACK: u64 = 200_000;
    if ns > SLACK {
        thread::sleep(Duration::from_nanos(ns - SLACK).min(TICK));
    } else {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bandwidth::spec::Spec;
    use crosstalk_core::units::Bytes;
    use crosstalk_core::value::Params;

    #[test]
    fn a_server_has_a_limit_of_memory_for_any_client() {
        let spec = Spec::from_params(&Params::default().with("reverse", true)).expect("reads");
        assert_eq!(make_payload(&spec.session(Bytes(1 << 30))).len(), LARGEST_WRITE);
    }
}
