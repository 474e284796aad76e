//! The study behind `crosstalk run --nodes N --vary F=A,B -- CMD`.

use crate::mock;
use crosstalk_core::testbed::Link;
use crosstalk_core::units::BitRate;
use crosstalk_core::value::Value;
use crosstalk_study::command::Vary;
use crosstalk_study::plan::{Place, Plan};
use crosstalk_study::{PlanOptions, command_study, parse, plan, resolve, to_toml};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn vary(factor: &str, levels: &[&str]) -> Vary {
    (factor.into(), levels.iter().map(|level| Value::from_word(level)).collect())
}

#[test]
fn the_readmes_first_example() {
    let vary = [vary("fabric", &["ethernet-1g", "ethernet-10g"])];
    let study = command_study(2, &vary, &words(&["./my-job"])).expect("is a study");
    let plan = plan_of(&study).expect("plans");
    let links: Vec<_> = plan.experiments[0].cells.iter().map(|cell| cell.scene.place.clone()).collect();
    let real = |fabric: &str, rate: f64| Place::Real {
        fabric: fabric.into(),
        link: Link::Rate(BitRate(rate)),
        scale: 1.0,
        nodes: 2,
    };
    assert_eq!(links, [real("ethernet-1g", 1e9), real("ethernet-10g", 1e10)]);
    assert_eq!(plan.looks, [12, 24, 48]);
    assert_eq!(plan.warnings, Vec::<String>::new());
    let headline = study.headline.expect("compares");
    assert_eq!((headline.level, headline.subject.as_str()), ("ethernet-10g".into(), "my-job"));
}

#[test]
fn a_budget_that_can_decide_nothing_says_so() {
    let vary = [vary("fabric", &["ethernet-1g", "ethernet-10g"])];
    let mut study = command_study(2, &vary, &words(&["./my-job"])).expect("is a study");
    // One question at two-sided 5 %: all blocks on one side have 2^-n, so that 6 can and 5 cannot.
    study.looks = vec![5];
    let warnings = plan_of(&study).expect("plans").warnings;
    assert!(
        warnings[0].starts_with("5 blocks can decide nothing") && warnings[0].contains("--looks 8"),
        "{warnings:?}"
    );
    // A block is lost where an attempt fails: 6 can decide, and have none to spare.
    study.looks = vec![6];
    let warnings = plan_of(&study).expect("plans").warnings;
    assert!(warnings[0].starts_with("6 blocks have too few to spare"), "{warnings:?}");
    study.looks = vec![8];
    assert_eq!(plan_of(&study).expect("plans").warnings, Vec::<String>::new());
}

#[test]
fn rates_are_scaled_down_together() {
    let vary = [vary("fabric", &["ethernet-1g", "ethernet-10g", "none"])];
    let study = command_study(2, &vary, &words(&["./my-job"])).expect("is a study");
    let scaled = |scale| PlanOptions { scale: Some(scale), ..PlanOptions::default() };
    let resolved = |study, scale| resolve(study, &mock::registry(), &scaled(scale));
    let study = resolved(&study, 10.0).expect("links can be slowed down");
    let plan = plan_of(&study).expect("plans");
    let links: Vec<_> = plan
        .cells()
        .map(|cell| match cell.scene.place {
            Place::Real { link, .. } => link,
            Place::Virtual { .. } | Place::Outside { .. } => {
                panic!("a program of one's own runs in real time")
            }
        })
        .collect();
    let rate = |rate: f64| Link::Rate(BitRate(rate));
    assert_eq!(links, [rate(1e8), rate(1e9), Link::Unshaped]);
    let saved = to_toml(&study);
    assert_eq!(parse(&saved, "my.toml").expect("reads"), study);
    let fault = resolved(&study, 0.1).expect_err("links cannot be sped up").to_string();
    assert!(fault.starts_with("--scale") && fault.contains("at least 1"), "{fault}");
    let alone = command_study(2, &[], &words(&["./my-job"])).expect("a study");
    let fault = resolved(&alone, 10.0).expect_err("nothing to slow down").to_string();
    assert!(fault.starts_with("--scale") && fault.contains("--vary fabric="), "{fault}");
}

fn plan_of(study: &crosstalk_study::file::Study) -> Result<Plan, crosstalk_core::Fault> {
    plan(study, &mock::catalogues(), &mock::registry(), &PlanOptions::default())
}

#[test]
fn a_saved_study_reads_as_the_same() {
    let vary = [vary("fabric", &["ethernet-1g", "none"]), vary("env.THREADS", &["1", "2"])];
    let study = command_study(3, &vary, &words(&["sh", "-c", "echo $HOME"])).expect("is a study");
    assert_eq!(parse(&to_toml(&study), "my.toml").expect("reads"), study);
}

#[test]
fn variables_are_asked_for_and_reach_the_command_as_they_are_called() {
    let vary = [vary("fabric", &["none"]), vary("env.IO_DEPTH", &["1", "32"])];
    let study = command_study(1, &vary, &words(&["./job", "$1", "$$"])).expect("is a study");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default()).expect("plans");
    let params = &plan.experiments[0].cells[1].scene.work["command"].params;
    let pair = Value::List(vec!["IO_DEPTH".into(), 32.into()]);
    assert_eq!(params.get("env"), Some(&Value::List(vec![pair])));
    let argv = Value::List(vec!["./job".into(), "$1".into(), "$$".into()]);
    assert_eq!(params.get("argv"), Some(&argv), "the command's own $ stays as it is");
}

#[test]
fn one_node_has_no_link_to_compare_fabrics_over() {
    let vary = [vary("fabric", &["ethernet-1g", "ethernet-10g"])];
    let study = |nodes| command_study(nodes, &vary, &words(&["true"])).expect("is a study");
    let fault = plan_of(&study(1)).expect_err("refused");
    assert_eq!(fault.place.as_deref(), Some("--vary fabric"));
    assert!(plan_of(&study(2)).is_ok());
}

#[test]
fn without_factors_it_is_one_cell_and_no_comparison() {
    let study = command_study(1, &[], &words(&["true"])).expect("is a study");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default()).expect("plans");
    assert_eq!(plan.experiments[0].cells.len(), 1);
    assert_eq!(study.headline, None);
}

#[test]
fn what_makes_no_study_is_refused() {
    let fault = |nodes, vary: &[Vary], argv: &[&str]| {
        command_study(nodes, vary, &words(argv)).expect_err("refused").to_string()
    };
    assert!(fault(0, &[], &["true"]).starts_with("--nodes: "));
    assert!(fault(1, &[], &[]).contains("no command is given"));
    assert!(fault(1, &[vary("system", &["kosmos-srio"])], &["true"]).contains("vary `fabric`"));
    assert!(fault(1, &[vary("nodes", &["1", "2"])], &["true"]).contains("--nodes"));
    assert!(fault(1, &[vary("env.a b", &["1"])], &["true"]).starts_with("--vary env.a b: "));
    assert!(fault(1, &[vary("env.", &["1"])], &["true"]).starts_with("--vary env.: "));
    assert!(fault(1, &[vary("env.CROSSTALK_NODE", &["1"])], &["true"]).contains("Crosstalk's own"));
    assert!(fault(1, &[vary("env.a", &["1"]), vary("env.a", &["2"])], &["true"]).contains("twice"));
    assert!(fault(1, &[vary("env.a", &["1", "1"])], &["true"]).contains("twice"));
    assert!(fault(1, &[vary("env.a", &[])], &["true"]).starts_with("--vary: "));
}

#[test]
fn a_slip_of_the_finger_is_no_environment_variable() {
    let fault = |name: &str| {
        command_study(1, &[vary(name, &["1", "2"])], &words(&["true"])).expect_err(name).to_string()
    };
    for near in ["fabrik", "Fabric", "fabrics"] {
        assert!(fault(near).contains("did you mean `fabric`?"), "{}", fault(near));
    }
    assert!(fault("threads").starts_with("--vary threads: unknown factor `threads`"));
    for far in ["threads", "envthreads", "env-threads"] {
        assert!(fault(far).contains("--vary env.threads=1,2"), "{}", fault(far));
    }
}
