//! Every kind of claim gives every verdict, on runs whose truth is known.

use crate::synthetic::{claim, is, number, planned_study, with_options};
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::value::Levels;
use crosstalk_study::PlanOptions;
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict};
use crosstalk_study::samples::Run;

/// A study of one command over fabrics and nodes with one claim.
fn study(statement: &str) -> String {
    of(&["job"], statement)
}

/// Experiments of the same kind, of which the claim's is the last.
fn of(experiments: &[&str], statement: &str) -> String {
    let job = |name: &&str| {
        format!(
            r#"
        [experiment.{name}]
        work.job = {{ kind = "command", argv = ["x"], nodes = "$nodes" }}
        conditions.fabric = "$fabric"
        factors = {{ fabric = ["ethernet-1g", "ethernet-10g"], nodes = [2, 4, 8] }}
        "#
        )
    };
    let (jobs, own) = (experiments.iter().map(job).collect::<String>(), experiments[experiments.len() - 1]);
    format!(
        r#"
        schema = "crosstalk.study/1"
        name = "synthetic"
        title = "Synthetic"
        looks = [12, 24]
        {jobs}
        [claim.it]
        statement = "It is so"
        experiment = "{own}"
        {statement}
        "#
    )
}

/// The verdict when `run_time` is `truth`, with 1 % noise.
fn verdict(statement: &str, truth: impl Fn(&Levels) -> f64) -> ClaimVerdict {
    verdict_after(24, statement, truth)
}

fn verdict_after(blocks: usize, statement: &str, truth: impl Fn(&Levels) -> f64) -> ClaimVerdict {
    let planned = planned_study(&study(statement));
    let run = planned.run(blocks, 0.01, 7, &|_, levels, _| truth(levels));
    let findings = planned.findings(&run);
    let found = claim(&findings, "it");
    eprintln!("{statement}\n  {:?}: {} {}", found.verdict, found.statement, found.why);
    found.verdict
}

/// Slower by `factor` on the slower fabric.
fn slower(factor: f64) -> impl Fn(&Levels) -> f64 {
    move |levels| if is(levels, "fabric", "ethernet-1g") { factor } else { 1.0 }
}

const RATIO: &str = r#"ratio = { metric = "run_time", of = { fabric = "ethernet-1g" }, to = { fabric = "ethernet-10g" } }
        "#;

#[test]
fn a_ratio_gives_each_verdict() {
    let sized = format!("{RATIO}published = 1.25\nexpect = \"> 1\"\nmargin = \"5 %\"");
    assert_eq!(verdict(&sized, slower(1.25)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(&sized, slower(1.60)), ClaimVerdict::DirectionOnly);
    assert_eq!(verdict(&sized, slower(0.80)), ClaimVerdict::NotReproduced);
    assert_eq!(verdict(&sized, slower(1.0)), ClaimVerdict::NotReproduced, "no difference is none");
    assert_eq!(verdict(&sized, slower(1.008)), ClaimVerdict::Inconclusive, "at the margin");
    assert_eq!(verdict_after(3, &sized, slower(1.25)), ClaimVerdict::Inconclusive, "too few blocks");
    assert_eq!(verdict_after(0, &sized, slower(1.25)), ClaimVerdict::NotRun);
}

#[test]
fn the_default_side_is_that_of_the_published_value() {
    let below = format!("{RATIO}published = 0.8\nmargin = \"5 %\"");
    assert_eq!(verdict(&below, slower(0.8)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(&below, slower(1.25)), ClaimVerdict::NotReproduced);
    let equal = format!("{RATIO}published = 1.0\nmargin = \"3 %\"");
    assert_eq!(verdict(&equal, slower(1.0)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(&equal, slower(1.1)), ClaimVerdict::NotReproduced);
    assert_eq!(verdict(&equal, slower(1.03)), ClaimVerdict::Inconclusive);
}

#[test]
fn a_claim_without_a_size_is_reproduced_by_its_direction() {
    let plain = format!("{RATIO}expect = \"> 1.2\"");
    assert_eq!(verdict(&plain, slower(1.4)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(&plain, slower(1.1)), ClaimVerdict::NotReproduced);
}

#[test]
fn calibrations_and_stand_ins_are_no_evidence() {
    let calibrated = format!("{RATIO}expect = \"> 1\"\ncalibration = \"fabric x: G\"");
    assert_eq!(verdict(&calibrated, slower(1.25)), ClaimVerdict::Calibration);
    let stand_in = format!("{RATIO}expect = \"> 1\"\nnot_comparable = \"no such device\"");
    assert_eq!(verdict(&stand_in, slower(1.25)), ClaimVerdict::NotComparable);
}

#[test]
fn a_claim_about_levels_that_were_left_out_is_not_run() {
    let planned = planned_study(&study(&format!("{RATIO}expect = \"> 1\"\nwhere = {{ nodes = 8 }}")));
    let mut cut = planned;
    cut.plan.experiments[0].cells.retain(|cell| number(&cell.id.levels, "nodes") < 8.0);
    let run = cut.run(24, 0.01, 1, &|_, levels, _| slower(1.25)(levels));
    let findings = cut.findings(&run);
    assert_eq!(claim(&findings, "it").verdict, ClaimVerdict::NotRun);
    assert!(claim(&findings, "it").why.contains("no cell at fabric ethernet-1g, nodes 8"));
}

#[test]
fn a_trend_gives_each_verdict() {
    let along = |exponent: f64| move |levels: &Levels| number(levels, "nodes").powf(exponent);
    let falls = "trend = { metric = \"run_time\", along = \"nodes\" }\nexpect = \"< 0\"";
    assert_eq!(verdict(falls, along(-0.8)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(falls, along(0.5)), ClaimVerdict::NotReproduced);
    assert_eq!(verdict(falls, along(0.0)), ClaimVerdict::NotReproduced);
    let sized = format!("{falls}\npublished = -0.8\nmargin = \"10 %\"");
    assert_eq!(verdict(&sized, along(-0.8)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(&sized, along(-0.4)), ClaimVerdict::DirectionOnly);
}

#[test]
fn a_trend_of_what_is_beyond_other_cells_is_that_of_the_difference() {
    // What the slower fabric costs grows linearly, the whole like the power 3/2.
    let costs = |exponent: f64| {
        move |levels: &Levels| {
            let (nodes, slow) = (number(levels, "nodes"), is(levels, "fabric", "ethernet-1g"));
            nodes.powf(1.5) + if slow { nodes.powf(exponent) } else { 0.0 }
        }
    };
    let grows = r#"where = { fabric = "ethernet-1g" }
        trend = { metric = "run_time", along = "nodes", beyond = { fabric = "ethernet-10g" } }
        expect = "> 0"
        published = 1.0
        margin = "25 %""#;
    assert_eq!(verdict(grows, costs(1.0)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(grows, costs(1.5)), ClaimVerdict::DirectionOnly);
    assert_eq!(verdict(grows, costs(-0.5)), ClaimVerdict::NotReproduced);
    let nothing = |levels: &Levels| 2.0 - slower(2.0)(levels);
    assert_eq!(verdict(grows, nothing), ClaimVerdict::Inconclusive, "it is never longer");
}

#[test]
fn an_order_gives_each_verdict() {
    let order = "order = { metric = \"run_time\", factor = \"nodes\", ascending = [8, 4, 2] }";
    let nodes = |of: [f64; 3]| {
        move |levels: &Levels| match number(levels, "nodes") as i64 {
            2 => of[0],
            4 => of[1],
            _ => of[2],
        }
    };
    assert_eq!(verdict(order, nodes([3.0, 2.0, 1.0])), ClaimVerdict::Reproduced);
    assert_eq!(verdict(order, nodes([3.0, 2.0, 4.0])), ClaimVerdict::NotReproduced);
    assert_eq!(verdict(order, nodes([3.0, 2.01, 2.0])), ClaimVerdict::Inconclusive);
}

#[test]
fn a_peak_gives_each_verdict() {
    let peak = "peak = { metric = \"run_time\", along = \"nodes\", among = [4] }";
    let top = |at: i64| move |levels: &Levels| if number(levels, "nodes") as i64 == at { 1.3 } else { 1.0 };
    assert_eq!(verdict(peak, top(4)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(peak, top(8)), ClaimVerdict::NotReproduced);
    let either = "peak = { metric = \"run_time\", along = \"nodes\", among = [2, 4] }";
    assert_eq!(verdict(either, top(2)), ClaimVerdict::Reproduced);
    assert_eq!(verdict(either, top(8)), ClaimVerdict::NotReproduced);
    let broad = |levels: &Levels| if number(levels, "nodes") < 8.0 { 1.3 } else { 1.0 };
    assert_eq!(verdict(either, broad), ClaimVerdict::Reproduced, "which of the two is no matter");
    let level = |levels: &Levels| if number(levels, "nodes") > 4.0 { 1.005 } else { 1.0 };
    assert_eq!(verdict(peak, level), ClaimVerdict::Inconclusive, "a plain");
}

#[test]
fn a_threshold_gives_each_verdict() {
    // The drift that blocks share is part of a number that is no difference: medians spread by a fifth.
    let under = "threshold = { metric = \"run_time\" }\nexpect = \"< 2 s\"";
    assert_eq!(verdict(&under.replace(" s\"", "\""), |_| 1.0), ClaimVerdict::Reproduced);
    assert_eq!(verdict(&under.replace(" s\"", "\""), |_| 4.0), ClaimVerdict::NotReproduced);
    assert_eq!(verdict(&under.replace(" s\"", "\""), |_| 1.9), ClaimVerdict::Inconclusive);
    let sized = "threshold = { metric = \"run_time\" }\npublished = 2.0\nmargin = \"50 %\"";
    assert_eq!(verdict(sized, |_| 2.0), ClaimVerdict::Reproduced);
    assert_eq!(verdict(sized, |_| 8.0), ClaimVerdict::NotReproduced);
}

#[test]
fn a_correlation_gives_each_verdict() {
    let text = r#"
        schema = "crosstalk.study/1"
        name = "synthetic"
        title = "Synthetic"
        looks = [24]
        [experiment.npb]
        work.kernel = { kind = "npb", kernel = "$kernel", class = "A", nodes = 4 }
        factors = { kernel = ["EP", "IS", "CG", "MG", "FT"] }
        [claim.it]
        statement = "They go together"
        experiment = "npb"
        correlation = { x = "time_communicating", y = "run_time" }
        expect = "> 0"
    "#;
    let planned = planned_study(text);
    let verdict = |sign: f64| {
        let run = planned.run(24, 0.02, 3, &|_, levels, metric| {
            let place = ["EP", "IS", "CG", "MG", "FT"].iter().position(|k| is(levels, "kernel", k));
            let place = place.expect("a kernel") as f64;
            if metric == "run_time" { 1.0 + place } else { (0.3 * sign * place).exp() }
        });
        claim(&planned.findings(&run), "it").verdict
    };
    assert_eq!(verdict(1.0), ClaimVerdict::Reproduced);
    assert_eq!(verdict(-1.0), ClaimVerdict::NotReproduced);
    assert_eq!(verdict(0.0), ClaimVerdict::Inconclusive);
}

/// A claim on `memory` that speaks of `graph`, too.
fn two(statement: &str) -> String {
    of(&["graph", "memory"], statement)
}

const OVER: &str = r#"ratio = { metric = "run_time", of = { fabric = "ethernet-1g" }, to = { fabric = "ethernet-10g" }, over = "graph" }
        "#;

#[test]
fn a_ratio_over_that_of_another_experiment_gives_each_verdict() {
    let planned = planned_study(&two(&format!("{OVER}published = 1.25\nexpect = \"> 1\"\nmargin = \"5 %\"")));
    let verdict = |memory: f64, graph: f64| {
        let run = planned.run(24, 0.01, 7, &|experiment, levels, _| {
            slower(if experiment == "memory" { memory } else { graph })(levels)
        });
        let findings = planned.findings(&run);
        let found = claim(&findings, "it");
        eprintln!("{:?}: {} {}", found.verdict, found.statement, found.why);
        let value = found.found.expect("a number").value;
        assert!((value - memory / graph).abs() < 0.02, "{value}");
        found.verdict
    };
    assert_eq!(verdict(1.5, 1.2), ClaimVerdict::Reproduced);
    assert_eq!(verdict(2.0, 1.2), ClaimVerdict::DirectionOnly);
    assert_eq!(verdict(1.5, 1.5), ClaimVerdict::NotReproduced);
    assert_eq!(verdict(1.2, 1.5), ClaimVerdict::NotReproduced);
}

#[test]
fn a_ratio_against_the_same_at_other_levels_gives_each_verdict() {
    let text = |expect: &str| {
        of(
            &["graph"],
            &format!(
                "where = {{ nodes = 4 }}\n{}, against = {{ nodes = 2 }} }}\nexpect = \"{expect}\"",
                RATIO.trim().trim_end_matches('}').trim()
            ),
        )
    };
    let verdict = |expect: &str, at_4: f64, at_2: f64| {
        let planned = planned_study(&text(expect));
        let run = planned.run(24, 0.01, 7, &|_, levels, _| {
            slower(if number(levels, "nodes") == 4.0 { at_4 } else { at_2 })(levels)
        });
        let findings = planned.findings(&run);
        let found = claim(&findings, "it");
        let value = found.found.expect("a number").value;
        assert!((value - at_4 / at_2).abs() < 0.02, "{value}");
        assert!(found.attribution.is_none(), "two differences have no common split: {found:?}");
        found.verdict
    };
    assert_eq!(verdict("< 1.1", 1.5, 1.48), ClaimVerdict::Reproduced);
    assert_eq!(verdict("> 0.9", 1.5, 1.48), ClaimVerdict::Reproduced);
    assert_eq!(verdict("< 1.1", 1.5, 1.2), ClaimVerdict::NotReproduced);
    assert_eq!(verdict("> 0.9", 1.2, 1.5), ClaimVerdict::NotReproduced);
}

#[test]
fn two_ratios_are_off_by_as_much_as_both() {
    let equal = r#"
        [experiment.equal]
        work.job = { kind = "command", argv = ["x"], nodes = 2 }
        factors = { aa = ["first", "second"] }
        [claim.it]"#;
    let verdict = |statement: &str, quotient: f64| {
        let planned =
            planned_study(&two(&format!("{statement}expect = \"> 1\"")).replace("[claim.it]", equal));
        let run = planned.run(24, 0.002, 7, &|experiment, levels, _| match experiment {
            "equal" if is(levels, "aa", "second") => 1.03,
            "memory" => slower(quotient)(levels),
            _ => 1.0,
        });
        claim(&planned.findings(&run), "it").verdict
    };
    assert_eq!(verdict(RATIO, 1.05), ClaimVerdict::Reproduced, "beyond the floor of 3 %");
    assert_eq!(verdict(OVER, 1.05), ClaimVerdict::NotReproduced, "within two");
    assert_eq!(verdict(OVER, 1.09), ClaimVerdict::Reproduced);
}

#[test]
fn two_experiments_have_no_common_split() {
    let split = |statement: &str| {
        let text = two(&format!("where = {{ nodes = 4 }}\n{statement}expect = \"> 1\""));
        let planned = planned_study(&text);
        let mut run = planned.run(12, 0.001, 7, &|_, levels, metric| {
            let waits = slower(1.5)(levels) - 0.5;
            match metric {
                "time_wait" => waits,
                "time_compute" => 0.5,
                _ => waits + 0.5,
            }
        });
        at_nodes(&mut run);
        claim(&planned.findings(&run), "it").attribution.is_some()
    };
    assert!(split(RATIO) && !split(OVER));
}

/// The job waits for this share of its time on the faster fabric, and takes `more` on the slower one.
fn waiting(levels: &Levels, metric: &str, share: f64, more: f64) -> f64 {
    match metric {
        "time_wait" => share + slower(more)(levels) - 1.0,
        "time_compute" => 1.0 - share,
        _ => slower(more)(levels),
    }
}

/// Node 1 reports the parts as they are. Node 2 does a tenth of its work, and waits for the rest of the time.
fn at_nodes(run: &mut Run) {
    for attempt in &mut run.attempts {
        let parts: Vec<_> =
            attempt.readings.extract_if(.., |reading| reading.metric.starts_with("time_")).collect();
        let seconds = |part: &Reading| match part.observation {
            Observation::Value(seconds) => seconds,
            _ => f64::NAN,
        };
        let whole: f64 = parts.iter().map(seconds).sum();
        for mut part in parts {
            let lazy = if part.metric == "time_wait" { 0.9 * whole } else { 0.1 * seconds(&part) };
            let mut other = Reading::value(&part.metric, lazy, part.origin);
            part.labels.insert("node".into(), "1".into());
            other.labels.insert("node".into(), "2".into());
            attempt.readings.extend([part, other]);
        }
    }
}

const GROWS: &str = r#"correlation = { x = "share time_wait", y = "run_time", ratio = { of = { fabric = "ethernet-1g" }, to = { fabric = "ethernet-10g" } }, with = ["graph"] }
        expect = "> 0""#;

#[test]
fn ratios_go_with_shares_over_the_cells_of_two_experiments() {
    let planned = planned_study(&two(GROWS));
    let verdict = |more: fn(f64) -> f64| {
        let mut run = planned.run(24, 0.01, 7, &|experiment, levels, metric| {
            let apart = if experiment == "memory" { 0.25 } else { 0.0 };
            let share = apart + 0.05 * number(levels, "nodes").log2();
            waiting(levels, metric, share, more(share))
        });
        at_nodes(&mut run);
        let findings = planned.findings(&run);
        let found = claim(&findings, "it");
        eprintln!("{:?}: {}", found.verdict, found.why);
        found.verdict
    };
    assert_eq!(verdict(|share| 1.0 + 2.0 * share), ClaimVerdict::Reproduced);
    assert_eq!(verdict(|share| 2.0 - 2.0 * share), ClaimVerdict::NotReproduced);
    assert_ne!(verdict(|_| 1.3), ClaimVerdict::Reproduced, "noise that both share speaks against it");
}

#[test]
fn a_threshold_may_be_of_a_share_of_the_time() {
    let statement = "threshold = { metric = \"share time_wait\" }\nexpect = \"< 0.5\"";
    let planned = planned_study(&two(statement));
    let verdict = |share: f64| {
        let mut run = planned.run(24, 0.01, 7, &|_, levels, metric| waiting(levels, metric, share, 1.0));
        at_nodes(&mut run);
        let findings = planned.findings(&run);
        let found = claim(&findings, "it");
        assert!((found.found.expect("a number").value - share).abs() < 0.01, "{}", found.why);
        found.verdict
    };
    assert_eq!(verdict(0.3), ClaimVerdict::Reproduced);
    assert_eq!(verdict(0.7), ClaimVerdict::NotReproduced);
}

#[test]
fn a_part_that_no_node_reports_took_no_time() {
    let planned = planned_study(&two("threshold = { metric = \"share time_wait\" }\nexpect = \"< 0.5\""));
    let mut run = planned.run(24, 0.01, 7, &|_, levels, metric| waiting(levels, metric, 0.3, 1.0));
    at_nodes(&mut run);
    for attempt in &mut run.attempts {
        attempt.readings.retain(|reading| reading.metric != "time_wait");
    }
    let found = claim(&planned.findings(&run), "it").found.expect("a number");
    assert_eq!(found.value, 0.0);
}

#[test]
fn what_is_not_part_of_a_run_is_not_asked() {
    let not_run = |text: &str| {
        let quick = text.replace("[claim.it]", "[quick.experiment.memory]\n[claim.it]");
        let planned = with_options(&quick, &PlanOptions { quick: true, ..PlanOptions::default() });
        let findings = planned.findings(&planned.run(12, 0.01, 7, &|_, levels, _| slower(1.5)(levels)));
        let found = claim(&findings, "it");
        assert_eq!(found.verdict, ClaimVerdict::NotRun);
        found.why.clone()
    };
    let why = not_run(&two(&format!("{OVER}expect = \"> 1\"")));
    assert!(why.contains("experiment `graph` is not part of this run"), "{why}");
    assert!(not_run(&two(GROWS)).contains("experiment `graph` is not part of this run"));
    let few = "where = { nodes = 2, fabric = \"ethernet-1g\" }\ncorrelation = { x = \"time_wait\", y = \"run_time\" }\nexpect = \"> 0\"";
    assert!(not_run(&two(few)).contains("takes three cells, and this run has 1"));
}

#[test]
fn a_comparison_gives_each_verdict_and_its_sentence() {
    let text = study(&format!("{RATIO}expect = \"> 1\""))
        .replace("[claim.it]", "compare = { factor = \"fabric\", base = \"ethernet-1g\" }\n[claim.it]");
    let planned = planned_study(&text.replace("nodes = [2, 4, 8]", "nodes = [2]"));
    let found = |factor: f64, noise: f64, blocks: usize| {
        let run = planned.run(blocks, noise, 5, &|_, levels, _| slower(factor)(levels));
        let findings = planned.findings(&run);
        eprintln!("{}", findings.headline.text);
        (findings.comparisons[0].verdict, findings.headline)
    };
    let (verdict, headline) = found(1.42, 0.01, 12);
    assert_eq!(verdict, ComparisonVerdict::Better);
    assert!(headline.decided && headline.text.starts_with("ethernet-10g: 1.4"), "{}", headline.text);
    assert!(headline.text.contains(" × faster than ethernet-1g (1."), "{}", headline.text);
    assert_eq!(found(0.8, 0.01, 12).0, ComparisonVerdict::Worse);
    let (verdict, headline) = found(1.0, 0.005, 24);
    assert_eq!(verdict, ComparisonVerdict::Equivalent);
    assert!(headline.text.contains("equivalent within 1 %; no difference larger than "), "{}", headline.text);
    let (verdict, headline) = found(1.03, 0.2, 24);
    assert_eq!(verdict, ComparisonVerdict::Inconclusive);
    assert!(
        !headline.decided && headline.text.contains("undecided after 24 blocks; between "),
        "{}",
        headline.text
    );
    let (_, headline) = found(1.42, 0.01, 3);
    assert!(headline.text.contains("no verdict after 3 blocks"), "{}", headline.text);
}
