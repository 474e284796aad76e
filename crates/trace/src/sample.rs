//! Exchanges that are kept whole: the first ones of every second, and the slowest of all.

use std::collections::BTreeMap;

use crosstalk_observe::service::Exchange;

/// Exchanges kept of each second.
const A_SECOND: usize = 200;
/// Seconds of which exchanges are kept: the first ones of a long trace.
const SECONDS: usize = 60;
/// How many of the slowest are kept.
const SLOWEST: usize = 50;
const NS: u64 = 1_000_000_000;

/// The exchanges that are kept for a timeline: the first of each second, and the slowest.
#[derive(Debug, Default)]
pub struct Sample {
    kept: Vec<Exchange>,
    /// How many that began in a second since boot are kept. Exchanges arrive in the order of their ends.
    seconds: BTreeMap<u64, usize>,
    /// By their whole time and their beginning.
    slowest: BTreeMap<(u64, u64), Exchange>,
}

impl Sample {
    /// Keeps an exchange if it is among the first of its second or the slowest.
    pub fn add(&mut self, exchange: Exchange, began: u64, whole: u64) {
        let second = began / NS;
        if self.seconds.len() < SECONDS || self.seconds.contains_key(&second) {
            let count = self.seconds.entry(second).or_default();
            if *count < A_SECOND {
                *count += 1;
                self.kept.push(exchange);
                return;
            }
        }
        let least = self.slowest.first_key_value().map_or(0, |((whole, _), _)| *whole);
        if self.slowest.len() == SLOWEST && whole <= least {
            return;
        }
        self.slowest.insert((whole, began), exchange);
        if self.slowest.len() > SLOWEST {
            self.slowest.pop_first();
        }
    }

    /// The exchanges that were kept.
    pub fn exchanges(self) -> Vec<Exchange> {
        let mut all = self.kept;
        all.extend(self.slowest.into_values());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::exchange_fixture;

    #[test]
    fn the_first_of_each_second_and_the_slowest_are_kept() {
        let mut sample = Sample::default();
        for second in 1..=3 {
            for number in 0..1000 {
                sample.add(exchange_fixture(|_, at| at), second * NS + number, number);
            }
        }
        let slowest: Vec<u64> = sample.slowest.keys().map(|(whole, _)| *whole).collect();
        assert_eq!((slowest.first(), slowest.last()), (Some(&983), Some(&999)));
        assert_eq!(sample.exchanges().len(), 3 * A_SECOND + SLOWEST);
    }

    #[test]
    fn exchanges_count_in_the_second_in_which_they_began() {
        let mut sample = Sample::default();
        for number in 0..1000 {
            // Those that take long began two seconds before those that end with them.
            sample.add(exchange_fixture(|_, at| at), (10 - 2 * (number % 2)) * NS, 1);
        }
        assert_eq!(sample.seconds, BTreeMap::from([(8, A_SECOND), (10, A_SECOND)]));
    }
}
