//! `--engine`: the same study on another engine, and where it then happens.

use crate::mock;
use crosstalk_core::Fault;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::BitRate;
use crosstalk_study::file::Study;
use crosstalk_study::plan::{Place, Plan};
use crosstalk_study::{PlanOptions, bundled_study, parse, plan, resolve, to_toml};

const STUDY: &str = r#"
schema = "crosstalk.study/1"
name = "my"
title = "T"
[engine.spark]
scale = 10
remark = ["Measured."]
not_comparable = { speeds-up = "one machine" }
[engine.spark.whole.experiment.graph]
slaves = [1, 6]
[engine.spark.whole.work.graph.pagerank]
scale = 12
[engine.spark.quick]
looks = [6]
[engine.spark.quick.experiment.graph]
slaves = [1]
[experiment.graph]
work.pagerank = { kind = "pagerank", slaves = "$slaves", scale = 20 }
conditions = { system = "$system", boards = "many" }
factors = { system = ["microblade", "kosmos-srio"], slaves = [1, 2, 6] }
[experiment.stream]
work.s = { kind = "stream", size = "64 B" }
conditions.system = "$system"
factors.system = ["microblade", "kosmos-srio"]
[claim.speeds-up]
statement = "It speeds up"
experiment = "graph"
where = { system = "kosmos-srio" }
trend = { metric = "completion_time", along = "slaves" }
expect = "< 0"
"#;

fn study() -> Study {
    parse(STUDY, "my.toml").expect("reads")
}

fn on_spark(quick: bool) -> PlanOptions {
    PlanOptions { engine: Some("spark".into()), quick, ..PlanOptions::default() }
}

fn planned(study: &Study, options: &PlanOptions) -> Result<Plan, Fault> {
    plan(study, &mock::catalogues(), &mock::registry(), options)
}

fn rates(plan: &Plan) -> Vec<f64> {
    let rate = |place: &Place| match place {
        Place::Real { link: Link::Rate(BitRate(rate)), .. } => *rate,
        other => panic!("expected a link with a rate, found {other:?}"),
    };
    plan.cells().map(|cell| rate(&cell.scene.place)).collect()
}

#[test]
fn an_engine_runs_its_part_of_the_study_in_real_time() {
    let plan = planned(&study(), &on_spark(false)).expect("plans");
    let names: Vec<&str> = plan.experiments.iter().map(|planned| planned.name.as_str()).collect();
    assert_eq!((names, plan.quick, plan.reduced), (vec!["graph"], false, true));
    assert_eq!(plan.cells().count(), 4);
    let params = plan.cells().map(|cell| &cell.scene.work["pagerank"].params);
    for params in params {
        assert_eq!((params.get("engine"), params.get("scale")), (Some(&"spark".into()), Some(&12.into())));
    }
}

#[test]
fn a_system_lends_its_links_rate_over_the_scale() {
    let catalogues = mock::catalogues();
    let rate = |name: &str| catalogues.find_fabric(name).expect("is bundled").rate.0;
    let (ethernet, srio) = (rate("ethernet-2.5g") / 10.0, rate("srio") / 10.0);
    let mut found = rates(&planned(&study(), &on_spark(false)).expect("plans"));
    found.sort_by(f64::total_cmp);
    assert_eq!(found, [ethernet, ethernet, srio, srio]);
    let halved = PlanOptions { scale: Some(20.0), ..on_spark(false) };
    assert_eq!(rates(&planned(&study(), &halved).expect("plans")).len(), 4);
    assert!(rates(&planned(&study(), &halved).expect("plans")).contains(&(srio / 2.0)));
}

#[test]
fn quick_is_quick_on_every_engine() {
    let plan = planned(&study(), &on_spark(true)).expect("plans");
    assert_eq!((plan.cells().count(), plan.looks, plan.quick), (2, vec![6], true));
}

#[test]
fn claims_that_an_engine_s_section_lists_are_not_comparable() {
    let resolved = resolve(&study(), &mock::registry(), &on_spark(false)).expect("resolves");
    assert_eq!(resolved.claim["speeds-up"].not_comparable.as_deref(), Some("one machine"));
    assert_eq!(resolved.remark, ["Measured."]);
    assert_eq!((&resolved.claim["speeds-up"].published, &resolved.about), (&None, &study().about));
    let native = resolve(&study(), &mock::registry(), &PlanOptions::default()).expect("resolves");
    assert_eq!((&native.claim, &native.remark), (&study().claim, &study().remark));
}

#[test]
fn where_only_directions_are_tested_the_published_size_is_shown_and_not_tested() {
    let text = STUDY
        .replace("scale = 10\n", "scale = 10\ndirections_only = true\n")
        .replace("expect = \"< 0\"", "expect = \"< 0\"\npublished = -0.7\nmargin = \"5 %\"");
    let study = parse(&text, "my.toml").expect("reads");
    let of = |options: &PlanOptions| {
        let resolved = resolve(&study, &mock::registry(), options).expect("resolves");
        let claim = &resolved.claim["speeds-up"];
        (claim.published.is_some(), claim.margin.as_ref().map(|margin| margin.text().to_string()))
    };
    assert_eq!(of(&on_spark(false)), (true, None));
    assert_eq!(of(&PlanOptions::default()), (true, Some("5 %".into())));
}

#[test]
fn a_resolved_study_needs_no_engine_any_more() {
    for quick in [false, true] {
        let resolved = resolve(&study(), &mock::registry(), &on_spark(quick)).expect("resolves");
        let read = parse(&to_toml(&resolved), "study.toml").expect("reads");
        let again = planned(&read, &PlanOptions { quick: true, ..PlanOptions::default() }).expect("plans");
        let first = planned(&study(), &on_spark(quick)).expect("plans");
        assert_eq!(again.experiments, first.experiments);
        assert_eq!(again.looks, first.looks);
    }
}

#[test]
fn without_a_section_every_experiment_that_can_is_run() {
    let study = Study { engine: Default::default(), ..study() };
    let plan = planned(&study, &on_spark(false)).expect("plans");
    let names: Vec<&str> = plan.experiments.iter().map(|planned| planned.name.as_str()).collect();
    assert_eq!((names, plan.cells().count()), (vec!["graph"], 6));
    let quick = parse(&STUDY.replace("[engine.spark.quick", "[quick"), "my.toml").expect("reads");
    let quick = Study { engine: Default::default(), ..quick };
    let plan = planned(&quick, &on_spark(true)).expect("plans");
    assert_eq!((plan.cells().count(), plan.looks), (2, vec![6]), "its own quick part");
    assert_eq!(planned(&quick, &on_spark(false)).expect("plans").cells().count(), 6);
    let mut streams = study.clone();
    streams.experiment.remove("graph");
    streams.claim.clear();
    let fault = planned(&streams, &on_spark(false)).expect_err("refused").to_string();
    assert!(fault.starts_with("--engine: no experiment of this study can run on another engine"), "{fault}");
}

#[test]
fn our_own_program_over_links_of_the_kernel_runs_in_real_time() {
    let text = STUDY
        .replace(
            "conditions = { system = \"$system\", boards = \"many\" }",
            "conditions.fabric = \"$system\"",
        )
        .replace("[\"microblade\", \"kosmos-srio\"], slaves", "[\"ethernet-1g\", \"kosmos-srio\"], slaves")
        .replace("[\"ethernet-1g\", \"kosmos-srio\"]", "[\"ethernet-1g\", \"none\"]")
        .replace("where = { system = \"kosmos-srio\" }", "where = { system = \"none\" }");
    let plan = planned(&parse(&text, "my.toml").expect("reads"), &PlanOptions::default()).expect("plans");
    let graph = plan.experiments.iter().find(|planned| planned.name == "graph").expect("is there");
    assert!(graph.cells.iter().all(|cell| matches!(cell.scene.place, Place::Real { .. })));
}

#[test]
fn a_cluster_of_the_users_is_measured_as_it_is() {
    let own = PlanOptions { engine: Some("spark://head:7077".into()), ..PlanOptions::default() };
    let fault = planned(&study(), &own).expect_err("refused").to_string();
    assert!(fault.starts_with("my.toml:19:") && fault.contains("`system` cannot be emulated"), "{fault}");
    let conditions = "conditions = { system = \"$system\", boards = \"many\" }";
    let without = |given: &str| {
        let text =
            STUDY.replace(conditions, given).replace("system = [\"microblade\", \"kosmos-srio\"], ", "");
        planned(
            &parse(&text.replace("system = \"kosmos-srio\"", "slaves = 1"), "my.toml").expect("reads"),
            &own,
        )
    };
    for given in ["", "conditions.fabric = \"none\""] {
        let plan = without(given).expect("plans");
        assert!(plan.cells().all(|cell| matches!(cell.scene.place, Place::Outside { .. })), "{plan:?}");
    }
    let fault = without("conditions.fabric = \"ethernet-1g\"").expect_err("refused").to_string();
    assert!(fault.contains("`fabric` cannot be emulated"), "{fault}");
}

#[test]
fn a_section_that_names_what_is_not_there_is_refused_with_its_line() {
    for (written, wrong, line, what) in [
        ("slaves = [1, 6]", "slaves = [1, 5]", 10, "5"),
        ("speeds-up = \"one machine\"", "slows-down = \"x\"", 8, "unknown claim `slows-down`"),
        ("scale = 10\n", "scale = 0.5\n", 6, "at least 1"),
        ("[engine.spark.whole.experiment.graph]", "[engine.spark.whole.experiment.grape]", 9, "`grape`"),
    ] {
        let read = parse(&STUDY.replace(written, wrong), "my.toml");
        let fault =
            read.and_then(|study| planned(&study, &on_spark(false))).expect_err("refused").to_string();
        assert!(fault.starts_with(&format!("my.toml:{line}:")) && fault.contains(what), "{fault}");
    }
}

#[test]
fn claims_that_are_comparable_on_an_engine_alone_are_judged_there() {
    let aside = STUDY
        .replace("expect = \"< 0\"", "expect = \"< 0\"\nnot_comparable = \"the native one has no driver\"");
    let text =
        aside.replace("not_comparable = { speeds-up = \"one machine\" }", "comparable = [\"speeds-up\"]");
    let study = parse(&text, "my.toml").expect("reads");
    let reason = |options: &PlanOptions| {
        let resolved = resolve(&study, &mock::registry(), options).expect("resolves");
        resolved.claim["speeds-up"].not_comparable.clone()
    };
    assert_eq!(reason(&on_spark(false)), None);
    assert!(reason(&PlanOptions::default()).is_some_and(|why| why.contains("no driver")));
    let wrong = |text: &str| parse(text, "my.toml").expect_err("is wrong");
    let unknown = wrong(&text.replace("comparable = [\"speeds-up\"]", "comparable = [\"speed-up\"]"));
    assert!(unknown.remedy.is_some_and(|remedy| remedy.contains("speeds-up")));
    let already =
        STUDY.replace("not_comparable = { speeds-up = \"one machine\" }", "comparable = [\"speeds-up\"]");
    let fault = wrong(&already);
    assert!(fault.message.contains("is comparable on every engine") && fault.place.is_some(), "{fault:?}");
}

/// The run's directory keeps the study as the engine has it, and every later verb reads it from there.
#[test]
fn a_bundled_study_on_an_engine_can_be_read_again() {
    let text = bundled_study("kosmos").expect("is bundled");
    let study = parse(text, "studies/kosmos.toml").expect("reads");
    for quick in [false, true] {
        let on_engine = resolve(&study, &mock::registry(), &on_spark(quick)).expect("an engine");
        let again = parse(&to_toml(&on_engine), "study.toml").unwrap_or_else(|fault| panic!("{fault:?}"));
        assert_eq!(to_toml(&again), to_toml(&on_engine));
        let without = again.claim.values().filter(|claim| claim.size_not_comparable.is_some());
        assert!(without.count() > 5, "only directions are tested");
    }
}
