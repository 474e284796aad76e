//! What is concluded from runs whose times are known.

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
        drop_caches: false,
        seed: 1,
        scratch: "/tmp".into(),
    };
    let needs = Needs::unknown(16, MEMORY);
    let space: Vec<Grouping> = ["plain", "2-dealt-none", "4-dealt-none", "8-dealt-none", "16-dealt-none"]
        .map(|code| code.parse().expect("a grouping"))
        .into();
    let best = space[2];
    let mut runs = vec![done("plain", 0, 8.0), done("4-dealt-none", 0, 4.0), done("2-dealt-none", 0, 4.4)];
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
        (ratios[0].expect("was run") - 1.5).abs() < 1e-9 && (ratios[1].expect("was run") - 1.1).abs() < 1e-9
    );
    assert_eq!(result.cliff.as_deref(), Some("8-dealt-none"));
    assert!(result.neighbours[0].why.is_some() && (result.estimate.expect("both ran") - 2.0).abs() < 1e-9);
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
    assert_eq!(codes(&result.neighbours), ["8-dealt-none", "2-dealt-none"], "what is behind it is not shown");
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
