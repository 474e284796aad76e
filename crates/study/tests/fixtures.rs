//! The bundled studies and the three fixtures parse and plan, exactly as the
//! golden files say. `CROSSTALK_REWRITE=1` writes these files anew.

use crate::mock;
use crosstalk_core::value::Value;
use crosstalk_study::plan::Plan;
use crosstalk_study::{PlanOptions, bundled_study, parse, plan, to_toml};
use std::fmt::Write;
use std::path::PathBuf;

const FIXTURES: [(&str, &str); 3] = [
    ("groups", include_str!("fixtures/groups.toml")),
    ("infiniband", include_str!("fixtures/infiniband.toml")),
    ("volunteer", include_str!("fixtures/volunteer.toml")),
];

fn studies() -> Vec<(&'static str, &'static str)> {
    let mut studies = FIXTURES.to_vec();
    studies.extend(["kosmos", "latency"].map(|name| (name, bundled_study(name).expect("is bundled"))));
    studies
}

/// A plan as a person would compare it.
fn described(plan: &Plan) -> String {
    let mut text =
        format!("{}: seed {}, looks {:?}, quick {}\n", plan.study, plan.seed, plan.looks, plan.quick);
    for experiment in &plan.experiments {
        let metrics: Vec<&str> = experiment.metrics.iter().map(|metric| metric.name.as_str()).collect();
        let _ = writeln!(
            text,
            "\n{}: {} cells, metrics {}",
            experiment.name,
            experiment.cells.len(),
            metrics.join(" ")
        );
        for cell in &experiment.cells {
            let levels: Vec<String> =
                cell.levels.iter().map(|(name, level)| format!("{name}={level}")).collect();
            let _ = writeln!(text, "  {} @ {:?}", levels.join(" "), cell.scene.place);
        }
    }
    let _ = writeln!(text, "\nblock 0: {:?}", plan.order(0));
    for warning in &plan.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

fn compare_with_golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("CROSSTALK_REWRITE").is_some() {
        std::fs::write(&path, found).expect("writes");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    assert!(golden == found, "{name} is planned otherwise than {} says:\n{found}", path.display());
}

fn options() -> PlanOptions {
    let mut options = PlanOptions::default();
    options.discovered.insert("cores".into(), vec![1.into(), 2.into()]);
    options
}

#[test]
fn every_study_is_planned_as_its_golden_file_says() {
    let (registry, catalogues) = (mock::registry(), mock::catalogues());
    for (name, text) in studies() {
        let study = parse(text, &format!("{name}.toml")).unwrap_or_else(|fault| panic!("{fault}"));
        let plan = plan(&study, &catalogues, &registry, &options()).unwrap_or_else(|fault| panic!("{fault}"));
        compare_with_golden(name, &described(&plan));
    }
}

#[test]
fn the_quick_plans_are_as_their_golden_files_say() {
    let (registry, catalogues) = (mock::registry(), mock::catalogues());
    for (name, text) in studies() {
        let study = parse(text, &format!("{name}.toml")).expect("reads");
        let options = PlanOptions { quick: true, ..options() };
        let plan = plan(&study, &catalogues, &registry, &options).unwrap_or_else(|fault| panic!("{fault}"));
        compare_with_golden(&format!("{name}-quick"), &described(&plan));
    }
}

#[test]
fn every_study_survives_writing() {
    for (name, text) in studies() {
        let study = parse(text, &format!("{name}.toml")).expect("reads");
        let written = to_toml(&study);
        let read =
            parse(&written, "written.toml").unwrap_or_else(|fault| panic!("{name}: {fault}\n{written}"));
        assert_eq!(read, study, "{name}");
    }
}

#[test]
fn an_earlier_result_completes_a_pending_experiment() {
    let study = parse(FIXTURES[0].1, "groups.toml").expect("reads");
    let mut options = options();
    let planned = |options: &PlanOptions| {
        let plan = plan(&study, &mock::catalogues(), &mock::registry(), options).expect("plans");
        plan.experiments.into_iter().find(|experiment| experiment.name == "grouped").expect("is there")
    };
    let before = planned(&options);
    assert!(before.pending.is_some_and(|why| why.contains("peaks in experiment `load`")));
    assert_eq!(before.cells.len(), 0);

    options.from_results.insert("grouped.tasks".into(), 512.into());
    let after = planned(&options);
    assert_eq!(after.pending, None);
    assert_eq!(after.cells.len(), 7);
    assert!(after.cells.iter().all(|cell| cell.levels["tasks"] == Value::Int(512)));
}

#[test]
fn what_the_host_cannot_run_is_no_part_of_a_block_and_is_said_once_with_its_remedy() {
    let text = FIXTURES[2].1.replacen("kind = \"boinc\"", "kind = \"absent\"", 1);
    let study = parse(&text, "volunteer.toml").expect("reads");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &options()).expect("plans");
    let lacking = plan.cells().filter(|cell| cell.lacks.is_some()).count();
    assert!(lacking > 0 && plan.runnable().count() > 0);
    assert_eq!(plan.order(0).len(), plan.runnable().count());
    let said: Vec<&String> =
        plan.warnings.iter().filter(|text| text.contains("apt install boinc-client")).collect();
    assert_eq!(said.len(), 1, "{:?}", plan.warnings);
    assert!(said[0].ends_with(&format!("not run: {lacking} cells")), "{}", said[0]);
    let whole = parse(FIXTURES[2].1, "volunteer.toml").expect("reads");
    let whole =
        crosstalk_study::plan(&whole, &mock::catalogues(), &mock::registry(), &options()).expect("plans");
    assert!(plan.seconds(1.0).block < whole.seconds(1.0).block, "what is not run takes no time");
}

#[test]
fn what_the_host_lacks_is_no_question() {
    let text = r#"
        schema = "crosstalk.study/1"
        title = "Two questions, and two that this host cannot answer"
        looks = [12]
        [experiment.own]
        work.own = { kind = "primes", threads = "$own" }
        factors = { own = [1, 2, 4] }
        compare = { factor = "own", base = 1, metric = "run_time" }
        [experiment.donated]
        work.own = { kind = "primes", threads = 1 }
        work.external = { kind = "absent", ncpus = "$external" }
        factors = { external = [1, 2] }
        compare = { factor = "external", base = 1, metric = "run_time" }
        [claim.fewer]
        statement = "More external threads take longer, by another metric"
        experiment = "donated"
        ratio = { metric = "donated_time", of = { external = 2 }, to = { external = 1 } }
        expect = "> 1"
    "#;
    let study = parse(text, "lacks.toml").expect("reads");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &options()).expect("plans");
    assert_eq!(plan.questions, 2, "{:?}", plan.warnings);
}

#[test]
fn a_plan_says_which_levels_are_the_same_here() {
    let study = |levels: &str| {
        let text = format!(
            r#"
            schema = "crosstalk.study/1"
            name = "threads"
            title = "Threads"
            looks = [12]
            [experiment.owner]
            work.own = {{ kind = "primes", threads = "$own", limit = "$limit" }}
            factors = {{ own = {levels}, limit = [10, 20] }}
            "#
        );
        let study = parse(&text, "threads.toml").expect("reads");
        plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default()).expect("plans")
    };
    let said = "experiment `owner`: `quarter` and `half` of `own` are the same on this machine";
    let planned = study(r#"["quarter", "half", "all"]"#);
    assert_eq!(planned.warnings, [said]);
    assert_eq!(planned.experiments[0].cells.len(), 6, "they are run as the study says");
    assert_eq!(study(r#"["half", "all"]"#).warnings, [""; 0]);
}
