//! Groupings like the best, with more and fewer groups.

use std::collections::BTreeSet;

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

/// The grouping of so many groups that is most like this one: it has the same limits, and the same users together. If
/// the space has none, since a simpler one makes the same groups, it is the simplest with these limits.
pub fn most_alike(space: &[Grouping], one: Grouping, groups: usize) -> Option<Grouping> {
    let has_limits = |other: &&Grouping| other.groups == groups && other.limits == one.limits;
    let same = space.iter().filter(has_limits).find(|other| other.who == one.who);
    same.or_else(|| space.iter().filter(has_limits).min()).copied()
}

/// Groupings like the best with more groups, in their order.
pub fn more(space: &[Grouping], best: Grouping) -> Vec<Grouping> {
    let counts = counts(space).into_iter().filter(|groups| *groups > best.groups);
    counts.filter_map(|groups| most_alike(space, best, groups)).collect()
}

/// The grouping like the best with the next smaller number of groups; plain is below the least.
pub fn fewer(space: &[Grouping], best: Grouping) -> Option<Grouping> {
    let counts = counts(space).into_iter().filter(|groups| (2..best.groups).contains(groups));
    let fewer = counts.rev().find_map(|groups| most_alike(space, best, groups));
    fewer.or((best.groups > 1).then_some(Grouping::PLAIN))
}

/// The numbers of groups, each once, in ascending order.
fn counts(space: &[Grouping]) -> BTreeSet<usize> {
    space.iter().map(|grouping| grouping.groups).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_whose_groups_a_simpler_one_makes_is_a_neighbour_as_that() {
        let codes =
            ["plain", "2-alike-equal", "2-dealt-none", "4-dealt-equal", "4-alike-equal", "8-dealt-equal"];
        let space = codes.map(|code| code.parse::<Grouping>().expect("a grouping"));
        let [plain, two, none, _, four, eight] = space;
        assert_eq!((more(&space, two), fewer(&space, two)), (vec![four, eight], Some(plain)));
        assert_eq!((more(&space, four), fewer(&space, four)), (vec![eight], Some(two)));
        assert_eq!((more(&space, eight), fewer(&space, eight)), (vec![], Some(space[3])));
        assert_eq!((more(&space, none), fewer(&space, none)), (vec![], Some(plain)));
        assert_eq!(fewer(&space, plain), None);
    }
}
