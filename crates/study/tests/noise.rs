//! What equal cells show, what follows for verdicts, and what is said of it.

use crate::mock;
use crate::synthetic;

use crate::synthetic::graph::GRAPH;
use crate::synthetic::{PlannedStudy, claim, is, planned_study};
use crosstalk_core::record::Observation;
use crosstalk_core::value::Levels;
use crosstalk_study::decide;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, Findings, NoiseFloor};
use crosstalk_study::samples::Run;

/// The study with one cell run twice, and with `more` in it.
fn with_equal_cells(more: &str) -> PlannedStudy {
    let equal_cells = r#"[experiment.same]
        title = "PageRank on one slave, twice"
        work.rank = { kind = "pagerank", slaves = "$slaves" }
        conditions = { system = "microblade", boards = "many" }
        factors = { aa = [1, 2], slaves = [1, 2] }
        compare = { factor = "aa", base = 1 }
        "#;
    planned_study(&GRAPH.replace("[figure.split]", &format!("{equal_cells}\n{more}\n[figure.split]")))
}

/// Equal cells differ by `noise`; KOSMOS takes `slower` times as long on any number of slaves.
fn run(planned: &PlannedStudy, blocks: usize, noise: f64, slower: f64) -> Run {
    planned.run(blocks, 0.005, 2, &|_, levels: &Levels, _| match levels.get("aa") {
        Some(level) => level.number().map_or(1.0, |n| 1.0 + noise * (n - 1.0)),
        None if is(levels, "system", "kosmos-srio") => slower,
        None => 1.0,
    })
}

fn floor<'a>(findings: &'a Findings, metric: &str) -> &'a NoiseFloor {
    findings.run.noise.iter().find(|noise| noise.metric == metric).expect("is reported")
}

#[test]
fn an_aa_measurement_sets_the_floor_and_compares_nothing() {
    let planned = with_equal_cells("");
    // Equal cells differ by 10 %: then 8 % between systems is nothing.
    let findings = planned.findings(&run(&planned, 24, 0.1, 1.08));
    let noise = floor(&findings, "completion_time");
    assert!(noise.floor.is_some_and(|floor| (0.10..0.12).contains(&floor)), "{noise:?}");
    assert_eq!(
        noise.cells,
        ["PageRank on one slave, twice: slaves 1", "PageRank on one slave, twice: slaves 2"]
    );
    assert_eq!((noise.blocks, noise.comparisons), (24, 2), "the blocks that the verdicts rest on");
    assert_eq!(findings.comparisons.len(), 2, "equal cells are not compared");
    assert_eq!(findings.comparisons[0].verdict, ComparisonVerdict::Equivalent);
    assert!(findings.headline.text.contains("equivalent within 10"), "{}", findings.headline.text);
    let tested = findings.comparisons[0].margin;
    assert!((0.10..0.12).contains(&tested), "the margin that was tested, not 1 %: {tested}");
}

#[test]
fn nothing_is_detectable_below_the_floor_of_its_metric() {
    let planned = with_equal_cells(
        r#"[experiment.wire]
        work.ping = { kind = "latency", size = "64 B" }
        conditions = { fabric = "$fabric" }
        factors = { fabric = ["ethernet-1g", "ethernet-2.5g", "ethernet-10g", "srio"] }
        compare = { factor = "fabric", base = "ethernet-1g" }"#,
    );
    let mut run = run(&planned, 24, 0.1, 1.4);
    // Round trips are alike to the last digit, and more comparisons than the others.
    for attempt in run.attempts.iter_mut().filter(|a| a.cell.experiment == "wire") {
        attempt.readings.iter_mut().for_each(|reading| reading.observation = Observation::Value(1e9));
    }
    let findings = planned.findings(&run);
    let (times, wire) = (floor(&findings, "completion_time"), floor(&findings, "round_trip"));
    let measured = times.floor.expect("was measured");
    let (least, most) = times.detectable.expect("is known");
    assert!(measured <= least && least <= most && least < 0.2, "{times:?}");
    assert_eq!(
        (wire.floor, wire.cells.len(), wire.comparisons),
        (None, 0, 3),
        "no equal round trips were measured"
    );
    assert_eq!(wire.margin, 0.005, "what was stated beforehand");
    assert!(wire.detectable.is_some_and(|(least, most)| least >= 0.005 && most < 0.006), "{wire:?}");
    for comparison in &findings.comparisons {
        let margin = floor(&findings, &comparison.metric).margin;
        assert!(comparison.detectable.is_some_and(|effect| effect >= margin - 1e-12), "{comparison:?}");
    }
}

#[test]
fn an_early_analysis_does_not_depend_on_later_noise() {
    let planned = with_equal_cells("");
    let mut run = run(&planned, 24, 0.1, 1.1);
    // The pair on one slave is quiet until after the first look, and the noisiest then.
    for attempt in run.attempts.iter_mut().filter(|a| a.cell.levels.contains_key("aa")) {
        if synthetic::number(&attempt.cell.levels, "slaves") == 1.0 {
            let second = synthetic::number(&attempt.cell.levels, "aa") == 2.0;
            let value = if second && attempt.block >= 12 { 3.0 } else { 1.0 };
            attempt.readings.iter_mut().for_each(|reading| reading.observation = Observation::Value(value));
        }
    }
    let mut early = run.clone();
    early.attempts.retain(|attempt| attempt.block < 12);
    let at_first = |run: &Run| decide(&planned.study, &mock::catalogues(), &planned.plan, run, 0);
    assert_eq!(at_first(&run), at_first(&early));
    assert!(!at_first(&run).stop, "10 % is neither beyond nor within a floor of 10 %");
}

#[test]
fn trends_and_orders_must_stand_beyond_the_floor_too() {
    let claims = r#"[claim.trend]
        statement = "More slaves take longer"
        experiment = "graph"
        where = { system = "microblade" }
        trend = { metric = "completion_time", along = "slaves" }
        expect = "> 0"
        [claim.order]
        statement = "Two slaves take longer than one"
        experiment = "graph"
        where = { system = "microblade" }
        order = { metric = "completion_time", factor = "slaves", ascending = [1, 2] }"#;
    let planned = with_equal_cells(claims);
    let verdicts = |noise: f64| {
        let run = planned.run(24, 0.005, 2, &|_, levels: &Levels, _| match levels.get("aa") {
            Some(level) => level.number().map_or(1.0, |n| 1.0 + noise * (n - 1.0)),
            None => 1.0 + 0.08 * (synthetic::number(levels, "slaves") - 1.0),
        });
        let findings = planned.findings(&run);
        ["trend", "order"].map(|name| claim(&findings, name).verdict)
    };
    assert_eq!(verdicts(0.0), [ClaimVerdict::Reproduced; 2]);
    assert_eq!(
        verdicts(0.1),
        [ClaimVerdict::NotReproduced; 2],
        "8 % is nothing where equal cells differ by 10 %"
    );
}
