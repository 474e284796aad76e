//! What a watcher has done: counts, times and its CPU time.

use std::time::Duration;

use crosstalk_core::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// What became of a program that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was in a group: it inherited that.
    Inherited,
    /// It was moved into its group.
    Moved,
    /// No rule is for it, or it is in a unit.
    Left,
    /// It runs, and its group could not be had in time.
    Missed,
}

/// Counts since the watcher began. A program is one start, whatever files the kernel opens for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Programs that were in a group.
    pub inherited: u64,
    /// Programs that were moved before they ran.
    pub moved: u64,
    /// Programs that no rule is for, and those in units.
    pub left: u64,
    /// Programs that began outside of their group.
    pub missed: u64,
    /// Of those that ran already: how many were moved later.
    pub late: u64,
    /// Processes that ran before the watcher, and were moved at its start.
    pub before: u64,
    /// Nanoseconds from reading a start to its answer, of programs that inherited their group.
    pub inherited_time: Histogram,
    /// The same of programs that were moved.
    pub moved_time: Histogram,
    /// CPU time of the watcher.
    pub cpu: Duration,
    /// How long it ran.
    pub ran: Duration,
}

impl Tally {
    /// Counts a program.
    pub fn count(&mut self, outcome: Outcome, took: Duration) {
        let nanos = took.as_nanos().try_into().unwrap_or(u64::MAX);
        match outcome {
            Outcome::Inherited => {
                self.inherited += 1;
                self.inherited_time.record(nanos);
            }
            Outcome::Moved => {
                self.moved += 1;
                self.moved_time.record(nanos);
            }
            Outcome::Left => self.left += 1,
            Outcome::Missed => self.missed += 1,
        }
    }

    /// Adds what another watcher has done.
    pub fn add(&mut self, other: &Tally) {
        self.inherited += other.inherited;
        self.moved += other.moved;
        self.left += other.left;
        self.missed += other.missed;
        self.late += other.late;
        self.before += other.before;
        self.inherited_time.merge(&other.inherited_time);
        self.moved_time.merge(&other.moved_time);
        self.cpu += other.cpu;
        self.ran += other.ran;
    }

    /// All programs.
    pub fn seen(&self) -> u64 {
        self.inherited + self.moved + self.left + self.missed
    }

    /// CPU time over time: the share of one processor.
    pub fn share(&self) -> Option<f64> {
        (self.ran > Duration::ZERO).then(|| self.cpu.as_secs_f64() / self.ran.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_adds_up() {
        let mut one =
            Tally { cpu: Duration::from_millis(10), ran: Duration::from_secs(1), ..Tally::default() };
        for outcome in [Outcome::Inherited, Outcome::Moved, Outcome::Moved, Outcome::Left, Outcome::Missed] {
            one.count(outcome, Duration::from_micros(50));
        }
        let mut both = one.clone();
        both.add(&one);
        assert_eq!((both.seen(), both.moved, both.moved_time.count()), (10, 4, 4));
        assert_eq!(both.share(), Some(0.01));
        assert_eq!(Tally::default().share(), None);
        let text = serde_json::to_string(&one).expect("writes");
        assert_eq!(serde_json::from_str::<Tally>(&text).expect("reads"), one);
    }
}
