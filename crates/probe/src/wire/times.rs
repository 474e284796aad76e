//! The times of messages, and how many of them are kept.

use std::time::Duration;

use crosstalk_host::ticks::TickClock;

/// The times of the messages that an endpoint has measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageTimes {
    /// One-way times in nanoseconds, in the order of sending.
    pub times: Vec<u32>,
    /// Messages that arrived. `times` has all of them, or every second, fourth, and so on.
    pub received: u64,
    /// Messages that did not arrive in time.
    pub lost: u64,
    /// What reading the clock costs, in nanoseconds.
    pub cost: f64,
    /// Whether the buffers are in huge pages; `None` if the transport has no choice.
    pub huge: Option<bool>,
}

/// The most times of one message.
pub const MOST_TIMES_PER_MESSAGE: usize = 3;

/// The times of one message if calls are timed: sending, on the way, receiving.
pub const TIMES_WITH_CALLS: usize = 3;

/// Polls between two reads of the clock.
const SPINS: usize = 64;

/// How long an endpoint measures, how many messages' times it keeps, and how often it polls.
#[derive(Debug, Clone, Copy)]
pub struct MeasureLimits {
    /// How long.
    pub duration: Duration,
    /// The most times to keep. If there are more, those of every second message are kept, and so on.
    pub most: usize,
    /// Polls between two reads of the clock; one if a poll sleeps.
    pub spins: usize,
}

impl MeasureLimits {
    /// The limits of an endpoint that measures for `duration` and keeps `most` times. With `polling`
    /// it polls, otherwise it sleeps.
    pub fn new(duration: Duration, most: usize, polling: bool) -> Self {
        MeasureLimits { duration, most, spins: if polling { SPINS } else { 1 } }
    }
}

/// The times that are kept, of every `each`th message.
pub struct KeptTimes {
    /// Nanoseconds.
    pub times: Vec<u32>,
    /// A power of two.
    pub each: u64,
}

impl KeptTimes {
    /// No times yet, with room for `most`.
    pub fn new(most: usize) -> Self {
        KeptTimes { times: Vec::with_capacity(most), each: 1 }
    }

    /// Adds a message's times in ticks. If there is no room, every second message is dropped.
    pub fn add(&mut self, times: [Option<u64>; MOST_TIMES_PER_MESSAGE], clock: TickClock, most: usize) {
        let known = times.into_iter().flatten();
        let group = known.clone().count();
        self.times.extend(known.map(|ticks| u32::try_from(clock.nanoseconds(ticks)).unwrap_or(u32::MAX)));
        if self.times.len() + group > most {
            let mut place = 0;
            self.times.retain(|_| {
                place += 1;
                ((place - 1) / group).is_multiple_of(2)
            });
            self.each *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_messages_every_second_is_dropped() {
        let clock = TickClock::best();
        let mut kept = KeptTimes::new(100);
        for number in 0..1000_u64 {
            if number % kept.each == 0 {
                let tick = clock.ticks_of(Duration::from_micros(number));
                kept.add([Some(tick), Some(tick), None], clock, 100);
            }
        }
        assert_eq!(kept.each, 32);
        let messages: Vec<u64> =
            kept.times.chunks_exact(2).map(|two| u64::from(two[0]).div_ceil(1000)).collect();
        assert!(kept.times.chunks_exact(2).all(|two| two[0] == two[1]));
        assert_eq!(messages, (0..1000).step_by(32).collect::<Vec<u64>>());
    }
}
