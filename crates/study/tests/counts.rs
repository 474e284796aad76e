//! Which tries count, and what is reported about the others.

use crate::synthetic::graph::{GRAPH, graph};
use crate::synthetic::{claim, is, planned_study};
use crosstalk_core::cell::CellId;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Origin, Reading, Status};
use crosstalk_study::findings::Findings;
use crosstalk_study::plan::PlannedExperiment;
use crosstalk_study::samples::{Attempt, Run};
use crosstalk_study::{command_study, next_block, to_toml};

#[test]
fn failed_and_unfaithful_attempts_do_not_count_and_are_reported() {
    let (planned, mut run) = graph(12);
    for attempt in
        run.attempts.iter_mut().filter(|a| a.block < 2 && is(&a.cell.levels, "system", "microblade"))
    {
        if attempt.block == 0 {
            attempt.status = Status::Failed;
            attempt.failure = Some("node 1 is gone".into());
        } else {
            attempt.fidelity =
                Some(Fidelity { reasons: vec!["CPU contention".into()], ..Fidelity::default() });
        }
    }
    let findings = planned.findings(&run);
    assert_eq!(findings.comparisons[0].ratio.n, 10, "only complete pairs");
    assert_eq!(findings.run.blocks, 12, "the blocks were gone through all the same");
    let cell = findings.cells.iter().find(|c| is(&c.id.levels, "system", "microblade")).expect("is planned");
    assert_eq!((cell.finished, cell.failed, cell.unfaithful), (10, 1, Some(1)));
    assert_eq!(cell.reasons, ["node 1 is gone", "not faithful: CPU contention"]);
    let warned = |text: &str| findings.warnings.iter().any(|w| w.contains(text));
    assert!(
        warned("A contradiction.")
            && warned("graph: Not as printed.")
            && warned("2 attempts of graph: node 1 is gone")
            && warned("CPU contention")
    );
    assert_eq!(findings.run.attempts["not faithful"], 2);
    // Two cells of microblade's, each in one of its blocks.
    let sentence = &findings.headline.text;
    assert!(sentence.contains("failed in 1 of 12 blocks (node 1 is gone)"), "{sentence}");
}

#[test]
fn a_cell_that_is_never_faithful_gives_no_verdict() {
    let (planned, mut run) = graph(12);
    for attempt in run.attempts.iter_mut().filter(|a| is(&a.cell.levels, "system", "kosmos-srio")) {
        attempt.fidelity = Some(Fidelity { reasons: vec!["steal".into()], ..Fidelity::default() });
    }
    let findings = planned.findings(&run);
    assert_eq!(findings.comparisons, []);
    assert!(!findings.headline.decided);
    assert!(
        findings.headline.text.contains("is not faithful in all 12 blocks"),
        "{}",
        findings.headline.text
    );
}

#[test]
fn a_resumed_block_counts_once_and_as_a_whole() {
    let (planned, mut run) = graph(12);
    // Block 11 was cut short after its first cell, which had said ten times as much.
    let mut early = run.attempts.iter().find(|a| a.block == 11).expect("is there").clone();
    early.readings = vec![Reading::value("completion_time", 20.0, Origin::Measured)];
    for attempt in run.attempts.iter_mut().filter(|a| a.block == 11) {
        attempt.try_number = 2;
    }
    let undisturbed = planned.findings(&run).comparisons;
    let place = run.attempts.len() - 4;
    run.attempts.insert(place, early);
    assert_eq!(planned.findings(&run).comparisons, undisturbed);
}

#[test]
fn attempts_that_were_tried_again_are_reported() {
    let (planned, mut run) = graph(12);
    let warning = |run: &Run| planned.findings(run).warnings.into_iter().find(|w| w.contains("tried again"));
    assert_eq!(warning(&run), None);
    let mut again = run.attempts[0].clone();
    run.attempts[0].fidelity = Some(Fidelity { reasons: vec!["steal".into()], ..Fidelity::default() });
    again.try_number = 2;
    run.attempts.push(again);
    let text = warning(&run).expect("is reported");
    assert!(text.starts_with("1 attempt that failed or was not faithful was tried again"), "{text}");
    assert_eq!(planned.findings(&run).comparisons[0].ratio.n, 12, "the second try counts");
    let last = run.attempts.last_mut().expect("the second try");
    last.fidelity = Some(Fidelity { reasons: vec!["steal".into()], ..Fidelity::default() });
    assert_eq!(warning(&run), None, "where no try counts, nothing was selected");
}

#[test]
fn a_busy_machine_is_named_once() {
    let (planned, mut run) = graph(12);
    let named = |findings: &Findings| {
        let names_load =
            |text: &String| text.contains("busy") && text.contains("used 60 % of its 2 processors");
        let headline = [&findings.headline.text, &findings.headline.context];
        (
            headline.into_iter().any(|text| text.contains("busy")),
            findings.warnings.iter().filter(|w| names_load(w)).count(),
        )
    };
    assert_eq!(named(&planned.findings(&run)), (false, 0));
    run.busy = Some("other programs used 60 % of its 2 processors".into());
    assert_eq!(named(&planned.findings(&run)), (false, 1));
    assert!(planned.findings(&run).warnings[0].contains("busy"), "the most important first");
}

#[test]
fn numbers_of_different_origin_are_never_mixed_silently() {
    let text = GRAPH.to_string()
        + r#"
    [claim.faster]
    statement = "KOSMOS is faster"
    experiment = "graph"
    where = { slaves = 1 }
    ratio = { metric = "completion_time", of = { system = "kosmos-srio" }, to = { system = "microblade" } }
    expect = "< 1"
    "#;
    let planned = planned_study(&text);
    let mut run = planned.run(12, 0.01, 11, &|_, _, _| 1.0);
    for attempt in run.attempts.iter_mut().filter(|a| is(&a.cell.levels, "system", "kosmos-srio")) {
        attempt.readings.iter_mut().for_each(|r| r.origin = Origin::Emulated);
    }
    let warnings = planned.findings(&run).warnings;
    let mixed: Vec<_> = warnings.iter().filter(|w| w.contains("different origin")).collect();
    assert_eq!(mixed.len(), 1, "one for all: {warnings:?}");
    let named = ["measured and emulated", "completion_time: kosmos-srio over microblade", "claim faster"];
    assert!(named.iter().all(|what| mixed[0].contains(what)), "{mixed:?}");
}

#[test]
fn blocks_are_complete_without_a_cell_that_was_given_up() {
    let (planned, mut run) = graph(12);
    let gone = run.attempts[0].cell.levels.clone();
    run.attempts.retain(|a| a.cell.levels != gone || a.block < 3);
    for attempt in run.attempts.iter_mut().filter(|a| a.cell.levels == gone) {
        attempt.status = Status::Failed;
    }
    assert_eq!(planned.findings(&run).run.blocks, 12);
    assert_eq!(next_block(&planned.plan, &run), 12);
    // One that failed less often is waited for.
    run.attempts.retain(|a| a.cell.levels != gone || a.block < 2);
    assert_eq!(next_block(&planned.plan, &run), 11);
}

#[test]
fn blocks_are_complete_without_an_experiment_that_runs_in_fewer() {
    let (mut planned, mut run) = graph(12);
    let mut curve =
        PlannedExperiment { name: "curve".into(), blocks: Some(3), ..planned.plan.experiments[0].clone() };
    curve.cells.iter_mut().for_each(|cell| cell.id.experiment = "curve".into());
    planned.plan.experiments.push(curve);
    let early: Vec<_> = run.attempts.iter().filter(|a| a.block < 3).cloned().collect();
    run.attempts
        .extend(early.into_iter().map(|a| Attempt { cell: CellId::new("curve", a.cell.levels), ..a }));
    assert_eq!(next_block(&planned.plan, &run), 12);
    planned.plan.experiments[1].blocks = None;
    assert_eq!(next_block(&planned.plan, &run), 11, "else it is waited for");
}

#[test]
fn a_ratio_needs_numbers_above_zero() {
    let (planned, mut run) = graph(12);
    for attempt in run.attempts.iter_mut().filter(|a| is(&a.cell.levels, "system", "kosmos-srio")) {
        attempt.readings = vec![Reading::value("completion_time", 0.0, Origin::Measured)];
    }
    let findings = planned.findings(&run);
    assert_eq!(findings.comparisons, []);
    assert!(
        findings.warnings.iter().any(|w| w.contains("of which there is no ratio")),
        "{:?}",
        findings.warnings
    );
}

#[test]
fn distributions_count_by_their_median_or_the_quantile_asked_for() {
    let text =
        GRAPH.replace("base = \"microblade\" }", "base = \"microblade\", metric = \"completion_time p99\" }");
    let (_, mut run) = graph(12);
    let planned = planned_study(&text);
    for attempt in &mut run.attempts {
        let tail = if is(&attempt.cell.levels, "system", "kosmos-srio") { 2_000 } else { 8_000 };
        let mut histogram = Histogram::default();
        (0..1000).for_each(|i| histogram.record(if i < 985 { 1_000 } else { tail + attempt.block as u64 }));
        attempt.readings = vec![Reading::histogram("completion_time", histogram, Origin::Measured)];
    }
    let findings = planned.findings(&run);
    assert!((findings.comparisons[0].ratio.value - 0.25).abs() < 0.01, "{:?}", findings.comparisons[0].ratio);
    let medians = &findings.cells[0].metrics["completion_time"];
    assert!((medians.value - 1e-6).abs() < 1e-8, "nanoseconds are seconds: {medians:?}");
    for attempt in &mut run.attempts {
        let mut few = Histogram::default();
        (0..200).for_each(|_| few.record(1_000));
        attempt.readings = vec![Reading::histogram("completion_time", few, Origin::Measured)];
    }
    assert_eq!(planned.findings(&run).comparisons, [], "no p99 from 200 samples");
}

#[test]
fn a_number_from_histograms_is_no_more_precise_than_their_buckets() {
    let planned = planned_study(
        r#"
        schema = "crosstalk.study/1"
        name = "synthetic"
        title = "Synthetic"
        looks = [12]
        [experiment.job]
        work.job = { kind = "command", argv = ["x"], nodes = 2 }
        conditions.fabric = "none"
        factors.n = [1, 2]
        [claim.short]
        statement = "It is short"
        experiment = "job"
        where = { n = 1 }
        threshold = { metric = "run_time" }
        expect = "< 1"
        "#,
    );
    let mut run = planned.run(12, 0.0, 1, &|_, _, _| 1.0);
    let mut seen = Histogram::default();
    (0..100).for_each(|_| seen.record(1_000_000));
    for attempt in &mut run.attempts {
        attempt.readings = vec![Reading::histogram("run_time", seen.clone(), Origin::Measured)];
    }
    let findings = planned.findings(&run);
    let found = claim(&findings, "short").found.expect("is known");
    let (low, high) = found.interval.expect("12 blocks have one");
    assert!(
        low <= 1e-3 && high > 1e-3 && (high - low) / 1e-3 > 0.003,
        "a bucket is 0.4 to 0.8 % wide: {found:?}"
    );
}

#[test]
fn a_run_in_which_every_attempt_failed_says_so_and_shows_no_tables() {
    let planned = planned_study(&to_toml(&command_study(1, &[], &["false".into()]).expect("is a study")));
    let mut run = planned.run(3, 0.0, 1, &|_, _, _| 1.0);
    assert_eq!(planned.findings(&run).tables.len(), 1);
    for attempt in &mut run.attempts {
        attempt.status = Status::Failed;
        attempt.failure = Some("node 0: it ended with exit code 1 (try: run it by hand)".into());
    }
    let findings = planned.findings(&run);
    let headline = &findings.headline;
    assert_eq!(
        headline.text,
        "`false` failed in all 3 attempts (node 0: it ended with exit code 1); nothing was measured"
    );
    assert_eq!((headline.context.as_str(), headline.decided), ("Try: run it by hand.", false));
    assert!(findings.tables.is_empty() && findings.run.nothing_was_measured());
    run.attempts[1].failure = Some("node 0: it was killed".into());
    assert!(planned.findings(&run).headline.text.contains("(the last: node 0: it ended with exit code 1)"));
    run.attempts.truncate(1);
    assert!(planned.findings(&run).headline.text.starts_with("`false` failed in its only attempt"));
}
