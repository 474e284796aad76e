//! What is found beside verdicts: causes, figures, tables, warnings, the
//! stopping rule, and what does not count.

mod mock;
mod synthetic;

use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Origin, Reading, Status};
use crosstalk_core::value::Levels;
use crosstalk_study::findings::{ComparisonVerdict, FigureKind, Findings, Scale, TableCell};
use crosstalk_study::samples::Run;
use crosstalk_study::{Decision, bundled_study, decide, next_block};
use synthetic::{Made, claim, is, made, number};

/// PageRank on two systems; on KOSMOS it waits less and computes the same.
const GRAPH: &str = r#"
    schema = "crosstalk.study/1"
    name = "graph"
    title = "Graph"
    looks = [12, 24]
    remark = ["A contradiction."]
    [headline]
    experiment = "graph"
    level = "kosmos-srio"
    subject = "PageRank"
    [experiment.graph]
    work.rank = { kind = "pagerank", slaves = "$slaves" }
    conditions = { system = "$system", boards = "many" }
    factors = { system = ["microblade", "kosmos-srio"], slaves = [1, 2] }
    compare = { factor = "system", base = "microblade" }
    [figure.split]
    title = "Split"
    experiment = "graph"
    kind = "split"
    metric = "time"
    x = "slaves"
    series = "system"
    [figure.relative]
    title = "Relative"
    order = 1
    experiment = "graph"
    kind = "bars"
    metric = "completion_time"
    x = "slaves"
    series = "system"
    relative_to = { system = "kosmos-srio" }
    published = "kosmos/graph-analytics/over-kosmos/{system}/{slaves}"
    [figure.times]
    title = "Times"
    order = 2
    experiment = "graph"
    kind = "lines"
    metric = "completion_time"
    x = "slaves"
    series = "system"
    log = ["x", "y"]
    relative_to = { system = "kosmos-srio" }
    published = "kosmos/graph-analytics/completion-time/{system}/{slaves}"
    published_as = { kosmos-srio = "kosmos" }
    [table.times]
    title = "Times"
    experiment = "graph"
    metric = "completion_time"
    rows = "system"
    columns = "slaves"
    published = "kosmos/graph-analytics/completion-time/{system}/{slaves}"
"#;

/// Completion 2 s: 1 s computing, 1 s waiting at the busiest node, and on KOSMOS 0.2 s of waiting.
fn graph(blocks: usize) -> (Made, Run) {
    let made = made(GRAPH);
    let mut run = made
        .run(blocks, 0.01, 11, &|_, levels, _| if is(levels, "system", "kosmos-srio") { 1.2 } else { 2.0 });
    for attempt in &mut run.attempts {
        attempt.readings.retain(|r| r.metric == "completion_time");
        let whole = match attempt.readings[0].observation {
            crosstalk_core::record::Observation::Value(v) => v,
            _ => panic!("is a value"),
        };
        let waited = if is(&attempt.levels, "system", "kosmos-srio") { 0.2 / 1.2 } else { 0.5 };
        for (node, busy) in [(0, 0.1), (1, 1.0)] {
            let parts = [("time_compute", whole * (1.0 - waited) * busy), ("time_wait", whole * waited)];
            attempt.readings.extend(
                parts.map(|(metric, v)| Reading::value(metric, v, Origin::Emulated).label("node", node)),
            );
        }
    }
    (made, run)
}

#[test]
fn the_gain_is_shared_out_among_its_causes() {
    let (made, run) = graph(12);
    let findings = made.findings(&run);
    let comparison = &findings.comparisons[0];
    assert_eq!(comparison.verdict, ComparisonVerdict::Better);
    let total: f64 = comparison.causes.values().sum();
    assert!((total - 1.0).abs() < 1e-9, "{:?}", comparison.causes);
    assert!((comparison.causes["wait"] - 1.0).abs() < 0.1, "{:?}", comparison.causes);
    let text = &findings.headline.text;
    assert!(
        text.starts_with("kosmos-srio: 1.6") && text.contains(" × faster than microblade on PageRank (1."),
        "{text}"
    );
    assert!(text.ends_with("; all of the gain is network waiting"), "{text}");
    assert_eq!(findings.headline.command, "crosstalk run synthetic");
}

#[test]
fn figures_stand_beside_what_was_published() {
    let (made, run) = graph(12);
    let findings = made.findings(&run);
    let names: Vec<&str> = findings.figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["split", "relative", "times"], "in the order asked for");

    let split = &findings.figures[0];
    assert_eq!((split.kind, split.y.unit.as_str(), split.series.len()), (FigureKind::Stacked, "s", 4));
    let wait = split.series.iter().find(|s| s.group == "kosmos-srio" && s.name == "wait").expect("is drawn");
    assert!((wait.points[0].y.value - 0.2).abs() < 0.1, "at the busy node, not the idle one: {wait:?}");

    let relative = &findings.figures[1];
    assert_eq!((relative.kind, relative.y.unit.as_str()), (FigureKind::Bars, "ratio"));
    let published: Vec<_> = relative.series.iter().filter(|s| s.origin == Origin::Published).collect();
    assert_eq!((published.len(), published[0].name.as_str()), (1, "microblade"));
    let values: Vec<f64> = published[0].points.iter().map(|p| (p.y.value * 1000.0).round()).collect();
    assert_eq!(values, [1187.0, 1258.0], "changes in percent are ratios");

    let times = &findings.figures[2];
    assert_eq!((times.x.scale, times.y.scale), (Scale::Log, Scale::Log));
    let own = times
        .series
        .iter()
        .find(|s| s.name == "microblade" && s.origin == Origin::Emulated)
        .expect("is drawn");
    assert!((own.points[1].y.value - 2.0 / 1.2).abs() < 0.05 && own.points[1].x == Some(2.0), "{own:?}");
    let printed = times.series.iter().find(|s| s.name == "microblade" && s.origin == Origin::Published);
    assert!(
        (printed.expect("is drawn").points[1].y.value - 731.0 / 581.0).abs() < 1e-9,
        "over that of KOSMOS"
    );
}

#[test]
fn tables_say_what_was_not_run() {
    let (mut made, run) = graph(12);
    let cells = &mut made.plan.experiments[0].cells;
    cells
        .retain(|cell| !(is(&cell.levels, "system", "kosmos-srio") && number(&cell.levels, "slaves") == 2.0));
    let findings = made.findings(&run);
    let table = &findings.tables[0];
    assert_eq!(
        table.columns,
        ["system", "slaves 1", "slaves 1, published", "slaves 2", "slaves 2, published"]
    );
    let row = table.rows.iter().find(|r| r[0] == TableCell::Text("kosmos-srio".into())).expect("has a row");
    assert!(matches!(&row[1], TableCell::Number { unit, origin: Origin::Emulated, .. } if unit == "s"));
    assert_eq!(row[3], TableCell::Text("not run".into()));
    assert!(
        findings.warnings.iter().any(|w| w.starts_with("12 attempts of cells that the plan does not have"))
    );
}

#[test]
fn what_failed_or_is_not_faithful_does_not_count_and_is_told() {
    let (made, mut run) = graph(12);
    for attempt in run.attempts.iter_mut().filter(|a| a.block < 2 && is(&a.levels, "system", "microblade")) {
        if attempt.block == 0 {
            attempt.status = Status::Failed;
            attempt.reason = Some("node 1 is gone".into());
        } else {
            attempt.fidelity =
                Some(Fidelity { reasons: vec!["CPU contention".into()], ..Fidelity::default() });
        }
    }
    let findings = made.findings(&run);
    assert_eq!(findings.comparisons[0].ratio.n, 10, "only complete pairs");
    assert_eq!(findings.run.blocks, 12, "the blocks were gone through all the same");
    let cell = findings.cells.iter().find(|c| is(&c.levels, "system", "microblade")).expect("is planned");
    assert_eq!((cell.finished, cell.failed, cell.unfaithful), (10, 1, 1));
    assert_eq!(cell.reasons, ["node 1 is gone", "not faithful: CPU contention"]);
    let told = |text: &str| findings.warnings.iter().any(|w| w.contains(text));
    assert!(
        told("A contradiction.") && told("2 attempts of graph: node 1 is gone") && told("CPU contention")
    );
    assert_eq!(findings.run.attempts["not faithful"], 2);
}

#[test]
fn a_cell_that_is_never_faithful_gives_no_verdict() {
    let (made, mut run) = graph(12);
    for attempt in run.attempts.iter_mut().filter(|a| is(&a.levels, "system", "kosmos-srio")) {
        attempt.fidelity = Some(Fidelity { reasons: vec!["steal".into()], ..Fidelity::default() });
    }
    let findings = made.findings(&run);
    assert_eq!(findings.comparisons, []);
    assert!(!findings.headline.decided);
    assert!(
        findings.headline.text.contains("is not faithful in 12 of 12 blocks"),
        "{}",
        findings.headline.text
    );
}

#[test]
fn a_resumed_block_counts_once_and_as_a_whole() {
    let (made, mut run) = graph(12);
    // Block 11 was cut short after its first cell, which had said ten times as much.
    let mut early = run.attempts.iter().find(|a| a.block == 11).expect("is there").clone();
    early.readings = vec![Reading::value("completion_time", 20.0, Origin::Emulated)];
    for attempt in run.attempts.iter_mut().filter(|a| a.block == 11) {
        attempt.turn = 2;
    }
    let undisturbed = made.findings(&run).comparisons;
    let place = run.attempts.len() - 4;
    run.attempts.insert(place, early);
    assert_eq!(made.findings(&run).comparisons, undisturbed);
}

#[test]
fn attempts_that_were_tried_again_are_told() {
    let (made, mut run) = graph(12);
    let told = |run: &Run| made.findings(run).warnings.into_iter().find(|w| w.contains("tried again"));
    assert_eq!(told(&run), None);
    let mut again = run.attempts[0].clone();
    run.attempts[0].fidelity = Some(Fidelity { reasons: vec!["steal".into()], ..Fidelity::default() });
    again.turn = 2;
    run.attempts.push(again);
    let warning = told(&run).expect("is told");
    assert!(warning.starts_with("1 attempt that failed or was not faithful was tried again"), "{warning}");
    assert_eq!(made.findings(&run).comparisons[0].ratio.n, 12, "the second try counts");
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
    let made = made(&text);
    let mut run = made.run(12, 0.01, 11, &|_, _, _| 1.0);
    for attempt in run.attempts.iter_mut().filter(|a| is(&a.levels, "system", "kosmos-srio")) {
        attempt.readings.iter_mut().for_each(|r| r.origin = Origin::Measured);
    }
    let warnings = made.findings(&run).warnings;
    let told = |what: &str| {
        warnings.iter().any(|w| w.starts_with(what) && w.ends_with("origin: measured and emulated"))
    };
    assert!(told("completion_time: kosmos-srio over microblade"), "{warnings:?}");
    assert!(told("claim faster"), "{warnings:?}");
}

#[test]
fn blocks_are_complete_without_a_cell_that_was_given_up() {
    let (made, mut run) = graph(12);
    let gone = run.attempts[0].levels.clone();
    run.attempts.retain(|a| a.levels != gone || a.block < 3);
    for attempt in run.attempts.iter_mut().filter(|a| a.levels == gone) {
        attempt.status = Status::Failed;
    }
    assert_eq!(made.findings(&run).run.blocks, 12);
    assert_eq!(next_block(&made.plan, &run), 12);
    // One that failed less often is waited for.
    run.attempts.retain(|a| a.levels != gone || a.block < 2);
    assert_eq!(next_block(&made.plan, &run), 11);
}

#[test]
fn a_ratio_needs_numbers_above_zero() {
    let (made, mut run) = graph(12);
    for attempt in run.attempts.iter_mut().filter(|a| is(&a.levels, "system", "kosmos-srio")) {
        attempt.readings = vec![Reading::value("completion_time", 0.0, Origin::Emulated)];
    }
    let findings = made.findings(&run);
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
    let made = made(&text);
    for attempt in &mut run.attempts {
        let tail = if is(&attempt.levels, "system", "kosmos-srio") { 2_000 } else { 8_000 };
        let mut histogram = Histogram::default();
        (0..1000).for_each(|i| histogram.record(if i < 985 { 1_000 } else { tail + attempt.block as u64 }));
        attempt.readings = vec![Reading::histogram("completion_time", histogram, Origin::Measured)];
    }
    let findings = made.findings(&run);
    assert!((findings.comparisons[0].ratio.value - 0.25).abs() < 0.01, "{:?}", findings.comparisons[0].ratio);
    let medians = &findings.cells[0].metrics["completion_time"];
    assert!((medians.value - 1e-6).abs() < 1e-8, "nanoseconds are seconds: {medians:?}");
    for attempt in &mut run.attempts {
        let mut few = Histogram::default();
        (0..200).for_each(|_| few.record(1_000));
        attempt.readings = vec![Reading::histogram("completion_time", few, Origin::Measured)];
    }
    assert_eq!(made.findings(&run).comparisons, [], "no p99 from 200 samples");
}

#[test]
fn an_a_a_measurement_sets_the_floor_and_asks_nothing() {
    let text = GRAPH.replace(
        "[figure.split]",
        r#"[experiment.same]
        work.rank = { kind = "pagerank", slaves = 1 }
        conditions = { system = "microblade", boards = "many" }
        factors = { aa = [1, 2] }
        compare = { factor = "aa", base = 1 }
        [figure.split]"#,
    );
    let made = made(&text);
    // Equal cells differ by 10 %: then 8 % between systems is nothing.
    let run = made.run(24, 0.005, 2, &|_, levels: &Levels, _| match levels.get("aa") {
        Some(level) => level.number().map_or(1.0, |n| 1.0 + 0.1 * (n - 1.0)),
        None if is(levels, "system", "kosmos-srio") => 1.08,
        None => 1.0,
    });
    let findings = made.findings(&run);
    let floor = findings.run.noise_floor.expect("was measured");
    assert!((0.10..0.12).contains(&floor), "{floor}");
    assert_eq!(findings.comparisons.len(), 2, "equal cells are not compared");
    assert_eq!(findings.comparisons[0].verdict, ComparisonVerdict::Equivalent);
    assert!(findings.headline.text.contains("no difference beyond 10"), "{}", findings.headline.text);
}

#[test]
fn a_factor_that_is_optimised_away_stands_at_its_best() {
    let text = r#"
        schema = "crosstalk.study/1"
        name = "hpl"
        title = "HPL"
        looks = [24]
        [experiment.hpl]
        work.hpl = { kind = "hpl", n = 8000, block = "$block", nodes = 4 }
        conditions.fabric = "$fabric"
        factors = { fabric = ["ethernet-1g", "ethernet-10g"], block = { levels = [64, 128], best = true } }
        compare = { factor = "fabric", base = "ethernet-1g" }
    "#;
    let made = made(text);
    let run = made.run(24, 0.01, 4, &|_, levels, _| match (
        is(levels, "fabric", "ethernet-10g"),
        number(levels, "block") as i64,
    ) {
        (true, 64) => 120.0,
        (true, _) => 90.0,
        (false, 64) => 50.0,
        (false, _) => 100.0,
    });
    let findings = made.findings(&run);
    assert_eq!(findings.comparisons.len(), 1, "the best block sizes, not each");
    assert!((findings.comparisons[0].ratio.value - 1.2).abs() < 0.02, "{:?}", findings.comparisons[0].ratio);
    assert!(findings.headline.text.contains("more flops"), "{}", findings.headline.text);
}

#[test]
fn the_runner_stops_when_all_is_decided_or_the_budget_is_used_up() {
    let (made, run) = graph(24);
    let catalogues = mock::catalogues();
    let at = |run: &Run, look: usize| decide(&made.study, &catalogues, &made.plan, run, look);
    assert_eq!(
        at(&run, 0),
        Decision { stop: true, why: "all of 2 questions decided after 12 blocks".into() }
    );
    let noisy = made.run(24, 0.3, 1, &|_, _, _| 1.0);
    let first = at(&noisy, 0);
    assert!(!first.stop && first.why == "2 of 2 questions not decided after 12 blocks", "{first:?}");
    let last = at(&noisy, 1);
    assert!(last.stop && last.why.starts_with("the budget of 24 blocks is used up; 2 of 2"), "{last:?}");
    let findings = made.findings(&noisy);
    assert_eq!(findings.run.ended, "the budget of 24 blocks was used up");
    assert!(findings.run.detectable.is_some_and(|effect| effect > 0.1));
    assert!(made.findings(&graph(12).1).run.ended.starts_with("stopped at look 1 of 2 (12 blocks)"));
    assert!(made.findings(&graph(5).1).run.ended.starts_with("ended after 5 of 24 blocks"));
}

#[test]
fn too_much_asked_of_too_few_blocks_is_said_beforehand() {
    let (mut made, run) = graph(4);
    made.plan.looks = vec![4];
    let findings = made.findings(&run);
    assert!(
        findings
            .warnings
            .iter()
            .any(|w| w.contains("4 blocks planned cannot decide 2 questions: at least 7 can")),
        "{:?}",
        findings.warnings
    );
}

#[test]
fn sources_name_calibrations() {
    let (made, run) = graph(1);
    let sources = made.findings(&run).sources;
    assert!(sources.iter().any(|s| s.what.starts_with("fabric srio: ") && s.calibration));
    assert!(sources.iter().any(|s| s.what.starts_with("system microblade: ")));
    assert!(!sources.iter().any(|s| s.what.starts_with("system moonshot")), "only what was used");
}

#[test]
fn the_bundled_study_says_what_its_quick_run_left_out() {
    let options = crosstalk_study::PlanOptions { quick: true, ..Default::default() };
    let made = synthetic::with_options(bundled_study("kosmos").expect("is bundled"), &options);
    let run = made.run(12, 0.01, 9, &|experiment, levels, metric| {
        let srio = is(levels, "system", "kosmos-srio");
        match (experiment, metric) {
            ("bandwidth", _) if srio => 3e9,
            ("bandwidth", _) => 1e9,
            ("aa", "completion_time") => 1.4 / 6.0,
            (_, "completion_time") => (if srio { 1.0 } else { 1.4 }) / number(levels, "slaves"),
            _ => 0.5,
        }
    });
    let findings = made.findings(&run);
    assert!(findings.run.noise_floor.is_some_and(|floor| floor < 0.03), "{:?}", findings.run.noise_floor);
    use crosstalk_study::findings::ClaimVerdict::{Calibration, NotRun, Reproduced};
    assert_eq!(claim(&findings, "graph-microblade-6").verdict, Reproduced);
    assert_eq!(claim(&findings, "graph-microblade-2").verdict, NotRun);
    assert_eq!(claim(&findings, "srio-ahead-at-4096").verdict, Calibration);
    assert_eq!(claim(&findings, "graph-speeds-up").verdict, Reproduced);
    let sentence = &findings.headline.text;
    assert!(sentence.starts_with("kosmos-srio: 1.4"), "{sentence}");
    assert!(
        sentence.contains(" × faster than microblade on PageRank on 1 master and 6 slaves (1."),
        "{sentence}"
    );
    let text = serde_json::to_string(&findings).expect("writes");
    let read: Findings = serde_json::from_str(&text).expect("reads");
    assert_eq!((read.headline, read.figures.len()), (findings.headline.clone(), findings.figures.len()));
}
