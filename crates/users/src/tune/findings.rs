//! From the runs to what is printed: the verdict, why, and what is beside the best.

use crosstalk_core::units::Bytes;

use super::counted::Counted;
use super::grouping::Grouping;
use super::lines::{full_name, lines};
use super::need::Needs;
use super::place::Placed;
use super::result::{Beside, GroupRecord, Parts, RunRecord, SCHEMA, Tuned};
use super::search::{Ending, Found, Run, neighbours};
use super::trial::Trial;
use super::verdict::{Conclusion, Verdict};
use super::why::why;
use crate::population::Population;

/// What the runs have shown.
#[derive(Debug)]
pub struct Findings {
    /// What users need.
    pub needs: Needs,
    /// The run that showed it, beside those of groupings.
    pub learning: Option<Ending<Trial>>,
    /// All groupings.
    pub space: Vec<Grouping>,
    /// The search's runs, and its best.
    pub found: Found<Trial>,
    /// The groups of the best.
    pub placed: Vec<Placed>,
    /// What fresh pairs say.
    pub verdict: Option<Verdict>,
    /// The group in which a program was killed in a fresh pair.
    pub killed: Option<String>,
}

/// A difference by this share needs no explanation.
const AS_GOOD: f64 = 0.03;

/// The result.
pub fn concluded(seed: u64, population: &Population, memory: Bytes, findings: Findings) -> Tuned {
    let Findings { needs, learning, space, found, placed, verdict, killed } = findings;
    let Found { best, runs } = found;
    let recommended = verdict.as_ref().is_some_and(|verdict| verdict.conclusion == Conclusion::Faster);
    let commands = lines(&placed, population, population.machine().memory);
    let group = |(number, placed): (usize, &Placed)| GroupRecord {
        name: full_name(number),
        users: placed.users.clone(),
        memory_limit: placed.limit.map(|limit| limit.0),
    };
    let plain = counted(&runs, Grouping::PLAIN);
    let chosen = counted(&runs, best);
    let neighbours = neighbours(&space, best);
    let mut compared = vec![Grouping::PLAIN, best];
    compared.extend(&neighbours);
    let mut parts: Vec<Parts> = Vec::new();
    for grouping in compared {
        let is_new = parts.iter().all(|known| known.grouping != grouping.code());
        let counted = counted(&runs, grouping).filter(|_| is_new);
        parts.extend(counted.map(|counted| Parts { grouping: grouping.code(), counted }));
    }
    let learning = learning.iter().map(|ending| record("needs".into(), 0, ending));
    let records = runs.iter().map(|run| record(run.grouping.code(), run.block, &run.ending));
    Tuned {
        schema: SCHEMA.into(),
        users: population.users(),
        memory: memory.0,
        seed,
        streamers: (0..needs.streams.len()).filter(|user| needs.streams[*user]).collect(),
        needs: needs.bytes,
        runs: learning.chain(records).collect(),
        chosen: best.code(),
        words: best.to_string(),
        estimate: ratio(&runs, Grouping::PLAIN, best),
        verdict,
        killed,
        why: plain
            .zip(chosen)
            .filter(|_| best != Grouping::PLAIN)
            .and_then(|(plain, chosen)| why(&plain, &chosen)),
        beside: neighbours.into_iter().filter_map(|other| beside(&runs, best, other)).collect(),
        parts,
        groups: placed.iter().enumerate().map(group).collect(),
        commands: if recommended { commands } else { Vec::new() },
    }
}

fn record(grouping: String, block: usize, ending: &Ending<Trial>) -> RunRecord {
    let record = RunRecord { grouping, block, makespan: None, cut: None, killed: None, counted: None };
    match ending {
        Ending::Done { makespan, more } => {
            RunRecord { makespan: Some(*makespan), counted: Some(more.counted), ..record }
        }
        Ending::Cut(cap) => RunRecord { cut: Some(*cap), ..record },
        Ending::Killed(group) => RunRecord { killed: Some(group.clone()), ..record },
    }
}

/// What was counted in a grouping's runs, on average.
fn counted(runs: &[Run<Trial>], grouping: Grouping) -> Option<Counted> {
    let of = |run: &Run<Trial>| match &run.ending {
        Ending::Done { more, .. } if run.grouping == grouping => Some(more.counted),
        _ => None,
    };
    Counted::mean(&runs.iter().filter_map(of).collect::<Vec<_>>())
}

/// One grouping's makespan over another's, in the blocks in which both have run: the geometric mean.
fn ratio(runs: &[Run<Trial>], one: Grouping, other: Grouping) -> Option<f64> {
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
fn beside(runs: &[Run<Trial>], best: Grouping, other: Grouping) -> Option<Beside> {
    let last = runs.iter().rev().find(|run| run.grouping == other)?;
    let (cut, killed) = match &last.ending {
        Ending::Done { .. } => (None, None),
        Ending::Cut(cap) => (Some(*cap), None),
        Ending::Killed(group) => (None, Some(group.clone())),
    };
    let of_best = runs.iter().find(|run| run.grouping == best && run.block == last.block);
    let at_least =
        cut.zip(of_best.and_then(|run| run.ending.makespan())).map(|(cap, makespan)| cap / makespan);
    let both = counted(runs, best).zip(counted(runs, other));
    let ratio = at_least.or_else(|| ratio(runs, other, best));
    let both = both.filter(|_| ratio.is_some_and(|ratio| (ratio - 1.0).abs() > AS_GOOD));
    Some(Beside {
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
    use super::super::verdict::Pair;
    use super::*;
    use crosstalk_core::value::Params;

    const MEMORY: Bytes = Bytes(64 << 20);

    fn run(code: &str, block: usize, ending: Ending<f64>) -> Run<Trial> {
        let grouping = code.parse().expect("a grouping");
        let trial = |time| Trial { counted: Counted { time, ..Counted::default() }, alone: Vec::new() };
        let ending = match ending {
            Ending::Done { makespan, more } => Ending::Done { makespan, more: trial(more) },
            Ending::Cut(cap) => Ending::Cut(cap),
            Ending::Killed(group) => Ending::Killed(group),
        };
        Run { grouping, block, ending }
    }

    fn done(code: &str, block: usize, makespan: f64) -> Run<Trial> {
        run(code, block, Ending::Done { makespan, more: makespan })
    }

    /// Four groups with no limits are best; eight are `beside`.
    fn found(beside: Run<Trial>, pairs: Vec<Pair>) -> Tuned {
        let params = Params::default().with("mix", "readers").with("memory", "64 MiB");
        let population = Population::read(&params).expect("is fine");
        let needs = Needs::unknown(16, MEMORY);
        let space: Vec<Grouping> = ["plain", "2-dealt-none", "4-dealt-none", "8-dealt-none"]
            .map(|code| code.parse().expect("a grouping"))
            .into();
        let best = space[2];
        let runs =
            vec![done("plain", 0, 8.0), done("4-dealt-none", 0, 4.0), done("2-dealt-none", 0, 4.4), beside];
        let placed = super::super::place::place(&best, &needs, MEMORY);
        let verdict = Verdict::of(pairs, None);
        let found = Found { best, runs };
        concluded(
            1,
            &population,
            MEMORY,
            Findings { needs, learning: None, space, found, placed, verdict, killed: None },
        )
    }

    #[test]
    fn the_neighbour_that_falls_off_most_is_the_cliff() {
        let tuned = found(done("8-dealt-none", 0, 6.0), Vec::new());
        let ratios: Vec<Option<f64>> = tuned.beside.iter().map(|beside| beside.ratio).collect();
        assert_eq!(
            tuned.beside.iter().map(|beside| beside.grouping.as_str()).collect::<Vec<_>>(),
            ["8-dealt-none", "2-dealt-none"]
        );
        assert!(
            (ratios[0].expect("was run") - 1.5).abs() < 1e-9
                && (ratios[1].expect("was run") - 1.1).abs() < 1e-9
        );
        assert_eq!(tuned.cliff().map(|cliff| cliff.grouping.as_str()), Some("8-dealt-none"));
        assert!(tuned.beside[0].why.is_some() && (tuned.estimate.expect("both ran") - 2.0).abs() < 1e-9);
        let parts: Vec<&str> = tuned.parts.iter().map(|parts| parts.grouping.as_str()).collect();
        assert_eq!(parts, ["plain", "4-dealt-none", "8-dealt-none", "2-dealt-none"]);
    }

    #[test]
    fn one_that_was_cut_off_is_at_least_as_slow_and_one_that_was_killed_is_a_cliff() {
        let tuned = found(run("8-dealt-none", 0, Ending::Cut(12.0)), Vec::new());
        let cliff = tuned.cliff().expect("falls off");
        assert_eq!((cliff.ratio, cliff.cut), (Some(3.0), true));
        let tuned = found(run("8-dealt-none", 0, Ending::Killed("tuned/g1".into())), Vec::new());
        assert_eq!(tuned.cliff().and_then(|cliff| cliff.killed.as_deref()), Some("tuned/g1"));
    }

    #[test]
    fn commands_are_given_only_if_fresh_pairs_recommend_them() {
        let beside = || done("8-dealt-none", 0, 6.0);
        let pairs = |grouped: f64| vec![Pair { plain: 2.0, grouped }; 12];
        assert!(found(beside(), Vec::new()).commands.is_empty());
        assert!(
            found(beside(), pairs(2.0)).commands.is_empty() && !found(beside(), pairs(2.0)).is_recommended()
        );
        assert!(found(beside(), pairs(3.0)).commands.is_empty());
        let tuned = found(beside(), pairs(1.0));
        assert!(tuned.is_recommended() && tuned.groups.len() == 4);
        assert_eq!(tuned.commands[0], "crosstalk groups create tuned --memory-limit 64MiB");
    }
}
