//! The receiver: counts bytes by interval, and reports them meanwhile.

use std::io::{self, Read};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;

use super::carriers::Carriers;
use super::counts::{ReceivedCount, ReportedInterval};
use super::session::Session;
use super::tally::{Tally, sum_tallies};
use crate::clock;
use crate::session::limits::{LONGEST_SILENCE, silent_client_fault};
use crate::session::medium::with_stream;
use crosstalk_work::peer::socket::is_temporary;
use crosstalk_work::peer::{Deadline, Line, TICK};

/// How long to wait for a datagram after the sender has finished.
const QUIET: Duration = Duration::from_millis(100);

/// Bytes of the receive buffer. Small writes must not make small reads, and large ones must not need
/// memory that no cache holds.
const BUFFER: std::ops::RangeInclusive<usize> = 64 << 10..=1 << 20;

/// What all streams of a session share.
struct Shared<'a> {
    session: &'a Session,
    token: u64,
    line: &'a Line,
    until: &'a Deadline<'a>,
    /// When the first byte of any stream arrived; 0: none has.
    begin: AtomicU64,
    /// Whether a stream has failed.
    over: AtomicBool,
}

/// Counts on all of `carriers`, each with a thread of its own, until the sender has finished; calls
/// `report` meanwhile if the session has reports.
///
/// # Errors
/// Where a carrier fails, the sender falls silent or this kernel lacks the congestion control; those of `report`; interrupted.
pub fn count_received(
    carriers: Carriers,
    session: &Session,
    token: u64,
    line: &Line,
    until: &Deadline,
    report: &mut dyn FnMut(ReportedInterval) -> Result<(), Fault>,
) -> Result<ReceivedCount, Fault> {
    carriers.set_congestion_control(session.congestion.as_deref(), "receiver")?;
    let congestion = carriers.congestion_control();
    let overhead = clock::timing_overhead();
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
                        shared.end_all_on_error(
                            counts(place),
                            |tally| with_stream!(one, stream => shared.stream(stream, tally)),
                        )
                    })
                })
                .collect(),
            Carriers::Datagrams(all) => all
                .into_iter()
                .enumerate()
                .map(|(place, one)| {
                    scope.spawn(move || {
                        shared.end_all_on_error(counts(place), |tally| shared.datagrams(&one, tally))
                    })
                })
                .collect(),
        };
        let goes_on = || threads.iter().any(|thread| !thread.is_finished());
        let reported = session.report.map_or(Ok(()), |every| shared.report(every, live, &goes_on, report));
        if reported.is_err() {
            shared.over.store(true, Ordering::Relaxed);
        }
        let mut tallies = Vec::new();
        for thread in threads {
            tallies.push(thread.join().map_err(|_| Fault::attempt("a counting thread panicked"))??);
        }
        reported.map(|()| sum_tallies(tallies))
    })?;
    (counted.overhead, counted.congestion) = (overhead, congestion);
    Ok(counted)
}

impl<'a> Shared<'a> {
    /// Runs `work`; when it fails, ends all streams.
    fn end_all_on_error(
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

    /// Reports what has arrived every `every` seconds, and at the end what is left if that is much.
    fn report(
        &self,
        every: f64,
        live: &[AtomicU64],
        goes_on: &dyn Fn() -> bool,
        report: &mut dyn FnMut(ReportedInterval) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (mut from, mut before) = (0.0, 0);
        loop {
            let running = goes_on();
            let begin = self.begin.load(Ordering::Relaxed);
            let passed = if begin == 0 { 0.0 } else { clock::now().saturating_sub(begin) as f64 * 1e-9 };
            let is_due = passed >= from + every;
            if is_due || (!running && passed > from + every / 2.0) {
                let bytes: u64 = live.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
                report(ReportedInterval { begin: from, seconds: passed - from, bytes: bytes - before })?;
                (from, before) = (passed, bytes);
            }
            if !running {
                return Ok(());
            }
            thread::sleep(TICK / 5);
        }
    }

    /// Counts a stream until its end.
    fn stream(&self, mut stream: impl Read, tally: &mut Tally) -> Result<(), Fault> {
        let failed = |e: io::Error| Fault::attempt(format!("the connection failed: {e}"));
        let size = (self.session.size as usize).clamp(*BUFFER.start(), *BUFFER.end());
        // Not zeros: their memory would be mapped while bytes are counted.
        let mut buffer = vec![1; size];
        // Shared memory does not show that the sender was killed; the control connection does.
        let mut leaving = false;
        let limits = self.limits();
        let mut moved = clock::now();
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => {
                    tally.add(n);
                    moved = tally.last;
                }
                Err(e) if is_temporary(&e) && self.line.is_readable() && leaving => return Ok(()),
                Err(e) if is_temporary(&e) => {
                    leaving = self.line.is_readable();
                    self.check_silence(moved, limits)?;
                }
                Err(e) => return Err(failed(e)),
            }
            self.check_time(tally, limits)?;
            if self.over.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// Counts datagrams until the sender says that it has finished, and no more arrive.
    fn datagrams(&self, socket: &UdpSocket, tally: &mut Tally) -> Result<(), Fault> {
        let failed = |e: io::Error| Fault::attempt(format!("the UDP socket failed: {e}"));
        socket.set_nonblocking(false).and_then(|()| socket.set_read_timeout(Some(QUIET))).map_err(failed)?;
        let mut buffer = vec![1; self.session.size as usize];
        let limits = self.limits();
        let mut moved = clock::now();
        loop {
            match socket.recv(&mut buffer) {
                // A token that was repeated.
                Ok(n) if buffer[..n] == self.token.to_le_bytes() => {}
                Ok(n) => {
                    tally.add(n);
                    moved = tally.last;
                }
                Err(e) if is_temporary(&e) && self.line.is_readable() => return Ok(()),
                Err(e) if is_temporary(&e) => self.check_silence(moved, limits)?,
                // A token that was sent back met no socket any more.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(e) => return Err(failed(e)),
            }
            self.check_time(tally, limits)?;
            if self.over.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// When the time is up, in nanoseconds of the probes' clock; and for how many the sender may be silent.
    fn limits(&self) -> (u64, u64) {
        let idle = LONGEST_SILENCE.as_nanos() as u64 + (self.session.gap() * 2.0) as u64;
        (clock::now() + self.until.time_left().as_nanos() as u64, idle)
    }

    /// Refuses a sender that goes on for longer than announced.
    #[inline]
    fn check_time(&self, tally: &Tally, (end, _): (u64, u64)) -> Result<(), Fault> {
        if self.until.is_cancelled() || tally.last > end {
            self.until.check("the sender to finish")?;
        }
        Ok(())
    }

    /// Refuses a sender that has been silent for too long.
    fn check_silence(&self, moved: u64, (_, idle): (u64, u64)) -> Result<(), Fault> {
        self.until.check("the next bytes")?;
        if clock::now() - moved > idle { Err(silent_client_fault(self.line.peer())) } else { Ok(()) }
    }
}
