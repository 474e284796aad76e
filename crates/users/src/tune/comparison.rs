//! Compares groupings as they are: the same users in the same groups with the same limits, in interleaved blocks.

use std::collections::BTreeSet;

use crosstalk_core::units::Bytes;
use crosstalk_core::{Fault, quoted};
use crosstalk_stats::rng::Rng;
use serde::Serialize;

use super::findings::run_record;
use super::host::ReadLimit;
use super::lines::lines;
use super::plan::GroupPlan;
use super::result::{GroupRecord, GroupingRecord, RunRecord};
use super::runner::{Purpose, Runner};

/// The version of the result file.
pub const SCHEMA: &str = "crosstalk.tune-comparison/1";

/// How groupings compare.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// `crosstalk.tune-comparison/1`.
    pub schema: String,
    /// The groupings, with the commands that make them.
    pub groupings: Vec<ComparedGrouping>,
    /// All runs, in order. In each block every grouping runs once, in random order and with the same seed.
    pub runs: Vec<RunRecord>,
}

/// A grouping that was run as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedGrouping {
    /// Its name.
    pub grouping: String,
    /// Its groups.
    pub groups: Vec<GroupRecord>,
    /// The commands that make them.
    pub commands: Vec<String>,
}

/// The groups of a record.
///
/// # Errors
/// A usage fault that names the grouping, unless each of the users from 0 to `users` - 1 is in one group.
pub fn plans(record: &GroupingRecord, users: usize) -> Result<Vec<GroupPlan>, Fault> {
    let all: Vec<usize> = record.groups.iter().flat_map(|group| group.users.iter().copied()).collect();
    let distinct: BTreeSet<usize> = all.iter().copied().collect();
    let is_empty = record.groups.iter().any(|group| group.users.is_empty());
    if is_empty || all.len() != users || !distinct.into_iter().eq(0..users) {
        let name = quoted(&record.grouping);
        let message =
            format!("expected each of the users 0 to {} in one group of `{name}`", users.max(1) - 1);
        return Err(Fault::usage(message).remedy("take `groupings` from a result of the same users"));
    }
    let plan =
        |group: &GroupRecord| GroupPlan { users: group.users.clone(), limit: group.memory_limit.map(Bytes) };
    Ok(record.groups.iter().map(plan).collect())
}

/// The groups of each of these.
///
/// # Errors
/// Those of [`plans`]; a usage fault if there is no grouping, or two have one name.
fn all_plans(
    groupings: &[GroupingRecord],
    users: usize,
) -> Result<Vec<(&GroupingRecord, Vec<GroupPlan>)>, Fault> {
    let names: BTreeSet<&str> = groupings.iter().map(|record| record.grouping.as_str()).collect();
    if names.len() < groupings.len() || groupings.is_empty() {
        let found = groupings.len();
        return Err(Fault::usage(format!(
            "expected groupings of different names, found {found} of {}",
            names.len()
        )));
    }
    let mut all = Vec::new();
    for record in groupings {
        all.push((record, plans(record, users)?));
    }
    Ok(all)
}

/// Runs each of these in so many blocks. `cap`: the longest time of a run, in seconds; `ended` reports each one, with
/// its number from 1 and how many there are.
///
/// # Errors
/// A usage fault at groups that are none of these users'; else those of the runs.
pub fn compare(
    runner: &Runner,
    groupings: &[GroupingRecord],
    blocks: usize,
    seed: u64,
    cap: f64,
    read: Option<&ReadLimit>,
    ended: &mut dyn FnMut(usize, usize, &RunRecord),
) -> Result<Comparison, Fault> {
    let all = all_plans(groupings, runner.population.users())?;
    let mut random = Rng::seeded(seed);
    let mut runs = Vec::new();
    // Users' files are made in block 0, which is not compared.
    if let Some((_, plans)) = all.first() {
        runner.run(plans, random.bits(), cap, Purpose::Decide)?;
    }
    for block in 1..=blocks {
        let (mut order, seed): (Vec<_>, u64) = (all.iter().collect(), random.bits());
        random.shuffle(&mut order);
        for (record, plans) in order {
            let ending = runner.run(plans, seed, cap, Purpose::Decide)?;
            let run = run_record(record.grouping.clone(), block, &ending);
            ended(runs.len() + 1, blocks * all.len(), &run);
            runs.push(run);
        }
    }
    let compared = |(record, plans): &(&GroupingRecord, Vec<GroupPlan>)| ComparedGrouping {
        grouping: record.grouping.clone(),
        groups: GroupRecord::all_of(plans),
        commands: lines(plans, runner.population, read),
    };
    Ok(Comparison { schema: SCHEMA.into(), groupings: all.iter().map(compared).collect(), runs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(groups: &[&[usize]]) -> GroupingRecord {
        let group = |users: &&[usize]| GroupRecord {
            name: String::new(),
            users: users.to_vec(),
            memory_limit: Some(1 << 20),
        };
        GroupingRecord { grouping: "found".into(), groups: groups.iter().map(group).collect() }
    }

    #[test]
    fn each_user_is_in_one_group() {
        let plans = plans(&record(&[&[2, 0], &[1]]), 3).expect("is whole");
        assert_eq!((plans[0].users.clone(), plans[1].limit), (vec![2, 0], Some(Bytes(1 << 20))));
        for groups in [&[&[0_usize, 1][..]][..], &[&[0, 1], &[1]], &[&[0, 1, 3]], &[&[0, 1, 2], &[]], &[]] {
            let fault = super::plans(&record(groups), 3).expect_err("is not");
            assert!(fault.message.contains("users 0 to 2 in one group of `found`"), "{fault}");
        }
    }

    #[test]
    fn groupings_have_names_of_their_own() {
        let one = record(&[&[0], &[1]]);
        let other = GroupingRecord { grouping: "rival".into(), ..one.clone() };
        assert_eq!(all_plans(&[one.clone(), other], 2).map(|all| all.len()), Ok(2));
        assert!(all_plans(&[one.clone(), one], 2).is_err() && all_plans(&[], 2).is_err());
    }
}
