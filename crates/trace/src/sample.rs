//! Exchanges that are kept whole, to be looked at one by one: some from every second, one
//! after the other as they came, and the slowest of all.

use std::collections::BTreeMap;

use crosstalk_observe::service::Exchange;

/// Of each second.
const A_SECOND: usize = 200;
/// Seconds of which any are kept: the later ones of a long trace are not.
const SECONDS: usize = 60;
/// The slowest.
const SLOWEST: usize = 50;
const NS: u64 = 1_000_000_000;

/// What is kept.
#[derive(Debug, Default)]
pub struct Sample {
    kept: Vec<Exchange>,
    /// Second since boot → how many that began in it are kept: they come as they end.
    seconds: BTreeMap<u64, usize>,
    /// By their whole time, and when they began.
    slowest: BTreeMap<(u64, u64), Exchange>,
}

impl Sample {
    /// Keeps an exchange, or not.
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

    /// Those that were kept.
    pub fn exchanges(self) -> Vec<Exchange> {
        let mut all = self.kept;
        all.extend(self.slowest.into_values());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::tests::exchange;

    #[test]
    fn some_of_each_second_and_the_slowest_are_kept() {
        let mut sample = Sample::default();
        for second in 1..=3 {
            for number in 0..1000 {
                sample.add(exchange(|_, at| at), second * NS + number, number);
            }
        }
        let slowest: Vec<u64> = sample.slowest.keys().map(|(whole, _)| *whole).collect();
        assert_eq!((slowest.first(), slowest.last()), (Some(&983), Some(&999)));
        assert_eq!(sample.exchanges().len(), 3 * A_SECOND + SLOWEST);
    }

    #[test]
    fn a_second_s_long_and_short_ones_come_mixed() {
        let mut sample = Sample::default();
        for number in 0..1000 {
            // Those that take long began two seconds before those that end with them.
            sample.add(exchange(|_, at| at), (10 - 2 * (number % 2)) * NS, 1);
        }
        assert_eq!(sample.seconds, BTreeMap::from([(8, A_SECOND), (10, A_SECOND)]));
    }
}
