//! From the runs to what is printed: the verdict, why, and what is beside the best.

use std::collections::BTreeSet;

use super::grouping::Grouping;
use super::host::ReadLimit;
use super::lines::lines;
use super::need::{Needs, NeedsGap};
use super::plan::{GroupPlan, plan};
use super::request::TuneRequest;
use super::result::{
    GroupRecord, GroupingRecord, Neighbour, RunRecord, SCHEMA, TimeParts, TuneResult, cliff,
};
use super::run_counts::RunCounts;
use super::runner::RunData;
use super::search::{Ending, Run, SearchResult, fewer, more};
use super::verdict::{Conclusion, PairsEnding};
use super::why::why;

/// What the runs have shown.
#[derive(Debug)]
pub struct Findings {
    /// What users need.
    pub needs: Needs,
    /// What of that is assumed.
    pub needs_gap: Option<NeedsGap>,
    /// The second run to learn from, which is none of a grouping.
    pub learning: Option<Ending<RunData>>,
    /// All groupings.
    pub space: Vec<Grouping>,
    /// The search's runs, and its best.
    pub found: SearchResult<RunData>,
    /// The groups of the best.
    pub plans: Vec<GroupPlan>,
    /// How the fresh pairs ended.
    pub pairs: PairsEnding,
    /// What all users together read at most.
    pub read: Option<ReadLimit>,
    /// Why waiting for locks was not counted.
    pub locks_unavailable: Option<String>,
}

/// A difference by this share needs no explanation.
const AS_GOOD: f64 = 0.03;

/// The result.
pub fn concluded(request: &TuneRequest, findings: Findings) -> TuneResult {
    let Findings { needs, needs_gap, learning, space, found, plans, pairs, read, locks_unavailable } =
        findings;
    let SearchResult { best, runs } = found;
    let (verdict, killed, cut) = match pairs {
        PairsEnding::Done(verdict) => (verdict, None, None),
        PairsEnding::Killed(group) => (None, Some(group), None),
        PairsEnding::Cut(cap) => (None, None, Some(cap)),
    };
    let recommended = verdict.as_ref().is_some_and(|verdict| verdict.conclusion == Conclusion::Faster);
    let neighbours: Vec<Neighbour> =
        beyond(&space, best, &runs).into_iter().filter_map(|other| neighbour(&runs, best, other)).collect();
    let mut parts: Vec<TimeParts> = Vec::new();
    let compared = [Grouping::PLAIN, best].into_iter().chain(beyond(&space, best, &runs));
    for grouping in compared {
        let is_new = parts.iter().all(|known| known.grouping != grouping.code());
        let counts = mean_counts(&runs, grouping).filter(|_| is_new);
        parts.extend(counts.map(|counts| TimeParts { grouping: grouping.code(), counts }));
    }
    let learning = learning.iter().map(|ending| run_record("needs".into(), 0, ending));
    let records = runs.iter().map(|run| run_record(run.grouping.code(), run.block, &run.ending));
    let groupings: BTreeSet<Grouping> = runs.iter().map(|run| run.grouping).collect();
    let grouping = |grouping: Grouping| GroupingRecord {
        grouping: grouping.code(),
        groups: GroupRecord::all_of(&plan(&grouping, &needs, request.memory)),
    };
    TuneResult {
        schema: SCHEMA.into(),
        users: request.population.users(),
        memory: request.memory.0,
        read_rate: request.population.machine().read_rate.map(|rate| rate.0),
        seed: request.seed,
        streamers: (0..needs.streams.len()).filter(|user| needs.streams[*user]).collect(),
        needs: needs.bytes.clone(),
        needs_gap,
        runs: learning.chain(records).collect(),
        groupings: groupings.into_iter().map(grouping).collect(),
        chosen: best.code(),
        words: best.to_string(),
        estimate: ratio(&runs, Grouping::PLAIN, best),
        verdict,
        killed,
        cut,
        why: mean_counts(&runs, Grouping::PLAIN)
            .zip(mean_counts(&runs, best))
            .filter(|_| best != Grouping::PLAIN)
            .and_then(|(plain, chosen)| why(&plain, &chosen)),
        cliff: cliff(&neighbours).map(|one| one.grouping.clone()),
        neighbours,
        parts,
        locks_unavailable,
        groups: GroupRecord::all_of(&plans),
        commands: if recommended { lines(&plans, &request.population, read.as_ref()) } else { Vec::new() },
    }
}

/// What is beyond the best: more groups up to the first that is a cliff, and the next with fewer.
fn beyond(space: &[Grouping], best: Grouping, runs: &[Run<RunData>]) -> Vec<Grouping> {
    let mut beyond = Vec::new();
    for grouping in more(space, best) {
        let Some(one) = neighbour(runs, best, grouping) else { break };
        beyond.push(grouping);
        if cliff(&[one]).is_some() {
            break;
        }
    }
    beyond.extend(fewer(space, best));
    beyond
}

/// A run, for the result.
pub fn run_record(grouping: String, block: usize, ending: &Ending<RunData>) -> RunRecord {
    let record = RunRecord { grouping, block, makespan: None, cut: None, killed: None, counts: None };
    match ending {
        Ending::Done { makespan, more } => {
            RunRecord { makespan: Some(*makespan), counts: Some(more.counts), ..record }
        }
        Ending::Cut(cap) => RunRecord { cut: Some(*cap), ..record },
        Ending::Killed(group) => RunRecord { killed: Some(group.clone()), ..record },
    }
}

/// What was counted in a grouping's runs, on average.
fn mean_counts(runs: &[Run<RunData>], grouping: Grouping) -> Option<RunCounts> {
    let of = |run: &Run<RunData>| match &run.ending {
        Ending::Done { more, .. } if run.grouping == grouping => Some(more.counts),
        _ => None,
    };
    RunCounts::mean(&runs.iter().filter_map(of).collect::<Vec<_>>())
}

/// One grouping's makespan over another's, in the blocks in which both have run: the geometric mean.
fn ratio(runs: &[Run<RunData>], one: Grouping, other: Grouping) -> Option<f64> {
    let makespan = |grouping: Grouping, block: usize| {
        let run = runs.iter().find(|run| run.grouping == grouping && run.block == block)?;
        run.ending.makespan()
    };
    let blocks = runs.iter().filter(|run| run.grouping == one).map(|run| run.block);
    let logs: Vec<f64> =
        blocks.filter_map(|block| Some((makespan(one, block)? / makespan(other, block)?).ln())).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// What a neighbour of the best did; `None` if it was not run.
fn neighbour(runs: &[Run<RunData>], best: Grouping, other: Grouping) -> Option<Neighbour> {
    let last = runs.iter().rev().find(|run| run.grouping == other)?;
    let (cut, killed) = match &last.ending {
        Ending::Done { .. } => (None, None),
        Ending::Cut(cap) => (Some(*cap), None),
        Ending::Killed(group) => (None, Some(group.clone())),
    };
    let of_best = runs.iter().find(|run| run.grouping == best && run.block == last.block);
    let at_least =
        cut.zip(of_best.and_then(|run| run.ending.makespan())).map(|(cap, makespan)| cap / makespan);
    let both = mean_counts(runs, best).zip(mean_counts(runs, other));
    let ratio = at_least.or_else(|| ratio(runs, other, best));
    let both = both.filter(|_| ratio.is_some_and(|ratio| (ratio - 1.0).abs() > AS_GOOD));
    Some(Neighbour {
        grouping: other.code(),
        words: other.to_string(),
        ratio,
        cut: cut.is_some(),
        killed,
        why: both.and_then(|(best, other)| why(&best, &other)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::verdict::{Pair, Verdict};
    use super::*;
    use crate::population::Population;
    use crosstalk_core::units::{Bytes, Seconds};
    use crosstalk_core::value::Params;

    const MEMORY: Bytes = Bytes(64 << 20);

    fn run(code: &str, block: usize, ending: Ending<f64>) -> Run<RunData> {
        let grouping = code.parse().expect("a grouping");
        let data = |time| RunData { counts: RunCounts { time, ..RunCounts::default() }, alone: Vec::new() };
        let ending = match ending {
            Ending::Done { makespan, more } => Ending::Done { makespan, more: data(more) },
            Ending::Cut(cap) => Ending::Cut(cap),
            Ending::Killed(group) => Ending::Killed(group),
        };
        Run { grouping, block, ending }
    }

    fn done(code: &str, block: usize, makespan: f64) -> Run<RunData> {
        run(code, block, Ending::Done { makespan, more: makespan })
    }

    /// Four groups with no limits are best; `more` are runs of more groups.
    fn result(more: Vec<Run<RunData>>, pairs: PairsEnding) -> TuneResult {
        let params = Params::default().with("mix", "readers").with("memory", "64 MiB");
        let request = TuneRequest {
            population: Population::read(&params).expect("is fine"),
            memory: MEMORY,
            runs: 30,
            pairs: 12,
            deadline: Seconds(60.0),
            blocks: None,
            seed: 1,
            scratch: "/tmp".into(),
        };
        let needs = Needs::unknown(16, MEMORY);
        let space: Vec<Grouping> = ["plain", "2-dealt-none", "4-dealt-none", "8-dealt-none", "16-dealt-none"]
            .map(|code| code.parse().expect("a grouping"))
            .into();
        let best = space[2];
        let mut runs =
            vec![done("plain", 0, 8.0), done("4-dealt-none", 0, 4.0), done("2-dealt-none", 0, 4.4)];
        runs.extend(more);
        let plans = plan(&best, &needs, MEMORY);
        let findings = Findings {
            needs,
            needs_gap: None,
            learning: None,
            space,
            found: SearchResult { best, runs },
            plans,
            pairs,
            read: None,
            locks_unavailable: None,
        };
        concluded(&request, findings)
    }

    fn without_pairs(more: Vec<Run<RunData>>) -> TuneResult {
        result(more, PairsEnding::Done(None))
    }

    fn codes(neighbours: &[Neighbour]) -> Vec<&str> {
        neighbours.iter().map(|one| one.grouping.as_str()).collect()
    }

    #[test]
    fn the_neighbour_that_falls_off_most_is_the_cliff() {
        let result = without_pairs(vec![done("8-dealt-none", 0, 6.0)]);
        let ratios: Vec<Option<f64>> = result.neighbours.iter().map(|one| one.ratio).collect();
        assert_eq!(codes(&result.neighbours), ["8-dealt-none", "2-dealt-none"]);
        assert!(
            (ratios[0].expect("was run") - 1.5).abs() < 1e-9
                && (ratios[1].expect("was run") - 1.1).abs() < 1e-9
        );
        assert_eq!(result.cliff.as_deref(), Some("8-dealt-none"));
        assert!(
            result.neighbours[0].why.is_some() && (result.estimate.expect("both ran") - 2.0).abs() < 1e-9
        );
        let parts: Vec<&str> = result.parts.iter().map(|parts| parts.grouping.as_str()).collect();
        assert_eq!(parts, ["plain", "4-dealt-none", "8-dealt-none", "2-dealt-none"]);
        let groups: Vec<usize> = result.groupings.iter().map(|one| one.groups.len()).collect();
        assert_eq!(groups, [1, 2, 4, 8], "of every grouping that was run");
    }

    #[test]
    fn the_cliff_may_be_further_up() {
        let result = without_pairs(vec![done("8-dealt-none", 0, 4.1), done("16-dealt-none", 0, 8.0)]);
        assert_eq!(codes(&result.neighbours), ["8-dealt-none", "16-dealt-none", "2-dealt-none"]);
        assert_eq!(result.cliff.as_deref(), Some("16-dealt-none"));
        let result = without_pairs(vec![done("8-dealt-none", 0, 6.0), done("16-dealt-none", 0, 8.0)]);
        assert_eq!(
            codes(&result.neighbours),
            ["8-dealt-none", "2-dealt-none"],
            "what is behind it is not shown"
        );
    }

    #[test]
    fn one_that_was_cut_off_is_at_least_as_slow_and_one_that_was_killed_is_a_cliff() {
        let result = without_pairs(vec![run("8-dealt-none", 0, Ending::Cut(12.0))]);
        assert_eq!(result.cliff.as_deref(), Some("8-dealt-none"));
        assert_eq!((result.neighbours[0].ratio, result.neighbours[0].cut), (Some(3.0), true));
        let result = without_pairs(vec![run("8-dealt-none", 0, Ending::Killed("tuned/g1".into()))]);
        assert_eq!(result.cliff.as_deref(), Some("8-dealt-none"));
        assert_eq!(result.neighbours[0].killed.as_deref(), Some("tuned/g1"));
    }

    #[test]
    fn commands_are_given_only_if_fresh_pairs_recommend_them() {
        let with = |grouped: f64| {
            let pairs = vec![Pair { plain: 2.0, grouped }; 12];
            result(vec![done("8-dealt-none", 0, 6.0)], PairsEnding::Done(Verdict::of(pairs, None)))
        };
        assert!(without_pairs(Vec::new()).commands.is_empty());
        assert!(with(2.0).commands.is_empty() && !with(2.0).is_recommended());
        assert!(with(3.0).commands.is_empty());
        let faster = with(1.0);
        assert!(faster.is_recommended() && faster.groups.len() == 4);
        assert_eq!(faster.commands[0], "crosstalk groups create tuned --memory-limit 64MiB");
        let cut = result(Vec::new(), PairsEnding::Cut(9.0));
        assert!(cut.cut == Some(9.0) && !cut.is_recommended());
    }
}
