//! Bytes that a stream has received, by interval.

use std::sync::atomic::{AtomicU64, Ordering};

use crosstalk_core::Fault;

use super::counts::ReceivedCount;
use crate::clock;
use crate::session::limits::SESSION_GRACE;

/// Counts by interval. Adding reads the clock and allocates nothing.
pub struct Tally<'a> {
    shared: &'a AtomicU64,
    live: &'a AtomicU64,
    interval: u64,
    begin: u64,
    first: u64,
    /// When the last bytes arrived, in nanoseconds of the probes' clock.
    pub last: u64,
    bytes: u64,
    receives: u64,
    intervals: Vec<u64>,
}

impl<'a> Tally<'a> {
    /// A tally for a session of `seconds`, with intervals of `interval` seconds. `shared` is when the first
    /// byte of any stream arrived; `live` gets the bytes of this stream.
    ///
    /// # Errors
    /// A usage fault for an interval that is zero, or too short or too long for the session.
    pub fn new(
        seconds: f64,
        interval: f64,
        shared: &'a AtomicU64,
        live: &'a AtomicU64,
    ) -> Result<Self, Fault> {
        let count = ((seconds + SESSION_GRACE) / interval).ceil();
        let interval = (interval * 1e9) as u64;
        if interval == 0 || !(1.0..2e6).contains(&count) {
            return Err(Fault::usage("expected an interval above zero and shorter than the duration")
                .of_parameter("interval"));
        }
        let intervals = vec![0; count as usize];
        Ok(Tally { shared, live, interval, begin: 0, first: 0, last: 0, bytes: 0, receives: 0, intervals })
    }

    /// Counts bytes that have just arrived.
    #[inline]
    pub fn add(&mut self, n: usize) {
        self.add_at(n, clock::now());
    }

    /// Counts bytes that arrived at `now`, in nanoseconds.
    #[inline]
    fn add_at(&mut self, n: usize, now: u64) {
        if self.receives == 0 {
            // Intervals of all streams begin with the first byte of any.
            let known = self.shared.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
            (self.begin, self.first) = (known.err().unwrap_or(now), now);
        }
        self.last = now;
        self.bytes += n as u64;
        self.receives += 1;
        self.live.store(self.bytes, Ordering::Relaxed);
        let index = (now.saturating_sub(self.begin) / self.interval) as usize;
        let index = index.min(self.intervals.len() - 1);
        self.intervals[index] += n as u64;
    }
}

/// The sum of the tallies of all streams.
pub fn sum_tallies(tallies: Vec<Tally>) -> ReceivedCount {
    let active = || tallies.iter().filter(|tally| tally.receives > 0);
    let first = active().map(|tally| tally.first).min().unwrap_or(0);
    let last = active().map(|tally| tally.last).max().unwrap_or(0);
    let mut counted = ReceivedCount { seconds: (last - first) as f64 * 1e-9, ..ReceivedCount::default() };
    for tally in active() {
        let used = (tally.last.saturating_sub(tally.begin) / tally.interval) as usize + 1;
        let used = used.min(tally.intervals.len());
        counted.intervals.resize(counted.intervals.len().max(used), 0);
        counted.intervals.iter_mut().zip(&tally.intervals).for_each(|(all, one)| *all += one);
        counted.bytes += tally.bytes;
        counted.receives += tally.receives;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sum of `arrivals`: stream, bytes, and time in nanoseconds.
    fn counted(interval: f64, streams: usize, arrivals: &[(usize, usize, u64)]) -> ReceivedCount {
        let (begin, live) = (AtomicU64::new(0), AtomicU64::new(0));
        let tally = |_| Tally::new(1.0, interval, &begin, &live).expect("fits");
        let mut tallies: Vec<_> = (0..streams).map(tally).collect();
        arrivals.iter().for_each(|(stream, n, at)| tallies[*stream].add_at(*n, *at));
        sum_tallies(tallies)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn bytes_count_in_the_interval_of_their_arrival() {
        let arrivals = [(5, 1000), (7, 1099), (11, 1100), (13, 1350)].map(|(n, ms)| (0, n, ms * MS));
        let counted = counted(0.1, 1, &arrivals);
        assert_eq!(counted.intervals, [12, 11, 0, 13]);
        assert_eq!((counted.bytes, counted.receives), (36, 4));
        assert!((counted.seconds - 0.35).abs() < 1e-12);
    }

    #[test]
    fn streams_share_their_intervals() {
        let arrivals = [(1, 5, 1000), (0, 7, 1150), (1, 11, 1160), (0, 1, 1450)];
        let counted = counted(0.1, 3, &arrivals.map(|(stream, n, ms)| (stream, n, ms * MS)));
        assert_eq!(counted.intervals, [5, 18, 0, 0, 1]);
        assert_eq!((counted.bytes, counted.receives), (24, 4));
        assert!((counted.seconds - 0.45).abs() < 1e-12);
    }

    #[test]
    fn without_bytes_there_are_no_intervals() {
        let counted = counted(0.1, 2, &[]);
        assert_eq!((counted.bytes, counted.seconds, counted.intervals.len()), (0, 0.0, 0));
    }

    #[test]
    fn an_interval_of_zero_is_refused() {
        let (begin, live) = (AtomicU64::new(0), AtomicU64::new(0));
        assert!(Tally::new(1.0, 0.0, &begin, &live).is_err());
        assert!(Tally::new(f64::MAX, 0.1, &begin, &live).is_err());
    }

    proptest! {
        #[test]
        fn the_intervals_hold_every_byte(
            steps in proptest::collection::vec((0usize..4, 1usize..100_000, 0u64..400_000_000), 1..100)
        ) {
            let mut now = 7;
            let arrivals: Vec<_> = steps.into_iter().map(|(stream, n, step)| {
                now += step;
                (stream, n, now)
            }).collect();
            let counted = counted(0.1, 4, &arrivals);
            prop_assert_eq!(counted.intervals.iter().sum::<u64>(), counted.bytes);
        }
    }
}
