//! How long a run may take, so that a command that hangs ends it, and the time of all runs is kept.

use crosstalk_core::Fault;
use crosstalk_core::units::{Seconds, digits, human};

/// A run takes at most so many times as long as plain's first one. Runs to learn from show more if they are whole.
const LONGEST: f64 = 4.0;

/// A time in the unit that a person would choose: seconds or less, minutes from 2 min on, hours from 2 h on.
pub fn in_words(seconds: f64) -> String {
    let number = |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { digits(value) };
    match seconds {
        ..120.0 => human(seconds, "s"),
        ..7200.0 => format!("{} min", number(seconds / 60.0)),
        _ => format!("{} h", number(seconds / 3600.0)),
    }
}

/// The longest time of a run, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    deadline: f64,
    runs: usize,
}

impl RunLimits {
    /// Of so many runs, which are to end before `deadline`.
    pub fn new(deadline: Seconds, runs: usize) -> Self {
        RunLimits { deadline: deadline.0, runs: runs.max(1) }
    }

    /// Of plain's first run: its part of all the time. If it takes longer, all runs do not fit.
    pub fn first(&self) -> f64 {
        self.deadline / self.runs as f64
    }

    /// Of all others, by the makespan of plain's first run.
    pub fn later(makespan: f64) -> f64 {
        LONGEST * makespan
    }

    /// The fault of a first run of plain that took longer.
    pub fn first_is_late(&self) -> Fault {
        let (first, all) = (in_words(self.first()), in_words(self.deadline));
        let message = format!(
            "plain's first run took longer than {first}: {} runs of that length do not fit into the {all} of --deadline",
            self.runs
        );
        Fault::attempt(message).remedy(
            "see whether a user's command hangs; else allow more time (--deadline), shorten the runs (--jobs), or make \
             fewer (--runs, --pairs)",
        )
    }

    /// The fault of a later run of plain that took longer.
    pub fn later_is_late(cap: f64) -> Fault {
        let message =
            format!("plain took longer than {}: {LONGEST} times as long as at first", in_words(cap));
        Fault::attempt(message)
            .remedy("see whether a user's command hangs, or whether something else runs on this machine")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_has_its_part_of_all_the_time() {
        let limits = RunLimits::new(Seconds(540.0), 54);
        assert_eq!((limits.first(), RunLimits::later(2.5)), (10.0, 10.0));
        let fault = limits.first_is_late();
        assert!(fault.message.contains("longer than 10.0 s: 54 runs"), "{fault}");
        assert!(fault.remedy.is_some_and(|said| said.contains("hangs") && said.contains("--deadline")));
        assert!(RunLimits::later_is_late(10.0).message.contains("4 times"));
    }

    #[test]
    fn times_are_in_the_unit_of_people() {
        let words = [0.5, 99.0, 120.0, 100.0 * 60.0 + 30.0, 7200.0, 9000.0].map(in_words);
        assert_eq!(words, ["500 ms", "99.0 s", "2 min", "100 min", "2 h", "2.50 h"]);
    }
}
