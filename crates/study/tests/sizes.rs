//! Findings about sizes: margins of equivalence, sizes that a model made, and computed ones.

use crate::synthetic::{PlannedStudy, claim, is, planned_study};
use crosstalk_core::record::Origin;
use crosstalk_core::value::Levels;
use crosstalk_stats::proportion;
use crosstalk_study::decide;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, Findings};
use crosstalk_study::samples::Run;

const STUDY: &str = r#"
    schema = "crosstalk.study/1"
    title = "What may be said of a size"
    looks = [12, 24]
    [experiment.graph]
    work.rank = { kind = "pagerank", slaves = "$slaves" }
    conditions = { system = "$system", boards = "many" }
    factors = { system = ["microblade", "kosmos-srio"], slaves = [1] }
    compare = { factor = "system", base = "microblade", margin = "2 %" }
    [figure.times]
    title = "Times"
    experiment = "graph"
    kind = "bars"
    metric = "completion_time"
    x = "slaves"
    series = "system"
    [claim.half]
    statement = "KOSMOS takes half the time"
    experiment = "graph"
    ratio = { metric = "completion_time", of = { system = "kosmos-srio" }, to = { system = "microblade" } }
    published = 0.5
    margin = "10 %"
"#;

/// `kosmos-srio` takes `ratio` times as long.
fn run(planned: &PlannedStudy, blocks: usize, noise: f64, seed: u64, ratio: f64) -> Run {
    planned.run(blocks, noise, seed, &|_, levels: &Levels, _| {
        if is(levels, "system", "kosmos-srio") { ratio } else { 1.0 }
    })
}

fn of_origin(mut run: Run, origin: Origin) -> Run {
    let readings = run.attempts.iter_mut().flat_map(|attempt| &mut attempt.readings);
    readings.for_each(|reading| reading.origin = origin);
    run
}

/// Without the claim, whose size would be asked with the comparison.
fn compared() -> PlannedStudy {
    planned_study(STUDY.split("[claim.half]").next().expect("a head"))
}

#[test]
fn equal_levels_are_equivalent_within_the_margin_and_end_the_run() {
    let planned = compared();
    let run = run(&planned, 12, 0.006, 3, 1.0);
    let decision = decide(&planned.study, &crate::mock::catalogues(), &planned.plan, &run, 0);
    assert!(decision.stop, "{decision:?}");
    let found = &planned.findings(&run).comparisons[0];
    assert_eq!(found.verdict, ComparisonVerdict::Equivalent);
    assert!((found.margin - 0.02).abs() < 1e-9, "{found:?}");
    let largest = found.largest.expect("has an interval");
    assert!((0.001..0.02).contains(&largest), "{found:?}");
    assert!(found.change.starts_with("no difference larger than "), "{found:?}");
    assert!(!found.change.contains("noise alone"), "measured: {found:?}");
    let findings = planned.findings(&of_origin(run, Origin::Emulated));
    let (found, sentence) = (&findings.comparisons[0], &findings.headline.text);
    assert_eq!(found.verdict, ComparisonVerdict::Equivalent);
    for said in [&found.change, sentence] {
        assert!(said.contains("of this machine's noise alone"), "{said}");
    }
}

#[test]
fn a_claim_shares_the_question_of_a_comparison_only_where_margins_are_equal() {
    let text = STUDY.replace("published = 0.5\n    margin = \"10 %\"", "expect = \"< 1\"");
    let judged = |text: &str| {
        let planned = planned_study(text);
        let findings = planned.findings(&run(&planned, 24, 0.002, 3, 1.0));
        let why = claim(&findings, "half").why.clone();
        (planned.plan.questions, findings.comparisons[0].margin, why)
    };
    let (questions, within, why) = judged(&text);
    assert_eq!(questions, 2);
    assert!((within - 0.02).abs() < 1e-9 && why.contains("no difference beyond 1 %"), "{within}: {why}");
    let (questions, within, why) = judged(&text.replace(", margin = \"2 %\"", ""));
    assert_eq!(questions, 1);
    assert!((within - 0.01).abs() < 1e-9 && why.contains("no difference beyond 1 %"), "{within}: {why}");
}

#[test]
fn a_difference_just_outside_the_margin_is_called_equivalent_in_at_most_one_study_of_twenty() {
    let planned = compared();
    let equivalent = |seed: &u64| {
        let findings = planned.findings(&run(
            &planned,
            24,
            0.01,
            500 + seed,
            if seed.is_multiple_of(2) { 1.0205 } else { 1.0 / 1.0205 },
        ));
        findings.comparisons[0].verdict == ComparisonVerdict::Equivalent
    };
    let wrong = (0..300).filter(equivalent).count() as u64;
    let share = proportion::estimate(wrong, 300, 0.05).expect("studies were run");
    assert!(share.point <= 0.05, "{share:?}");
}

#[test]
fn a_size_that_a_model_made_is_no_evidence_and_says_so() {
    let planned = planned_study(STUDY);
    let run = run(&planned, 24, 0.01, 7, 0.5);
    let verdict = |origin: Origin| {
        let findings = planned.findings(&of_origin(run.clone(), origin));
        let half = claim(&findings, "half").clone();
        assert_eq!(half.size_agrees, Some(true), "{half:?}");
        (half.verdict, half.why, findings.headline.text)
    };
    let (measured, why, sentence) = verdict(Origin::Measured);
    assert_eq!(measured, ClaimVerdict::Reproduced, "{why}");
    assert!(!sentence.contains("on this host's cores"), "{sentence}");
    for origin in [Origin::Emulated, Origin::Simulated, Origin::Predicted, Origin::Computed] {
        let (verdict, why, _) = verdict(origin);
        assert_eq!(verdict, ClaimVerdict::DirectionOnly, "{origin:?}: {why}");
        assert!(why.contains("parameters, over whose ranges this was not replayed"), "{why}");
    }
    let (.., sentence) = verdict(Origin::Emulated);
    assert!(sentence.contains(", emulated on this host's cores"), "{sentence}");
}

#[test]
fn a_refuted_size_is_reported_even_where_the_direction_is_undecided() {
    let text =
        STUDY.replace("published = 0.5\n    margin = \"10 %\"", "published = 0.84\n    margin = \"5 %\"");
    let planned = planned_study(&text);
    let findings = planned.findings(&run(&planned, 24, 0.06, 11, 1.0));
    let open = claim(&findings, "half");
    assert_eq!((open.verdict, open.size_agrees), (ClaimVerdict::Inconclusive, Some(false)), "{open:?}");
    assert!(
        open.why.contains("its size differs by more than 5 %")
            && open.why.contains("direction is not decided")
    );
}

#[test]
fn a_computed_number_counts_once_and_has_no_interval() {
    let planned = compared();
    // The same in each block.
    let mut run = of_origin(run(&planned, 24, 0.0, 1, 0.5), Origin::Computed);
    let first: Vec<_> = run
        .attempts
        .iter()
        .filter(|a| a.block == 0)
        .map(|a| (a.cell.levels.clone(), a.readings.clone()))
        .collect();
    for attempt in &mut run.attempts {
        attempt.readings =
            first.iter().find(|(levels, _)| *levels == attempt.cell.levels).expect("is there").1.clone();
    }
    let findings: Findings = planned.findings(&run);
    let found = &findings.comparisons[0];
    assert_eq!((found.origin, found.ratio.interval, found.ratio.n), (Origin::Computed, None, 1));
    assert_eq!(found.change, "2.00 × faster than microblade");
    let sentence = &findings.headline.text;
    assert!(
        sentence.contains("2.00 × faster than microblade, computed from the fabrics' parameters"),
        "{sentence}"
    );
    assert!(
        findings.headline.context.starts_with("For 2 nodes"),
        "no runs are counted: {}",
        findings.headline.context
    );
    let points: Vec<_> = findings.figures.iter().flat_map(|f| &f.series).flat_map(|s| &s.points).collect();
    assert!(!points.is_empty() && points.iter().all(|p| (p.y.interval, p.y.n) == (None, 1)), "{points:?}");
}
