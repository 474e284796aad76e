//! Windows of time: every rank begins a call where its window begins, by clocks that were compared.

use std::time::Duration;

use super::clocks::Clock;

/// A rank sleeps until so long before its window, and then polls the clock: a sleep ends late by about this at most.
const WAKES_LATE: i64 = 200_000;
/// A rank that begins a call later than its window by more is late.
const LATE: i64 = 2_000;

/// The fewest calls, or loops of calls, of which a median is taken.
pub const FEWEST: usize = 3;

/// Windows of one length, one after the other. Times are nanoseconds of rank 0's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// When the first one begins.
    pub begin: i64,
    /// The length of each.
    pub length: i64,
    /// How many there are. None: the measurement is over.
    pub count: i64,
}

impl Windows {
    /// As numbers of a message.
    pub fn numbers(self) -> [i64; 3] {
        [self.begin, self.length, self.count]
    }

    /// The windows of a message.
    pub fn from_numbers([begin, length, count]: [i64; 3]) -> Self {
        Windows { begin, length, count }
    }

    /// When window `index` begins.
    pub fn begin_of(self, index: i64) -> i64 {
        self.begin + index * self.length
    }
}

/// Waits until `begin`. Returns the time at which it is over.
pub fn wait_until(begin: i64, clock: Clock) -> i64 {
    let left = begin - clock.now();
    if left > WAKES_LATE {
        std::thread::sleep(Duration::from_nanos((left - WAKES_LATE) as u64));
    }
    loop {
        match clock.now() {
            now if now >= begin => return now,
            _ => std::hint::spin_loop(),
        }
    }
}

/// When one rank began a call, and when it ended.
pub type Call = [i64; 2];

/// The times of calls, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// Of calls that all ranks began in time: from the begin of the window to the last rank's end.
    pub together: Vec<i64>,
    /// Of calls that some rank began late: from the last rank's begin to the last rank's end.
    pub late: Vec<i64>,
}

/// What was measured of one size in real time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// Of each call, or of each loop of calls.
    pub times: Times,
    /// Of each call in the loops, in nanoseconds, where it begins and ends at one rank.
    pub in_loops: Vec<i64>,
    /// Bound on the difference between two ranks' clocks, in nanoseconds.
    pub clock_error: i64,
}

/// The time of the call in each window. `calls` are each rank's, one rank after the other.
pub fn times(windows: Windows, calls: &[Call]) -> Times {
    let count = windows.count as usize;
    let mut times = Times::default();
    for index in 0..count {
        let of_ranks = || calls.iter().skip(index).step_by(count);
        let (Some(last_begin), Some(last_end)) =
            (of_ranks().map(|call| call[0]).max(), of_ranks().map(|call| call[1]).max())
        else {
            continue;
        };
        let begin = windows.begin_of(index as i64);
        match last_begin - begin <= LATE {
            true => times.together.push(last_end - begin),
            false => times.late.push(last_end - last_begin),
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Windows = Windows { begin: 10_000, length: 10_000, count: 3 };

    #[test]
    fn a_call_takes_until_the_last_rank_has_ended() {
        let ranks = [
            [10_001, 10_010],
            [20_002, 20_020],
            [30_000, 30_060],
            [10_000, 10_030],
            [20_000, 20_010],
            [30_000, 30_050],
        ];
        assert_eq!(times(WINDOWS, &ranks), Times { together: vec![30, 20, 60], late: Vec::new() });
    }

    #[test]
    fn a_call_that_one_rank_begins_late_counts_apart_from_its_last_begin() {
        let ranks = [
            [10_001, 10_010],
            [25_000, 25_020],
            [30_000, 30_060],
            [10_000, 10_030],
            [20_000, 25_010],
            [30_000, 30_050],
        ];
        assert_eq!(times(WINDOWS, &ranks), Times { together: vec![30, 60], late: vec![20] });
    }

    #[test]
    fn windows_are_the_same_after_a_message() {
        assert_eq!(Windows::from_numbers(WINDOWS.numbers()), WINDOWS);
    }
}
