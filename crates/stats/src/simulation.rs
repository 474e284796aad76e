//! Simulates whole studies with known truth. The procedure that judges real studies
//! judges them, and false verdicts are counted.
//!
//! A study here has a base cell, an equal cell (for the A/A floor) and six others in each
//! block. The comparisons depend on each other through the base. It stops as the
//! runner does: at the first planned look that settles every comparison, or at the
//! last.

use crate::looks::Looks;
use crate::{Interval, proportion};
use machine::{Machine, NoiseKind};
use study::{Situation, StudyResult};

pub mod machine;
pub mod study;

/// The result of many simulated studies of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationOutcome {
    /// The machine's noise.
    pub kind: NoiseKind,
    /// The truth about the cells.
    pub situation: Situation,
    /// Studies simulated.
    pub studies: u64,
    /// Studies with at least one false verdict.
    pub false_studies: u64,
    /// True differences of 5 %, over all studies.
    pub differences: u64,
    /// How many of them were found, with the right direction.
    pub found: u64,
    /// Comparisons without a verdict, over all studies.
    pub inconclusive: u64,
    /// The mean number of blocks per study.
    pub blocks: f64,
}

impl SimulationOutcome {
    /// The share of studies with a false verdict. Its upper end bounds the true
    /// share with 95 % confidence (Clopper–Pearson). `None` without studies.
    pub fn false_share(&self) -> Option<Interval> {
        proportion::estimate(self.false_studies, self.studies, 0.05)
    }

    /// The share of true 5 % differences that were found. Its lower end bounds the
    /// true share with 95 % confidence if they are independent. `None` without any.
    pub fn power(&self) -> Option<Interval> {
        proportion::estimate(self.found, self.differences, 0.05)
    }
}

/// Simulates `studies` studies with log ratios of about this `spread`, judged at
/// `looks`. The same seed gives the same outcome.
pub fn simulate(
    kind: NoiseKind,
    situation: Situation,
    studies: u64,
    spread: f64,
    looks: &Looks,
    seed: u64,
) -> SimulationOutcome {
    let mut outcome = SimulationOutcome {
        kind,
        situation,
        studies,
        false_studies: 0,
        differences: 0,
        found: 0,
        inconclusive: 0,
        blocks: 0.0,
    };
    for index in 0..studies {
        let mut machine = Machine::new(kind, spread, study_seed(kind, situation, seed, index));
        let StudyResult { wrong, differences, found, inconclusive, blocks } =
            study::run(&mut machine, situation, looks);
        outcome.false_studies += u64::from(wrong);
        outcome.differences += differences;
        outcome.found += found;
        outcome.inconclusive += inconclusive;
        outcome.blocks += blocks as f64 / studies as f64;
    }
    outcome
}

/// A different seed for every study, so that no two outcomes share random numbers.
fn study_seed(kind: NoiseKind, situation: Situation, seed: u64, index: u64) -> u64 {
    let line = 1 + 10 * kind as u64 + situation as u64;
    seed.wrapping_mul(1_000_003).wrapping_add(line << 40).wrapping_add(index)
}
