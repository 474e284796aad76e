//! The serving end: counts what comes, interval by interval.

use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::net::UdpSocket;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use super::spec::Session;
use crate::peer::socket::passing;
use crate::peer::{Line, TICK, Until};
use crate::probe::arguments::Transport;
use crate::probe::clock;
use crate::probe::control::{Answer, GRACE, expect_datagrams, limit, token};
use crate::probe::medium::{Medium, Waiting, over};
use crate::probe::pin::pin;
use crate::probe::server::Door;

/// How long no datagram comes after the last was sent: then none will.
const QUIET: Duration = Duration::from_millis(100);

/// Receives into at least so many bytes: small writes must not make small reads.
const LEAST_BUFFER: usize = 64 << 10;

/// What the serving end counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Serves one session of the probe.
pub fn count(session: &Session, line: &mut Line, door: Door, until: &Until) -> Result<(), Fault> {
    session.transport.carries(Bytes(session.size))?;
    let until = limit(session.seconds, until);
    let _pinned = pin(session.pin)?;
    let overhead = clock::overhead();
    let token = token();
    let mut tally = Tally::new(session)?;
    if session.transport == Transport::Udp {
        let socket = expect_datagrams(door.listener, line, token, &until)?;
        datagrams(&socket, session, token, &mut tally, line, &until)?;
    } else {
        let medium = Medium::serve(session.transport, door, line, token, Waiting::alike(Some(TICK)), &until)?;
        over!(medium, end => stream(end, session, &mut tally, line, &until)?);
    }
    line.say(&Answer::Counted(tally.counted(overhead)))
}

/// Counts a stream until its end.
fn stream(
    mut end: impl Read,
    session: &Session,
    tally: &mut Tally,
    line: &Line,
    until: &Until,
) -> Result<(), Fault> {
    let failed = |e: io::Error| Fault::attempt(format!("the connection failed: {e}"));
    let mut buffer = vec![0; (session.size as usize).max(LEAST_BUFFER)];
    // Memory does not tell that the other end was killed; the conversation does.
    let mut leaving = false;
    let end_by = end_by(until);
    loop {
        match end.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => tally.add(n),
            Err(e) if passing(&e) && line.stirs() && leaving => return Ok(()),
            Err(e) if passing(&e) => {
                leaving = line.stirs();
                until.check("the next bytes")?;
            }
            Err(e) => return Err(failed(e)),
        }
        still_asked(tally, end_by, until)?;
    }
}

/// Counts datagrams until the measuring end says that it has finished, and no
/// more come.
fn datagrams(
    socket: &UdpSocket,
    session: &Session,
    token: u64,
    tally: &mut Tally,
    line: &Line,
    until: &Until,
) -> Result<(), Fault> {
    let failed = |e: io::Error| Fault::attempt(format!("the UDP socket failed: {e}"));
    socket.set_read_timeout(Some(QUIET)).map_err(failed)?;
    let mut buffer = vec![0; session.size as usize];
    let end_by = end_by(until);
    loop {
        match socket.recv(&mut buffer) {
            // A greeting that was repeated.
            Ok(n) if buffer[..n] == token.to_le_bytes() => {}
            Ok(n) => tally.add(n),
            Err(e) if passing(&e) && line.stirs() => return Ok(()),
            Err(e) if passing(&e) => until.check("the next datagram")?,
            Err(e) => return Err(failed(e)),
        }
        still_asked(tally, end_by, until)?;
    }
}

/// When the time will be up, in nanoseconds of the probes' clock.
fn end_by(until: &Until) -> u64 {
    clock::now() + until.left().as_nanos() as u64
}

/// Also an end that never falls silent is served for no longer than it said.
#[inline]
fn still_asked(tally: &Tally, end_by: u64, until: &Until) -> Result<(), Fault> {
    if until.cancelled() || tally.last > end_by { until.check("the end of what is sent") } else { Ok(()) }
}

/// Counts by interval. Adding reads the clock and allocates nothing.
struct Tally {
    interval: u64,
    begin: u64,
    last: u64,
    bytes: u64,
    receives: u64,
    intervals: Vec<u64>,
}

impl Tally {
    fn new(session: &Session) -> Result<Self, Fault> {
        let interval = (session.interval * 1e9) as u64;
        let intervals = ((session.seconds + GRACE) / session.interval).ceil();
        if interval == 0 || !(1.0..1e8).contains(&intervals) {
            return Err(Fault::usage("expected an interval above zero and shorter than the duration")
                .at("parameter `interval`"));
        }
        let intervals = vec![0; intervals as usize];
        Ok(Tally { interval, begin: 0, last: 0, bytes: 0, receives: 0, intervals })
    }

    #[inline]
    fn add(&mut self, n: usize) {
        self.add_at(n, clock::now());
    }

    /// Bytes that came at `now`, in nanoseconds.
    #[inline]
    fn add_at(&mut self, n: usize, now: u64) {
        if self.receives == 0 {
            self.begin = now;
        }
        self.last = now;
        self.bytes += n as u64;
        self.receives += 1;
        let index = ((now - self.begin) / self.interval) as usize;
        let index = index.min(self.intervals.len() - 1);
        self.intervals[index] += n as u64;
    }

    fn counted(mut self, overhead: f64) -> Counted {
        let used =
            if self.receives == 0 { 0 } else { ((self.last - self.begin) / self.interval) as usize + 1 };
        self.intervals.truncate(used);
        Counted {
            bytes: self.bytes,
            receives: self.receives,
            seconds: (self.last - self.begin) as f64 * 1e-9,
            intervals: self.intervals,
            overhead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn session(seconds: f64, interval: f64) -> Session {
        Session { transport: Transport::Tcp, size: 1, seconds, interval, pin: None }
    }

    #[test]
    fn bytes_fall_into_the_interval_they_came_in() {
        let mut tally = Tally::new(&session(1.0, 0.1)).expect("fits");
        for (n, ms) in [(5, 1000), (7, 1099), (11, 1100), (13, 1350)] {
            tally.add_at(n, ms * 1_000_000);
        }
        let counted = tally.counted(0.0);
        assert_eq!(counted.intervals, [12, 11, 0, 13]);
        assert_eq!((counted.bytes, counted.receives), (36, 4));
        assert!((counted.seconds - 0.35).abs() < 1e-12);
    }

    #[test]
    fn nothing_came() {
        let counted = Tally::new(&session(1.0, 0.1)).expect("fits").counted(0.0);
        assert_eq!((counted.bytes, counted.seconds, counted.intervals.len()), (0, 0.0, 0));
    }

    #[test]
    fn an_interval_of_zero_is_refused() {
        assert!(Tally::new(&session(1.0, 0.0)).is_err());
        assert!(Tally::new(&session(f64::MAX, 0.1)).is_err());
    }

    proptest! {
        #[test]
        fn the_intervals_hold_every_byte(steps in proptest::collection::vec((1usize..100_000, 0u64..400_000_000), 1..100)) {
            let mut tally = Tally::new(&session(1.0, 0.1)).expect("fits");
            let mut now = 7;
            for (n, step) in steps {
                now += step;
                tally.add_at(n, now);
            }
            let counted = tally.counted(0.0);
            prop_assert_eq!(counted.intervals.iter().sum::<u64>(), counted.bytes);
        }
    }
}
