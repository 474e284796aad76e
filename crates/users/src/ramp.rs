//! A ramp of users, as in AIM7: from few to many, until more of them bring nothing.
//!
//! With a fixed step it goes from the first number to the last. Else the steps adapt: the number doubles until the rate
//! has fallen by a tenth from its peak; then the gaps beside the peak are halved until they are an eighth of it.
//! A ramp also ends at the *crossover*, where each user does less than one job a minute.

use crosstalk_core::Fault;

/// How far the rate falls from its peak until no more users are tried.
const FALL: f64 = 0.9;
/// A gap beside the peak is small where it is such a part of the peak.
const GAP: usize = 8;

/// How many jobs users did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The number of users.
    pub users: usize,
    /// Jobs of all of them, a minute.
    pub jobs_per_minute: f64,
}

impl Level {
    /// Jobs of each user, a minute.
    pub fn per_user(&self) -> f64 {
        self.jobs_per_minute / self.users as f64
    }
}

/// Which numbers of users are tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp {
    from: usize,
    to: usize,
    step: Option<usize>,
    /// In ascending order.
    levels: Vec<Level>,
}

impl Ramp {
    /// From `from` users to `to` at most, in steps of `step`, or in steps that adapt.
    ///
    /// # Errors
    /// A usage fault where no number of users is between, or a step is zero.
    pub fn new(from: usize, to: usize, step: Option<usize>) -> Result<Ramp, Fault> {
        if from == 0 || from > to || step == Some(0) {
            return Err(Fault::usage(format!(
                "expected a ramp from at least 1 user to at least as many, in steps of at least 1; found {from} to {to}"
            ))
            .at("--from, --to, --step")
            .remedy("write for example --from 1 --to 64"));
        }
        Ok(Ramp { from, to, step, levels: Vec::new() })
    }

    /// Adds what was measured.
    pub fn add(&mut self, level: Level) {
        let at = self.levels.partition_point(|known| known.users < level.users);
        self.levels.insert(at, level);
    }

    /// The number of users to try next; `None` where all is known.
    pub fn next(&self) -> Option<usize> {
        let Some(last) = self.levels.last() else { return Some(self.from) };
        let peak = self.peak()?;
        let goes_on = last.users < self.to && self.crossover().is_none();
        match self.step {
            Some(step) => (goes_on && last.users + step <= self.to).then_some(last.users + step),
            None if goes_on && last.jobs_per_minute >= FALL * peak.jobs_per_minute => {
                Some((2 * last.users).min(self.to))
            }
            None => self.gap_beside(peak.users),
        }
    }

    /// The middle of the larger gap beside the peak, if it is not small.
    fn gap_beside(&self, peak: usize) -> Option<usize> {
        let at = self.levels.iter().position(|level| level.users == peak)?;
        let below = at.checked_sub(1).map(|below| (self.levels[below].users, peak));
        let above = self.levels.get(at + 1).map(|above| (peak, above.users));
        let gaps = below.into_iter().chain(above);
        let (low, high) = gaps.max_by_key(|(low, high)| high - low)?;
        (high - low > (peak / GAP).max(1)).then_some(low.midpoint(high))
    }

    /// The level of the highest rate.
    pub fn peak(&self) -> Option<Level> {
        self.levels.iter().copied().max_by(|a, b| a.jobs_per_minute.total_cmp(&b.jobs_per_minute))
    }

    /// The first level at which a user does less than one job a minute.
    pub fn crossover(&self) -> Option<Level> {
        self.levels.iter().copied().find(|level| level.per_user() < 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The numbers that are tried, for a rate by the number of users.
    fn tried(mut ramp: Ramp, rate: impl Fn(usize) -> f64) -> (Vec<usize>, Ramp) {
        let mut tried = Vec::new();
        while let Some(users) = ramp.next() {
            assert!(tried.len() < 200, "it ends: {tried:?}");
            tried.push(users);
            ramp.add(Level { users, jobs_per_minute: rate(users) });
        }
        (tried, ramp)
    }

    fn adaptive(to: usize) -> Ramp {
        Ramp::new(1, to, None).expect("is fine")
    }

    #[test]
    fn fixed_steps_go_to_the_end_or_to_the_crossover() {
        let ramp = || Ramp::new(1, 10, Some(4)).expect("is fine");
        assert_eq!(tried(ramp(), |users| 100.0 * users as f64).0, [1, 5, 9]);
        let (tried, ramp) = tried(ramp(), |_| 4.0);
        assert_eq!(tried, [1, 5]);
        assert_eq!(ramp.crossover().map(|level| level.users), Some(5));
    }

    #[test]
    fn steps_double_and_then_close_in_on_the_peak() {
        let (tried, ramp) = tried(adaptive(1000), |users| 1e6 - (users as f64 - 20.0).powi(2) * 1e3);
        assert_eq!(tried[..6], [1, 2, 4, 8, 16, 32]);
        let peak = ramp.peak().expect("has one").users;
        assert!((18..=22).contains(&peak), "{tried:?}");
    }

    #[test]
    fn what_no_ramp_can_be_is_refused() {
        for (from, to, step) in [(0, 4, None), (5, 4, None), (1, 4, Some(0))] {
            assert!(Ramp::new(from, to, step).is_err());
        }
    }

    proptest! {
        #[test]
        fn every_number_is_tried_once_and_within_bounds(
            to in 1_usize..500, rates in proptest::collection::vec(1.0_f64..1e6, 500),
        ) {
            let (mut tried, ramp) = tried(adaptive(to), |users| rates[users - 1]);
            prop_assert!(tried.iter().all(|users| (1..=to).contains(users)));
            let count = tried.len();
            tried.sort_unstable();
            tried.dedup();
            prop_assert_eq!(tried.len(), count);
            prop_assert!(ramp.peak().is_some());
        }
    }
}
