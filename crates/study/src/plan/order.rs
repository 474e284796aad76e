//! The order in which the cells of a block are run, and how long it takes.
//!
//! Every cell of every experiment comes once in a block, in random order, so that drifts affect all cells alike. The cells of
//! one combination of hard factors' levels stay together: the groups are shuffled with everything else, and the cells
//! within each group (a split plot: Jones and Nachtsheim, "Split-plot designs", J. Quality
//! Technology 41(4), 2009).

use super::{Cell, Plan, PlannedExperiment};
use crosstalk_core::value::Value;
use std::collections::BTreeMap;

/// An estimate of wall time, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WallTime {
    /// The first block.
    pub block: f64,
    /// Until the first interim analysis.
    pub least: f64,
    /// Until the last interim analysis: the whole budget.
    pub most: f64,
}

impl Plan {
    /// The cells of `block` in the order in which they run. It depends on the seed and the block alone.
    pub fn cells_in_order(&self, block: usize) -> Vec<&Cell> {
        let mut random = SplitMix::new(self.seed, block as u64);
        let here = self.experiments.iter().filter(|experiment| experiment.runs_in(block));
        let mut groups: Vec<Vec<&Cell>> = here.flat_map(groups).collect();
        shuffle(&mut groups, &mut random);
        for group in &mut groups {
            shuffle(group, &mut random);
        }
        groups.concat()
    }

    /// How long the run takes, by the workloads' own estimates, on a machine that takes `pace` times as long as the
    /// reference machine.
    pub fn wall_time(&self, pace: f64) -> WallTime {
        let of = |experiment: &PlannedExperiment, count: usize| {
            experiment
                .runnable()
                .map(|cell| experiment.effort(cell).seconds(experiment.blocks_within(count), pace))
                .sum::<f64>()
        };
        let blocks = |count: usize| self.experiments.iter().map(|e| of(e, count)).sum::<f64>();
        let warm = self.warmup_seconds(pace);
        let until = |look: Option<&usize>| warm + blocks(look.copied().unwrap_or(0));
        WallTime { block: blocks(1), least: until(self.looks.first()), most: until(self.looks.last()) }
    }

    /// An estimate of the time of the attempts before the first block, in seconds.
    pub fn warmup_seconds(&self, pace: f64) -> f64 {
        self.runnable().map(|cell| cell.effort.seconds(self.warmup, pace)).sum()
    }
}

/// Groups of cells that stay together: those with equal levels of hard factors, else each cell alone.
fn groups(experiment: &PlannedExperiment) -> Vec<Vec<&Cell>> {
    if experiment.hard.is_empty() {
        return experiment.runnable().map(|cell| vec![cell]).collect();
    }
    let mut together: BTreeMap<Vec<Option<&Value>>, Vec<&Cell>> = BTreeMap::new();
    for cell in experiment.runnable() {
        let levels = experiment.hard.iter().map(|factor| cell.id.levels.get(factor));
        together.entry(levels.collect()).or_default().push(cell);
    }
    together.into_values().collect()
}

/// The shuffle of Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut SplitMix) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn new(seed: u64, stream: u64) -> Self {
        let mut outer = SplitMix(seed);
        SplitMix(outer.next() ^ SplitMix(stream).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`; the bias, n / 2⁶⁴, is beyond noticing.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}
