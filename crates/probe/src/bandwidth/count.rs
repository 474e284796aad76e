//! The end that counts what comes, interval by interval.

use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;

use super::carriers::Carriers;
use super::spec::Session;
use super::tally::{Tally, sum};
use crate::clock;
use crate::medium::over;
use crate::server::{IDLE, idled};
use crosstalk_work::peer::socket::passing;
use crosstalk_work::peer::{Line, TICK, Until};

/// How long no datagram comes after the last was sent: then none will.
const QUIET: Duration = Duration::from_millis(100);

/// Receives into so many bytes: small writes must not make small reads, and large ones must not take
/// memory that no cache holds.
const BUFFER: std::ops::RangeInclusive<usize> = 64 << 10..=1 << 20;

/// What was counted, on all streams together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Bytes of payload in all.
    pub bytes: u64,
    /// Receive calls that brought some; over UDP the datagrams.
    pub receives: u64,
    /// From the first byte to the last, in seconds.
    pub seconds: f64,
    /// Bytes in each interval since the first byte, the last one cut short.
    pub intervals: Vec<u64>,
    /// What counting one receive costs, in seconds.
    pub overhead: f64,
}

/// What came lately.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Seconds since the first byte.
    pub begin: f64,
    /// For so many seconds.
    pub seconds: f64,
    /// Bytes of payload.
    pub bytes: u64,
}

/// What all streams of a session share.
struct Shared<'a> {
    session: &'a Session,
    token: u64,
    line: &'a Line,
    until: &'a Until<'a>,
    /// When the first byte of any stream came; 0: none has.
    begin: AtomicU64,
    /// Whether a stream has failed.
    over: AtomicBool,
}

/// Counts on all of `carriers`, each with a thread of its own, until they are over; tells `report`
/// meanwhile where the session wants that.
pub fn count(
    carriers: Carriers,
    session: &Session,
    token: u64,
    line: &Line,
    until: &Until,
    report: &mut dyn FnMut(Interval) -> Result<(), Fault>,
) -> Result<Counted, Fault> {
    let overhead = clock::overhead();
    let begin = AtomicU64::new(0);
    let shared = Shared { session, token, line, until, begin, over: AtomicBool::new(false) };
    let live: Vec<AtomicU64> = (0..carriers.len()).map(|_| AtomicU64::new(0)).collect();
    let mut counted = thread::scope(|scope| {
        let (shared, live) = (&shared, &live);
        let counts =
            |place: usize| Tally::new(session.seconds, session.interval, &shared.begin, &live[place]);
        let threads: Vec<_> = match carriers {
            Carriers::Streams(media) => media
                .into_iter()
                .enumerate()
                .map(|(place, one)| {
                    scope.spawn(move || {
                        shared.guard(counts(place), |tally| over!(one, end => shared.stream(end, tally)))
                    })
                })
                .collect(),
            Carriers::Datagrams(all) => all
                .into_iter()
                .enumerate()
                .map(|(place, one)| {
                    scope.spawn(move || shared.guard(counts(place), |tally| shared.datagrams(&one, tally)))
                })
                .collect(),
        };
        let goes_on = || threads.iter().any(|thread| !thread.is_finished());
        let told = session.report.map_or(Ok(()), |every| shared.told(every, live, &goes_on, report));
        if told.is_err() {
            shared.over.store(true, Ordering::Relaxed);
        }
        let mut tallies = Vec::new();
        for thread in threads {
            tallies.push(thread.join().map_err(|_| Fault::attempt("a counting thread panicked"))??);
        }
        told.map(|()| sum(tallies))
    })?;
    counted.overhead = overhead;
    Ok(counted)
}

impl<'a> Shared<'a> {
    /// When one stream fails, all are over.
    fn guard(
        &self,
        tally: Result<Tally<'a>, Fault>,
        work: impl FnOnce(&mut Tally<'a>) -> Result<(), Fault>,
    ) -> Result<Tally<'a>, Fault> {
        let counted = tally.and_then(|mut tally| work(&mut tally).map(|()| tally));
        if counted.is_err() {
            self.over.store(true, Ordering::Relaxed);
        }
        counted
    }

    /// Tells what has come, every so many seconds, and at the end what is left where that is much.
    fn told(
        &self,
        every: f64,
        live: &[AtomicU64],
        goes_on: &dyn Fn() -> bool,
        report: &mut dyn FnMut(Interval) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (mut from, mut before) = (0.0, 0);
        loop {
            let still = goes_on();
            let begin = self.begin.load(Ordering::Relaxed);
            let passed = if begin == 0 { 0.0 } else { clock::now().saturating_sub(begin) as f64 * 1e-9 };
            let is_due = passed >= from + every;
            if is_due || (!still && passed > from + every / 2.0) {
                let bytes: u64 = live.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
                report(Interval { begin: from, seconds: passed - from, bytes: bytes - before })?;
                (from, before) = (passed, bytes);
            }
            if !still {
                return Ok(());
            }
            thread::sleep(TICK / 5);
        }
    }

    /// Counts a stream until its end.
    fn stream(&self, mut end: impl Read, tally: &mut Tally) -> Result<(), Fault> {
        let failed = |e: io::Error| Fault::attempt(format!("the connection failed: {e}"));
        let size = (self.session.size as usize).clamp(*BUFFER.start(), *BUFFER.end());
        // Not zeros, which the kernel would find memory for while time is taken.
        let mut buffer = vec![1; size];
        // Memory does not tell that the other end was killed; the conversation does.
        let mut leaving = false;
        let limits = self.limits();
        let mut moved = clock::now();
        loop {
            match end.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => {
                    tally.add(n);
                    moved = tally.last;
                }
                Err(e) if passing(&e) && self.line.stirs() && leaving => return Ok(()),
                Err(e) if passing(&e) => {
                    leaving = self.line.stirs();
                    self.still_comes(moved, limits)?;
                }
                Err(e) => return Err(failed(e)),
            }
            self.still_asked(tally, limits)?;
            if self.over.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// Counts datagrams until the end that sends says that it has finished, and no more come.
    fn datagrams(&self, socket: &UdpSocket, tally: &mut Tally) -> Result<(), Fault> {
        let failed = |e: io::Error| Fault::attempt(format!("the UDP socket failed: {e}"));
        socket.set_nonblocking(false).and_then(|()| socket.set_read_timeout(Some(QUIET))).map_err(failed)?;
        let mut buffer = vec![1; self.session.size as usize];
        let limits = self.limits();
        let mut moved = clock::now();
        loop {
            match socket.recv(&mut buffer) {
                // A greeting that was repeated.
                Ok(n) if buffer[..n] == self.token.to_le_bytes() => {}
                Ok(n) => {
                    tally.add(n);
                    moved = tally.last;
                }
                Err(e) if passing(&e) && self.line.stirs() => return Ok(()),
                Err(e) if passing(&e) => self.still_comes(moved, limits)?,
                // An answer to a greeting met no socket any more.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(e) => return Err(failed(e)),
            }
            self.still_asked(tally, limits)?;
            if self.over.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// When the time will be up, in nanoseconds of the probes' clock; and for how many nothing may come.
    fn limits(&self) -> (u64, u64) {
        let idle = IDLE.as_nanos() as u64 + (self.session.gap() * 2.0) as u64;
        (clock::now() + self.until.left().as_nanos() as u64, idle)
    }

    /// Also an end that never falls silent is served for no longer than it said.
    #[inline]
    fn still_asked(&self, tally: &Tally, (end, _): (u64, u64)) -> Result<(), Fault> {
        if self.until.cancelled() || tally.last > end {
            self.until.check("the end of what is sent")?;
        }
        Ok(())
    }

    /// An end that has sent nothing for long is stopped.
    fn still_comes(&self, moved: u64, (_, idle): (u64, u64)) -> Result<(), Fault> {
        self.until.check("the next bytes")?;
        if clock::now() - moved > idle { Err(idled(self.line.peer())) } else { Ok(()) }
    }
}
