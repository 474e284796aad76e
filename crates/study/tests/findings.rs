//! What is found beside verdicts: causes, the best level, the stopping rule,
//! sources, and what a quick run leaves out.

mod mock;
mod synthetic;

use crosstalk_study::findings::{ComparisonVerdict, Findings};
use crosstalk_study::samples::Run;
use crosstalk_study::{Decision, bundled_study, decide};
use synthetic::graph::graph;
use synthetic::{claim, is, made, number};

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
    assert!(
        findings.run.noise[0].detectable.is_some_and(|(least, _)| least > 0.1),
        "{:?}",
        findings.run.noise
    );
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
            ("aa-bandwidth", _) => 1e9,
            ("aa", "completion_time") => 1.4 / 6.0,
            (_, "completion_time") => (if srio { 1.0 } else { 1.4 }) / number(levels, "slaves"),
            _ => 0.5,
        }
    });
    let findings = made.findings(&run);
    let unmeasured: Vec<_> = findings.run.noise.iter().filter(|noise| noise.floor.is_none()).collect();
    assert!(unmeasured.is_empty(), "every metric that is asked about has its equal cells: {unmeasured:?}");
    assert!(findings.run.noise.iter().all(|noise| noise.floor < Some(0.03)), "{:?}", findings.run.noise);
    use crosstalk_study::findings::ClaimVerdict::{Calibration, NotRun, Reproduced};
    assert_eq!(claim(&findings, "graph-microblade-6").verdict, Reproduced);
    assert_eq!(claim(&findings, "graph-microblade-2").verdict, NotRun);
    assert_eq!(claim(&findings, "srio-ahead-at-4096").verdict, Calibration);
    assert_eq!(claim(&findings, "graph-speeds-up").verdict, Reproduced);
    let sentence = &findings.headline.text;
    let told: f64 =
        sentence["kosmos-srio: ".len()..].split(' ').next().and_then(|n| n.parse().ok()).expect("a factor");
    assert!((told - 1.4).abs() < 0.03, "{sentence}");
    assert!(
        sentence.contains(" × faster than microblade on PageRank on 1 master and 6 slaves (1."),
        "{sentence}"
    );
    let text = serde_json::to_string(&findings).expect("writes");
    let read: Findings = serde_json::from_str(&text).expect("reads");
    assert_eq!((read.headline, read.figures.len()), (findings.headline.clone(), findings.figures.len()));
}
