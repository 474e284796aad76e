//! From the runs to what is printed: the verdict, why, and what is beside the best.

use std::collections::BTreeSet;

use super::cached::cached_reads;
use super::grouping::Grouping;
use super::host::ReadLimit;
use super::lines::lines;
use super::need::{Needs, NeedsGap};
use super::neighbours::{fewer, more};
use super::plan::{GroupPlan, plan};
use super::request::TuneRequest;
use super::result::{
    GroupRecord, GroupingRecord, NEEDS, Neighbour, RunRecord, SCHEMA, TimeParts, TuneResult, cliff,
};
use super::run::{Ending, Run};
use super::run_counts::RunCounts;
use super::runner::RunData;
use super::search::SearchResult;
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
const SMALL: f64 = 0.03;

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
    let users = request.population.users();
    let neighbours: Vec<Neighbour> = beyond(&space, best, &runs, users)
        .into_iter()
        .filter_map(|other| neighbour(&runs, best, other, users))
        .collect();
    let mut parts: Vec<TimeParts> = Vec::new();
    let compared = [Grouping::PLAIN, best].into_iter().chain(beyond(&space, best, &runs, users));
    for grouping in compared {
        let is_new = parts.iter().all(|known| known.grouping != grouping.code());
        let counts = mean_counts(&runs, grouping).filter(|_| is_new);
        parts.extend(counts.map(|counts| TimeParts {
            grouping: grouping.code(),
            words: grouping.words(users),
            counts,
        }));
    }
    let learning = learning.iter().map(|ending| run_record(NEEDS.into(), 0, ending));
    let records = runs.iter().map(|run| run_record(run.grouping.code(), run.block, &run.ending));
    let groupings: BTreeSet<Grouping> = runs.iter().map(|run| run.grouping).collect();
    let grouping = |grouping: Grouping| GroupingRecord {
        grouping: grouping.code(),
        groups: GroupRecord::all_of(&plan(&grouping, &needs, request.memory)),
    };
    TuneResult {
        schema: SCHEMA.into(),
        users,
        activities: request.population.activities(),
        drop_caches: request.drop_caches,
        memory: request.memory.0,
        read_rate: request.population.machine().read_rate.map(|rate| rate.0),
        seed: request.seed,
        streamers: (0..needs.streams.len()).filter(|user| needs.streams[*user]).collect(),
        needs: needs.bytes.clone(),
        needs_gap,
        runs: learning.chain(records).collect(),
        groupings: groupings.into_iter().map(grouping).collect(),
        chosen: best.code(),
        words: best.words(users),
        estimate: ratio(&runs, Grouping::PLAIN, best),
        // After the cache was dropped, they have read what is no file.
        cached: mean_counts(&runs, Grouping::PLAIN)
            .filter(|_| !request.drop_caches)
            .and_then(|plain| cached_reads(&plain, request.memory)),
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
fn beyond(space: &[Grouping], best: Grouping, runs: &[Run<RunData>], users: usize) -> Vec<Grouping> {
    let mut beyond = Vec::new();
    for grouping in more(space, best) {
        let Some(one) = neighbour(runs, best, grouping, users) else { break };
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
fn neighbour(runs: &[Run<RunData>], best: Grouping, other: Grouping, users: usize) -> Option<Neighbour> {
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
    let both = both.filter(|_| ratio.is_some_and(|ratio| (ratio - 1.0).abs() > SMALL));
    Some(Neighbour {
        grouping: other.code(),
        words: other.words(users),
        ratio,
        cut: cut.is_some(),
        killed,
        why: both.and_then(|(best, other)| why(&best, &other)),
    })
}

#[cfg(test)]
mod tests;
