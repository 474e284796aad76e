//! Findings other than verdicts: causes, the best level, the stopping rule, sources, and what a quick run leaves out.

use crate::mock;

use crate::synthetic::graph::{GRAPH, graph, graph_and};
use crate::synthetic::{claim, is, number, planned_study, with_options};
use crosstalk_core::record::Observation;
use crosstalk_core::units::Bytes;
use crosstalk_study::findings::{ComparisonVerdict, Findings};
use crosstalk_study::plan::{Place, PlanOptions};
use crosstalk_study::samples::Run;
use crosstalk_study::{Decision, bundled_study, decide};

#[test]
fn the_gain_is_attributed_to_its_causes() {
    let (planned, run) = graph(12);
    let findings = planned.findings(&run);
    let comparison = &findings.comparisons[0];
    assert_eq!(comparison.verdict, ComparisonVerdict::Better);
    let total: f64 = comparison.causes.values().sum();
    assert!((total - 1.0).abs() < 1e-9, "{:?}", comparison.causes);
    assert!((comparison.causes["wait"] - 1.0).abs() < 0.1, "{:?}", comparison.causes);
    let text = &findings.headline.text;
    assert!(text.starts_with("kosmos-srio: 1.6") && text.contains(" × faster than microblade (1."), "{text}");
    assert!(text.ends_with("; all of the difference is waiting for the network"), "{text}");
    assert_eq!(findings.headline.command, "crosstalk run synthetic");
}

/// Claims about the same cells, and one that asks for no ratio of times.
const CLAIMS: &str = r#"
    [claim.slower]
    statement = "MicroBlade is slower"
    experiment = "graph"
    where = { slaves = 2 }
    ratio = { metric = "completion_time", of = { system = "microblade" }, to = { system = "kosmos-srio" } }
    expect = "> 1"
    [claim.fewer-slaves]
    statement = "One slave takes as long as two"
    experiment = "graph"
    where = { system = "microblade" }
    ratio = { metric = "completion_time", of = { slaves = 1 }, to = { slaves = 2 } }
    published = 1
    margin = "5 %"
    [claim.anywhere]
    statement = "KOSMOS is faster with any number of slaves"
    experiment = "graph"
    ratio = { metric = "completion_time", of = { system = "kosmos-srio" }, to = { system = "microblade" } }
    expect = "< 1"
    [claim.falling]
    statement = "It speeds up"
    experiment = "graph"
    where = { system = "microblade" }
    trend = { metric = "completion_time", along = "slaves" }
    expect = "< 0"
"#;

#[test]
fn percentage_points_say_where_the_extra_time_goes() {
    let (planned, run) = graph_and(CLAIMS, 12);
    let findings = planned.findings(&run);
    let comparison = &findings.comparisons[0];
    assert!(comparison.ratio.value < 1.0, "KOSMOS takes less, and yet MicroBlade is the one with more");
    let known = comparison.attribution.as_ref().expect("is decided and known");
    assert_eq!((known.slower.as_str(), known.faster.as_str()), ("microblade", "kosmos-srio"));
    assert_eq!(known.extra, ((1.0 / comparison.ratio.value - 1.0) * 100.0).round());
    assert_eq!(known.points.values().sum::<f64>(), known.extra, "{known:?}");
    assert!((known.points["wait"] - known.extra).abs() < 7.0, "{known:?}");
    assert!(
        known.text.starts_with("microblade takes longer") && known.text.contains(" waiting for the network"),
        "{known:?}"
    );

    let slower = claim(&findings, "slower");
    let other = findings.comparisons.iter().find(|c| number(&c.at, "slaves") == 2.0).expect("is compared");
    assert_eq!(slower.attribution, other.attribution, "the same cells, the other way round");
    let unknown = ["fewer-slaves", "anywhere", "falling"];
    assert!(unknown.iter().all(|name| claim(&findings, name).attribution.is_none()), "{findings:?}");
}

#[test]
fn nothing_is_attributed_to_a_difference_that_is_none() {
    let (planned, mut run) = graph_and(CLAIMS, 12);
    let decided = |run: &Run| {
        let findings = planned.findings(run);
        let claims = findings.claims.iter().filter(|claim| claim.attribution.is_some()).count();
        claims + findings.comparisons.iter().filter(|c| c.attribution.is_some()).count()
    };
    assert_eq!(decided(&run), 3);
    let equal = planned.run(12, 0.3, 3, &|_, _, _| 1.0);
    for (attempt, noise) in run.attempts.iter_mut().zip(equal.attempts) {
        attempt.readings.retain(|r| r.metric != "completion_time");
        attempt.readings.extend(noise.readings.into_iter().filter(|r| r.metric == "completion_time"));
    }
    assert_eq!(decided(&run), 0, "noise has no causes");
}

#[test]
fn a_part_that_is_no_more_than_noise_has_no_share() {
    let (planned, mut run) = graph_and(CLAIMS, 12);
    // Waiting is alternately longer and shorter by 3 s, and the whole stays the same: a part that is noise alone.
    for attempt in run.attempts.iter_mut().filter(|attempt| is(&attempt.cell.levels, "system", "microblade"))
    {
        let off = if attempt.block % 2 == 0 { 3.0 } else { -3.0 };
        for reading in attempt.readings.iter_mut().filter(|reading| reading.metric == "time_wait") {
            let Observation::Value(waited) = &mut reading.observation else { panic!("is a value") };
            *waited += off;
        }
    }
    let findings = planned.findings(&run);
    let comparison = &findings.comparisons[0];
    assert_eq!(comparison.verdict, ComparisonVerdict::Better, "the whole is as clear as it was");
    let known = comparison.attribution.as_ref().expect("is known");
    assert!(!known.text.contains("waiting") && !known.percents.contains_key("wait"), "{known:?}");
    assert!(!findings.headline.text.contains("waiting"), "{}", findings.headline.text);
}

#[test]
fn a_factor_of_pairs_that_differs_from_the_quotient_of_both_times_says_so() {
    let (planned, mut run) = graph(12);
    let says =
        |run: &Run| planned.findings(run).headline.context.contains("the factor is of the runs pair by pair");
    // Blocks twice as slow as others, and the base alone slower in them by far: the pairs' median is that of neither
    // side's.
    assert!(!says(&planned.run(12, 1e-6, 11, &|_, levels, _| if is(levels, "system", "kosmos-srio") {
        1.2
    } else {
        2.0
    })));
    for attempt in &mut run.attempts {
        let slow = match (attempt.block % 3, is(&attempt.cell.levels, "system", "kosmos-srio")) {
            (0, _) => 1.0,
            (1, true) => 1.0,
            (1, false) => 8.0,
            (_, true) => 9.0,
            (_, false) => 9.0,
        };
        for reading in &mut attempt.readings {
            if let Observation::Value(time) = &mut reading.observation {
                *time *= slow;
            }
        }
    }
    assert!(says(&run), "{:?}", planned.findings(&run).headline);
}

#[test]
fn waiting_may_be_for_a_slower_node() {
    // The same effects, with half as much memory, another library, or more ranks on one side.
    type Change = fn(&mut Option<Bytes>, &mut Option<String>, &mut u32);
    let changes: [Change; 3] = [
        |memory, _, _| *memory = Some(Bytes(1 << 32)),
        |_, mpi, _| *mpi = Some("mvapich-0.9.4".into()),
        |_, _, ranks| *ranks = 2,
    ];
    for change in changes {
        let (mut planned, run) = graph(12);
        for cell in &mut planned.plan.experiments[0].cells {
            if let Place::Virtual { memory, mpi, ranks, .. } = &mut cell.scene.place
                && is(&cell.id.levels, "system", "kosmos-srio")
            {
                change(memory, mpi, ranks);
            }
        }
        let findings = planned.findings(&run);
        let known = findings.comparisons[0].attribution.as_ref().expect("is decided and known");
        assert!(known.text.contains("waiting") && !known.text.contains("for the network"), "{known:?}");
        let text = &findings.headline.text;
        assert!(text.ends_with("; all of the difference is waiting"), "{text}");
    }
}

#[test]
fn findings_of_before_attributions_still_open() {
    let (planned, run) = graph(12);
    let mut written = serde_json::to_value(planned.findings(&run)).expect("writes");
    for kind in ["comparisons", "claims"] {
        for one in written[kind].as_array_mut().expect("is a list") {
            one.as_object_mut().expect("is an object").remove("attribution");
        }
    }
    let read: Findings = serde_json::from_value(written).expect("reads");
    assert!(read.comparisons.iter().all(|c| c.attribution.is_none() && !c.causes.is_empty()));
}

#[test]
fn the_subject_is_named_whatever_level_is_compared() {
    let (mut planned, run) = graph(12);
    let headline = planned.study.headline.as_mut().expect("has a headline");
    headline.level = "a level that --set left out".into();
    let text = planned.findings(&run).headline.text;
    assert!(text.contains(") on PageRank;"), "{text}");
}

/// Work that only very much background work slows down. The study names no comparison for the deciding sentence.
const OPEN_FIRST: &str = r#"
    schema = "crosstalk.study/1"
    name = "shared"
    title = "Work on a shared machine"
    looks = [12]
    [experiment.owner]
    work.job = { kind = "command", argv = ["job", "$background"], nodes = 1 }
    conditions.fabric = "$fabric"
    factors = { background = [0, 1, 50, 100], fabric = ["ethernet-1g", "ethernet-10g"] }
    compare = { factor = "background", base = 0, metric = "run_time" }
"#;

#[test]
fn an_undecided_first_comparison_yields_to_the_largest_decided_effect() {
    let planned = planned_study(OPEN_FIRST);
    let truth = |noise: f64, effects: [f64; 2]| {
        let run = planned.run(12, noise, 5, &|_, levels, _| match number(levels, "background") as i64 {
            50 => effects[0],
            100 if is(levels, "fabric", "ethernet-1g") => effects[1],
            _ => 1.0,
        });
        planned.findings(&run).headline
    };
    let headline = truth(0.02, [0.6, 2.5]);
    assert!(headline.decided, "{}", headline.text);
    assert!(
        headline.text.starts_with("background 100: 2.4") || headline.text.starts_with("background 100: 2.5"),
        "{}",
        headline.text
    );
    assert!(headline.text.contains(" × slower than background 0 (2."), "{}", headline.text);
    assert!(
        headline
            .text
            .ends_with(") at fabric ethernet-1g; the largest of 3 that are decided, of 6 comparisons"),
        "{}",
        headline.text
    );
    let less = truth(0.02, [0.3, 2.5]);
    assert!(
        less.text.starts_with("background 50: 3.3"),
        "3.3 × faster is more than 2.5 × slower: {}",
        less.text
    );
    let none = truth(0.3, [1.0, 1.0]);
    assert!(!none.decided && none.text.starts_with("background 1 against background 0: "), "{}", none.text);
}

#[test]
fn the_headline_is_about_the_named_comparison_even_where_it_is_undecided() {
    let named = r#"
    [headline]
    experiment = "owner"
    level = 1
    at = { fabric = "ethernet-1g" }
    "#;
    let planned = planned_study(&format!("{OPEN_FIRST}{named}"));
    let run =
        planned.run(12, 0.02, 5, &|_, levels, _| if number(levels, "background") > 1.0 { 2.0 } else { 1.0 });
    let headline = planned.findings(&run).headline;
    assert!(
        !headline.decided
            && headline.text.starts_with("background 1 against background 0: undecided after 12 blocks"),
        "{}",
        headline.text
    );
}

#[test]
fn the_study_may_name_its_base() {
    let (mut planned, run) = graph(12);
    planned.study.headline.as_mut().expect("has a headline").base = "on the old machine".into();
    let text = planned.findings(&run).headline.text;
    assert!(text.contains(" × faster than on the old machine (1."), "{text}");
}

#[test]
fn only_remarks_on_experiments_of_the_run_are_reported() {
    let more = r#"
    [quick]
    looks = [6]
    [quick.experiment.graph]
    slaves = [1]
    [experiment.left-out]
    remark = ["Nobody asked."]
    work.rank = { kind = "pagerank", slaves = "$slaves" }
    conditions = { system = "microblade", boards = "many" }
    factors = { slaves = [1, 2] }
    "#;
    let warnings = |quick: bool| {
        let planned =
            with_options(&format!("{GRAPH}{more}"), &PlanOptions { quick, ..PlanOptions::default() });
        planned.findings(&planned.run(6, 0.01, 5, &|_, _, _| 1.0)).warnings
    };
    let remark = "left-out: Nobody asked.".to_string();
    assert!(warnings(false).contains(&remark) && !warnings(true).contains(&remark));
    assert!(warnings(true).contains(&"graph: Not as printed.".to_string()));
}

#[test]
fn a_program_may_wait_for_other_things_than_the_network() {
    let headline = |factor: &str, levels: &str, base: &str, argv: &str, place: &str| {
        let planned = planned_study(&format!(
            r#"
            schema = "crosstalk.study/1"
            name = "job"
            title = "Job"
            looks = [12]
            [experiment.command]
            work.command = {{ kind = "command", argv = {argv}, nodes = 2 }}
            conditions = {{ fabric = "{place}" }}
            factors = {{ {factor} = {levels} }}
            compare = {{ factor = "{factor}", base = "{base}", metric = "run_time" }}
            "#
        ));
        let mut run = planned.run(12, 0.01, 5, &|_, levels, metric| {
            let whole = if is(levels, factor, base) { 2.0 } else { 1.0 };
            if metric == "time_compute" { 0.1 } else { whole }
        });
        for reading in run.attempts.iter_mut().flat_map(|attempt| &mut attempt.readings) {
            if reading.metric.starts_with("time_") {
                reading.labels.insert("node".into(), "0".into());
            }
        }
        planned.findings(&run).headline.text
    };
    let fabrics = r#"["ethernet-1g", "ethernet-10g"]"#;
    let network = headline("fabric", fabrics, "ethernet-1g", r#"["job"]"#, "$fabric");
    assert!(network.ends_with(" of the difference is waiting for the network"), "{network}");
    let by_argument = headline("fabric", fabrics, "ethernet-1g", r#"["job", "$fabric"]"#, "$fabric");
    assert!(
        by_argument.ends_with(" of the difference is waiting"),
        "it may do something else there: {by_argument}"
    );
    let delay = headline("DELAY", r#"["long", "short"]"#, "long", r#"["job", "$DELAY"]"#, "ethernet-1g");
    assert!(delay.ends_with(" of the difference is waiting"), "{delay}");
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
    let planned = planned_study(text);
    let run = planned.run(24, 0.01, 4, &|_, levels, _| match (
        is(levels, "fabric", "ethernet-10g"),
        number(levels, "block") as i64,
    ) {
        (true, 64) => 120.0,
        (true, _) => 90.0,
        (false, 64) => 50.0,
        (false, _) => 100.0,
    });
    let findings = planned.findings(&run);
    assert_eq!(findings.comparisons.len(), 1, "the best block sizes, not each");
    assert!((findings.comparisons[0].ratio.value - 1.2).abs() < 0.02, "{:?}", findings.comparisons[0].ratio);
    assert!(findings.headline.text.contains("more flops"), "{}", findings.headline.text);
}

#[test]
fn the_runner_stops_when_all_is_decided_or_the_budget_is_used_up() {
    let (planned, run) = graph(24);
    let catalogues = mock::catalogues();
    let at = |run: &Run, look: usize| decide(&planned.study, &catalogues, &planned.plan, run, look);
    assert_eq!(
        at(&run, 0),
        Decision { stop: true, why: "all of 2 questions decided after 12 blocks".into() }
    );
    let noisy = planned.run(24, 0.3, 1, &|_, _, _| 1.0);
    let first = at(&noisy, 0);
    assert!(!first.stop && first.why == "2 of 2 questions not decided after 12 blocks", "{first:?}");
    let last = at(&noisy, 1);
    assert!(last.stop && last.why.starts_with("the budget of 24 blocks is used up; 2 of 2"), "{last:?}");
    let findings = planned.findings(&noisy);
    assert_eq!(findings.run.ended, "the budget of 24 blocks was used up");
    assert!(
        findings.run.noise[0].detectable.is_some_and(|(least, _)| least > 0.1),
        "{:?}",
        findings.run.noise
    );
    assert!(
        planned
            .findings(&graph(12).1)
            .run
            .ended
            .starts_with("stopped at interim analysis 1 of 2 (12 blocks)")
    );
    assert!(planned.findings(&graph(5).1).run.ended.starts_with("ended after 5 of 24 blocks"));
}

#[test]
fn too_many_questions_for_the_blocks_give_a_warning() {
    let (mut planned, run) = graph(4);
    planned.plan.looks = vec![4];
    let findings = planned.findings(&run);
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
    let (planned, run) = graph(1);
    let sources = planned.findings(&run).sources;
    assert!(sources.iter().any(|s| s.what.starts_with("fabric srio: ") && s.calibration));
    assert!(sources.iter().any(|s| s.what.starts_with("system microblade: ")));
    assert!(!sources.iter().any(|s| s.what.starts_with("system moonshot")), "only what was used");
}

#[test]
fn claims_that_a_quick_run_of_the_bundled_study_leaves_out_are_not_run() {
    let options = PlanOptions { quick: true, ..Default::default() };
    let planned = with_options(bundled_study("kosmos").expect("is bundled"), &options);
    let run = planned.run(12, 0.01, 9, &|experiment, levels, metric| {
        let srio = is(levels, "system", "kosmos-srio");
        match (experiment, metric) {
            ("bandwidth", _) if srio => 3e9,
            ("bandwidth", _) => 1e9,
            ("aa", "completion_time") => 1.4 / 6.0,
            (_, "completion_time") => (if srio { 1.0 } else { 1.4 }) / number(levels, "slaves"),
            _ => 0.5,
        }
    });
    let findings = planned.findings(&run);
    let unmeasured: Vec<_> = findings.run.noise.iter().filter(|noise| noise.floor.is_none()).collect();
    assert!(unmeasured.is_empty(), "every metric that is asked about has its equal cells: {unmeasured:?}");
    assert!(findings.run.noise.iter().all(|noise| noise.floor < Some(0.03)), "{:?}", findings.run.noise);
    use crosstalk_study::findings::ClaimVerdict::{Calibration, NotRun, Reproduced};
    assert_eq!(claim(&findings, "graph-microblade-6").verdict, Reproduced);
    assert_eq!(claim(&findings, "graph-microblade-2").verdict, NotRun);
    assert_eq!(claim(&findings, "srio-ahead-at-4096").verdict, Calibration);
    assert_eq!(claim(&findings, "graph-speeds-up").verdict, Reproduced);
    let sentence = &findings.headline.text;
    let factor: f64 =
        sentence["kosmos-srio: ".len()..].split(' ').next().and_then(|n| n.parse().ok()).expect("a factor");
    assert!((factor - 1.4).abs() < 0.03, "{sentence}");
    assert!(sentence.contains(" × faster than microblade (1."), "{sentence}");
    let text = serde_json::to_string(&findings).expect("writes");
    let read: Findings = serde_json::from_str(&text).expect("reads");
    assert_eq!((read.headline.text, read.figures.len()), (findings.headline.text, findings.figures.len()));
}
