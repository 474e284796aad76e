//! Groupings that differ from the best in the number of groups only.

use super::grouping::Grouping;
use super::run::Run;

/// A grouping that takes so many times as long as the best one is a cliff.
pub const CLIFF: f64 = 1.05;

/// The blocks in which both have run.
pub fn common_blocks<M>(runs: &[Run<M>], one: Grouping, other: Grouping) -> impl Iterator<Item = usize> {
    let has_run = move |grouping, block| {
        runs.iter().any(move |run: &Run<M>| run.grouping == grouping && run.block == block)
    };
    let last = runs.iter().map(|run| run.block).max().unwrap_or(0);
    (0..=last).filter(move |block| has_run(one, *block) && has_run(other, *block))
}

/// Groupings that differ from the best in the number of groups only, more of them, in their order.
pub fn more(space: &[Grouping], best: Grouping) -> Vec<Grouping> {
    let is_more = |other: &&Grouping| {
        other.who == best.who && other.limits == best.limits && other.groups > best.groups
    };
    let mut more: Vec<Grouping> = space.iter().filter(is_more).copied().collect();
    more.sort_unstable();
    more
}

/// The next grouping with fewer groups; plain is below the least.
pub fn fewer(space: &[Grouping], best: Grouping) -> Option<Grouping> {
    let alike = |other: &&Grouping| other.who == best.who && other.limits == best.limits;
    let fewer = space.iter().filter(alike).filter(|other| other.groups < best.groups).max();
    fewer.copied().or((best.groups > 1).then_some(Grouping::PLAIN))
}
