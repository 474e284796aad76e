//! For which share of the time background work may run, and when it does.
//!
//! While it runs, foreground work takes `r` times as long; while it is paused, it is as fast as alone.
//! Running for a share `d` of the time, foreground work progresses at `1 − d (1 − 1/r)` of its speed
//! alone, which is slower by the budget `s` at most where
//!
//! ```text
//! d ≤ s/(1 + s) · r/(r − 1)
//! ```
//!
//! Probes are taken when it switches: one at the end of running, and one at the end of the pause. Where it may run all the time, it is paused for a few
//! milliseconds now and then, so that this stays known.

use std::time::Duration;

/// The largest share of the time that keeps within the budget, at a ratio of at least 1.
pub fn share(budget: f64, ratio: f64) -> f64 {
    if ratio <= 1.0 {
        return 1.0;
    }
    (budget / (1.0 + budget) * ratio / (ratio - 1.0)).clamp(0.0, 1.0)
}

/// By how much foreground work is slower where background work runs for that share of the time.
pub fn slowdown(share: f64, ratio: f64) -> f64 {
    1.0 / (1.0 - share * (1.0 - 1.0 / ratio.max(1.0))) - 1.0
}

/// How long it is paused to be measured: some milliseconds, in which tasks that run come to a
/// halt (well below one), and a probe is taken.
const PAUSE: Duration = Duration::from_millis(4);
/// A period: running and paused.
const PERIOD: f64 = 0.2;
/// The least time to run: to begin must not cost more than it brings.
const LEAST: f64 = 0.008;
/// The longest pause within a period: of the least slowdown that can be agreed on, a tenth of a
/// percent, four fifths are planned with, and what is slowed without end may run for that share.
const LONGEST: f64 = 10.0;

/// Running and paused, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct DutyCycle {
    running: bool,
    since: Duration,
}

impl DutyCycle {
    /// Begins running.
    pub fn new(now: Duration) -> Self {
        DutyCycle { running: true, since: now }
    }

    /// Whether it runs.
    pub fn running(&self) -> bool {
        self.running
    }

    /// When it switches next, if it may run for that share of the time, and is measured that often
    /// where it may run always. `pace` stretches everything.
    pub fn next_switch(&self, share: f64, survey: Duration, pace: f64) -> Duration {
        let length = match (share >= 1.0, self.running) {
            (true, true) => survey.mul_f64(pace),
            (true, false) => PAUSE,
            (false, running) => {
                let run = (PERIOD * pace * share).max(LEAST * pace.min(2.0));
                let paused =
                    (run * (1.0 - share) / share.max(1e-6)).clamp(PAUSE.as_secs_f64(), LONGEST * pace);
                Duration::from_secs_f64(if running { run } else { paused })
            }
        };
        self.since + length
    }

    /// Switches.
    pub fn switch(&mut self, now: Duration) {
        self.running = !self.running;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::SLOWDOWN;
    use proptest::prelude::*;

    #[test]
    fn shares_are_those_of_the_closed_form() {
        assert_eq!(share(0.01, 1.0), 1.0);
        assert!((share(0.01, 2.0) - 0.01 / 1.01 * 2.0).abs() < 1e-12);
        assert_eq!(share(0.0, 1.5), 0.0);
        assert_eq!(share(0.5, 1.2), 1.0);
        assert_eq!(slowdown(0.0, 3.0), 0.0);
        assert!((slowdown(1.0, 3.0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn switches_keep_to_the_share() {
        let survey = Duration::from_secs(1);
        let mut cycle = DutyCycle::new(Duration::ZERO);
        let run = cycle.next_switch(0.1, survey, 1.0);
        cycle.switch(run);
        let paused = cycle.next_switch(0.1, survey, 1.0) - run;
        assert!((run.as_secs_f64() / (run + paused).as_secs_f64() - 0.1).abs() < 1e-9);
        assert_eq!(DutyCycle::new(survey).next_switch(1.0, survey, 2.0), Duration::from_secs(3));
    }

    #[test]
    fn the_least_share_is_kept_to_as_well() {
        for pace in [1.0, 2.0, 6.0] {
            let least = share(0.8 * SLOWDOWN.start(), 1e9);
            let length = |running| {
                let cycle = DutyCycle { running, since: Duration::ZERO };
                cycle.next_switch(least, Duration::from_secs(1), pace).as_secs_f64()
            };
            let (run, paused) = (length(true), length(false));
            assert!(run / (run + paused) <= least * 1.001, "{run} and {paused} s at {pace}");
        }
    }

    proptest! {
        #[test]
        fn the_share_is_as_large_as_the_budget_allows(budget in 0.0_f64..0.5, ratio in 1.0_f64..5.0) {
            let share = share(budget, ratio);
            prop_assert!(slowdown(share, ratio) <= budget + 1e-9);
            prop_assert!(share == 1.0 || slowdown((share * 1.01).min(1.0), ratio) >= budget - 1e-9);
        }

        #[test]
        fn more_contention_never_gives_more(budget in 0.0_f64..0.5, ratio in 1.0_f64..5.0, more in 0.0_f64..1.0) {
            prop_assert!(share(budget, ratio + more) <= share(budget, ratio));
        }

        #[test]
        fn no_share_keeps_it_from_switching(at in 0.0_f64..1.1, pace in 1.0_f64..8.0) {
            for running in [true, false] {
                let cycle = DutyCycle { running, since: Duration::ZERO };
                let length = cycle.next_switch(at, Duration::from_secs(1), pace);
                prop_assert!(length > Duration::ZERO && length <= Duration::from_secs_f64(LONGEST * pace));
            }
        }
    }
}
