//! What groups felt while some were protected, and while none was: medians of both, to stand side by side.

use std::collections::BTreeMap;

use crosstalk_stats::quantile::samples_needed;
use crosstalk_stats::threshold::median as median_with_interval;
use serde::Serialize;

use crate::name::GroupName;
use crate::numbers::{Rates, Waits};

/// So many readings of each state are needed at least, before both are compared.
const LEAST_READINGS: usize = 10;
/// The probability that some interval of a page misses what it is for.
const ERROR: f64 = 0.05;

/// The error of each of two medians' intervals, of whose difference so many questions are asked at once.
fn error_of_median(questions: usize) -> f64 {
    ERROR / questions.max(1) as f64 / 2.0
}

/// So many readings of each state are needed for so many questions at once.
pub fn readings_needed(questions: usize) -> usize {
    let needed = samples_needed(0.5, error_of_median(questions)).unwrap_or(u64::MAX);
    usize::try_from(needed).unwrap_or(usize::MAX).max(LEAST_READINGS)
}

/// What groups feel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// How long a ready thread waits for a processor, in seconds.
    Delay,
    /// The share of the time in which some task waits for the CPU.
    Cpu,
    /// The share of the time in which some task waits for memory.
    Memory,
    /// The share of the time in which some task waits for devices.
    Disk,
    /// Refaults a second.
    Refaults,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 5] =
        [Measure::Delay, Measure::Cpu, Measure::Memory, Measure::Disk, Measure::Refaults];

    fn of(self, rates: &Rates) -> Option<f64> {
        match self {
            Measure::Delay => rates.delay,
            Measure::Cpu => rates.waits.cpu,
            Measure::Memory => rates.waits.memory,
            Measure::Disk => rates.waits.io,
            Measure::Refaults => rates.refaults,
        }
    }
}

/// How a measure of a group differs between the states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// Of what.
    pub measure: Measure,
    /// The median without protection.
    pub off: f64,
    /// The median with it.
    pub on: f64,
    /// The least that `on - off` is.
    pub low: f64,
    /// The most that `on - off` is.
    pub high: f64,
}

impl Change {
    /// How much the median is higher with protection.
    pub fn rise(&self) -> f64 {
        self.on - self.off
    }

    /// Whether it may be none.
    pub fn may_be_none(&self) -> bool {
        self.low <= 0.0 && 0.0 <= self.high
    }
}

/// What was counted in both states.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Off, and on.
    states: [BTreeMap<GroupName, Vec<Rates>>; 2],
}

/// Medians of a state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Medians {
    /// How many times it was counted.
    pub n: usize,
    /// What is typical.
    pub rates: Rates,
}

impl Comparison {
    /// Adds what was counted of a group while protection was on, or off. Whoever switches leaves out the count that
    /// has both.
    pub fn add(&mut self, is_on: bool, name: &GroupName, rates: Rates) {
        self.states[usize::from(is_on)].entry(name.clone()).or_default().push(rates);
    }

    /// The medians of a group in a state, if it was counted there.
    pub fn medians(&self, is_on: bool, name: &GroupName) -> Option<Medians> {
        let all = self.states[usize::from(is_on)].get(name)?;
        let of = |value: fn(&Rates) -> Option<f64>| median(all.iter().filter_map(value).collect());
        let rates = Rates {
            processors: of(|rates| rates.processors),
            refaults: of(|rates| rates.refaults),
            waits: Waits {
                cpu: of(|rates| rates.waits.cpu),
                memory: of(|rates| rates.waits.memory),
                io: of(|rates| rates.waits.io),
            },
            delay: of(|rates| rates.delay),
        };
        Some(Medians { n: all.len(), rates })
    }

    /// How a measure of a group differs between the states. The interval holds with an error of 5 %, divided by the
    /// number of `questions` that are asked at once. It is the difference of the medians' sign-test intervals, each
    /// at half of that. `None`: fewer than [`readings_needed`] in a state.
    pub fn change(&self, name: &GroupName, measure: Measure, questions: usize) -> Option<Change> {
        let median_of = |state: &BTreeMap<GroupName, Vec<Rates>>| {
            let values: Vec<f64> = state.get(name)?.iter().filter_map(|rates| measure.of(rates)).collect();
            let is_enough = values.len() >= readings_needed(questions);
            is_enough.then(|| median_with_interval(&values, error_of_median(questions))).flatten()
        };
        let [off, on] = &self.states;
        let (off, on) = (median_of(off)?, median_of(on)?);
        let (low, high) = (on.low - off.high, on.high - off.low);
        Some(Change { measure, off: off.point, on: on.point, low, high })
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_kept_apart() {
        let (name, other) = ("lab".parse().expect("is a name"), "web".parse().expect("is a name"));
        let cpu = |cpu| Rates { waits: Waits { cpu, ..Waits::default() }, ..Rates::default() };
        let mut found = Comparison::default();
        for share in [0.3, 0.9, 0.1] {
            found.add(false, &name, cpu(Some(share)));
        }
        found.add(true, &name, cpu(Some(0.02)));
        found.add(true, &name, cpu(Some(0.04)));
        found.add(true, &other, Rates { delay: Some(0.004), ..cpu(None) });
        let of = |is_on, name| found.medians(is_on, name).map(|medians| (medians.n, medians.rates.waits.cpu));
        assert_eq!((of(false, &name), of(true, &name)), (Some((3, Some(0.3))), Some((2, Some(0.03)))));
        assert_eq!((of(true, &other), of(false, &other)), (Some((1, None)), None));
        assert_eq!(found.medians(true, &other).and_then(|medians| medians.rates.delay), Some(0.004));
    }

    /// So many readings of each state: off around one share, on around another.
    fn readings(count: usize, off: f64, on: f64) -> (GroupName, Comparison) {
        let name: GroupName = "lab".parse().expect("is a name");
        let mut found = Comparison::default();
        for (is_on, centre) in [(false, off), (true, on)] {
            for at in 0..count {
                let cpu = Some(centre + 0.01 * (at as f64 - (count - 1) as f64 / 2.0));
                let rates = Rates { waits: Waits { cpu, ..Waits::default() }, ..Rates::default() };
                found.add(is_on, &name, rates);
            }
        }
        (name, found)
    }

    #[test]
    fn few_readings_are_not_compared() {
        let (name, found) = readings(LEAST_READINGS - 1, 0.5, 0.1);
        assert_eq!(found.change(&name, Measure::Cpu, 1), None);
        let (name, found) = readings(LEAST_READINGS, 0.5, 0.1);
        assert!(found.change(&name, Measure::Cpu, 1).is_some());
        assert_eq!(found.change(&name, Measure::Cpu, 100), None, "more questions take more readings");
        assert_eq!(found.change(&name, Measure::Delay, 1), None, "it was not counted");
    }

    #[test]
    fn a_change_is_the_difference_of_the_medians_intervals() {
        let (name, found) = readings(10, 0.5, 0.1);
        let change = found.change(&name, Measure::Cpu, 1).expect("has enough");
        // Ten sorted values: at 2.5 % the interval of the median is from the second to the ninth.
        assert!((change.low - (-0.4 - 0.07)).abs() < 1e-9 && (change.high - (-0.4 + 0.07)).abs() < 1e-9);
        assert!(!change.may_be_none());
        let (name, found) = readings(10, 0.10, 0.11);
        assert!(found.change(&name, Measure::Cpu, 1).is_some_and(|change| change.may_be_none()));
    }
}
