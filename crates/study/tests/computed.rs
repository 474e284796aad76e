//! Experiments whose numbers follow from a model alone: one block, no intervals, verdicts by the number and its ranges.

use crate::synthetic::{PlannedStudy, claim, is, planned_study};
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::value::Levels;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, Findings};
use crosstalk_study::node_number::NodeNumber;
use crosstalk_study::plan::PlanOptions;
use crosstalk_study::ranged_parameter::RangedParameter;
use crosstalk_study::ranges::Ranges;
use crosstalk_study::samples::Run;
use crosstalk_study::uncertain::{Parameter, Uncertainty};
use crosstalk_study::{decide, parse, plan};

/// The mock `stream` is computed, `pagerank` is not.
const STUDY: &str = r#"
    schema = "crosstalk.study/1"
    title = "Streams"
    looks = [12, 24]
    [experiment.bandwidth]
    work.stream = { kind = "stream", size = "$size" }
    conditions = { system = "$system", boards = "many" }
    factors = { system = ["microblade", "kosmos-ethernet", "kosmos-srio"], size = ["64 B", "4 KiB"] }
    compare = { factor = "system", base = "microblade" }
    [experiment.graph]
    work.rank = { kind = "pagerank", slaves = 1 }
    conditions = { system = "$system", boards = "many" }
    factors = { system = ["microblade", "kosmos-srio"] }
    compare = { factor = "system", base = "microblade" }
    [figure.bandwidth]
    title = "Bandwidth"
    experiment = "bandwidth"
    kind = "lines"
    metric = "bandwidth"
    x = "size"
    series = "system"
    [claim.thrice]
    statement = "SRIO streams three times as fast"
    experiment = "bandwidth"
    where = { size = "4 KiB" }
    ratio = { metric = "bandwidth", of = { system = "kosmos-srio" }, to = { system = "microblade" } }
    published = 3.0
    margin = "5 %"
    [claim.set]
    statement = "Of the same, a calibration"
    experiment = "bandwidth"
    where = { size = "4 KiB" }
    ratio = { metric = "bandwidth", of = { system = "kosmos-srio" }, to = { system = "microblade" } }
    published = 3.0
    margin = "5 %"
    calibration = "fabric srio: G"
    [claim.behind]
    statement = "SRIO streams more slowly"
    experiment = "bandwidth"
    where = { size = "4 KiB" }
    ratio = { metric = "bandwidth", of = { system = "kosmos-srio" }, to = { system = "microblade" } }
    expect = "< 1"
    [claim.ascending]
    statement = "SRIO is the fastest network, Ethernet the slowest"
    experiment = "bandwidth"
    where = { size = "4 KiB" }
    order = { metric = "bandwidth", factor = "system", ascending = ["microblade", "kosmos-ethernet", "kosmos-srio"] }
"#;

/// What is true, times a factor of SRIO's bandwidth.
fn bandwidth(levels: &Levels, srio: f64) -> f64 {
    match levels.get("system").map(ToString::to_string).as_deref() {
        Some("kosmos-srio") => 3e9 * srio,
        Some("kosmos-ethernet") => 1.5e9,
        _ => 1e9,
    }
}

/// A run of 24 blocks; streams have numbers in the first alone, and no noise. SRIO's bandwidth has a range.
fn run(planned: &PlannedStudy, (low, high): (f64, f64)) -> Run {
    let truth =
        |_: &str, levels: &Levels, _: &str| if is(levels, "system", "kosmos-srio") { 0.5 } else { 1.0 };
    let mut run = planned.run(24, 0.005, 3, &truth);
    run.attempts.retain(|attempt| attempt.cell.experiment != "bandwidth" || attempt.block == 0);
    for attempt in run.attempts.iter_mut().filter(|attempt| attempt.cell.experiment == "bandwidth") {
        let value = bandwidth(&attempt.cell.levels, 1.0);
        attempt.readings = vec![Reading::value("bandwidth", value, Origin::Computed)];
    }
    let parameter = Parameter::Node { system: "srio".into(), number: NodeNumber::Speed };
    let name = parameter.to_string();
    let ranged = RangedParameter { name, value: 1.0, low, high, unit: String::new() };
    let mut uncertainty = Uncertainty::default();
    uncertainty.parameters.push((parameter, ranged.clone()));
    let mut ranges = Ranges::of(&uncertainty, 7);
    for cell in planned.plan.cells().filter(|cell| cell.id.experiment == "bandwidth") {
        let on = ranges.clusters.iter().map(|points| {
            let value = bandwidth(&cell.id.levels, ranged.at(points[0]));
            vec![Reading::value("bandwidth", value, Origin::Simulated)]
        });
        let on: Vec<_> = on.collect();
        ranges.add(cell.id.clone(), &on);
    }
    run.ranges = Some(ranges);
    run
}

fn judged(range: (f64, f64)) -> Findings {
    let planned = planned_study(STUDY);
    planned.findings(&run(&planned, range))
}

#[test]
fn it_runs_in_one_block_and_its_questions_share_no_error() {
    let planned = planned_study(STUDY);
    let [streams, graph] = &planned.plan.experiments[..] else { panic!("two experiments") };
    assert_eq!((streams.computed, streams.blocks), (true, Some(1)));
    assert_eq!((graph.computed, graph.blocks), (false, None));
    assert_eq!(planned.plan.questions, 1, "the comparison of graph analytics alone");
    let of = |block: usize, name: &str| {
        planned.plan.cells_in_order(block).iter().filter(|cell| cell.id.experiment == name).count()
    };
    assert_eq!((of(0, "bandwidth"), of(1, "bandwidth"), of(1, "graph")), (6, 0, 2));
    let run = run(&planned, (0.99, 1.01));
    let decision = decide(&planned.study, &crate::mock::catalogues(), &planned.plan, &run, 0);
    assert!(decision.stop && decision.why.contains("1 question"), "{decision:?}");
}

#[test]
fn comparisons_and_figures_have_numbers_without_intervals() {
    let findings = judged((0.99, 1.01));
    let of_streams = || findings.comparisons.iter().filter(|found| found.experiment == "bandwidth");
    assert_eq!(of_streams().count(), 4);
    for found in of_streams() {
        assert_eq!(found.verdict, ComparisonVerdict::Better, "{found:?}");
        assert_eq!((found.ratio.interval, found.ratio.n, found.origin), (None, 1, Origin::Computed));
        assert_eq!(found.detectable, None, "{found:?}");
    }
    let points: Vec<_> = findings.figures.iter().flat_map(|f| &f.series).flat_map(|s| &s.points).collect();
    assert!(!points.is_empty() && points.iter().all(|p| (p.y.interval, p.y.n) == (None, 1)), "{points:?}");
    assert!(findings.run.noise.iter().all(|floor| floor.metric != "bandwidth"), "{:?}", findings.run.noise);
}

#[test]
fn claims_are_decided_by_the_number_and_its_ranges() {
    let narrow = judged((0.99, 1.01));
    let verdict = |findings: &Findings, name: &str| claim(findings, name).verdict;
    assert_eq!(verdict(&narrow, "thrice"), ClaimVerdict::Reproduced, "{}", claim(&narrow, "thrice").why);
    assert_eq!(claim(&narrow, "thrice").found.map(|found| (found.interval, found.n)), Some((None, 1)));
    assert_eq!(verdict(&narrow, "set"), ClaimVerdict::Calibration);
    assert_eq!(verdict(&narrow, "behind"), ClaimVerdict::NotReproduced, "{}", claim(&narrow, "behind").why);
    assert_eq!(
        verdict(&narrow, "ascending"),
        ClaimVerdict::Reproduced,
        "{}",
        claim(&narrow, "ascending").why
    );
    for found in &narrow.claims {
        assert!(!found.why.contains("noise"), "it has none: {}", found.why);
    }
    let wide = judged((0.2, 1.01));
    assert_eq!(verdict(&wide, "ascending"), ClaimVerdict::DependsOn, "{}", claim(&wide, "ascending").why);
    assert_eq!(verdict(&wide, "behind"), ClaimVerdict::DependsOn, "{}", claim(&wide, "behind").why);
    assert!(
        claim(&wide, "thrice").why.contains("speed (it changes from about"),
        "{}",
        claim(&wide, "thrice").why
    );
}

#[test]
fn without_ranges_a_size_is_no_evidence_for_a_reason_that_is_true() {
    let planned = planned_study(STUDY);
    let run = Run { ranges: None, ..run(&planned, (0.99, 1.01)) };
    let findings = planned.findings(&run);
    let thrice = claim(&findings, "thrice");
    assert_eq!(thrice.verdict, ClaimVerdict::DirectionOnly, "{thrice:?}");
    assert!(thrice.why.contains("not replayed") && !thrice.why.contains("noise"), "{}", thrice.why);
}

#[test]
fn computed_cells_that_are_equal_measure_no_noise_and_are_refused() {
    let text = STUDY
        .replace(
            "system = [\"microblade\", \"kosmos-ethernet\", \"kosmos-srio\"]",
            "aa = [\"first\", \"second\"]",
        )
        .replacen("\"$system\"", "\"microblade\"", 1)
        .replacen("compare = { factor = \"system\", base = \"microblade\" }", "", 1);
    let text = text.split("[figure").next().expect("a head");
    let study = parse(text, "streams.toml").expect("reads");
    let fault = plan(&study, &crate::mock::catalogues(), &crate::mock::registry(), &PlanOptions::default())
        .expect_err("refused");
    let text = fault.to_string();
    assert!(text.contains("streams.toml:8") && text.contains("equal cells do not differ"), "{text}");
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("leave the experiment out")));
}
