//! Three fixtures, written for tests alone, parse and plan with the mock registry.

use crate::{mock, synthetic};
use crosstalk_core::testbed::Link;
use crosstalk_core::units::BitRate;
use crosstalk_core::value::Value;
use crosstalk_study::plan::{Place, Plan, PlannedExperiment};
use crosstalk_study::samples::Run;
use crosstalk_study::{PlanOptions, bundled_studies, parse, plan, to_toml};

const FIXTURES: [(&str, &str); 3] = [
    ("groups", include_str!("fixtures/groups.toml")),
    ("infiniband", include_str!("fixtures/infiniband.toml")),
    ("volunteer", include_str!("fixtures/volunteer.toml")),
];

fn options() -> PlanOptions {
    let mut options = PlanOptions::default();
    options.discovered.insert("cores".into(), vec![1.into(), 2.into()]);
    options
}

/// The plan of a fixture.
fn planned(name: &str, quick: bool) -> Plan {
    let (_, text) = FIXTURES.iter().find(|(known, _)| *known == name).expect("is a fixture");
    let study = parse(text, &format!("{name}.toml")).unwrap_or_else(|fault| panic!("{fault}"));
    let options = PlanOptions { quick, ..options() };
    plan(&study, &mock::catalogues(), &mock::registry(), &options).unwrap_or_else(|fault| panic!("{fault}"))
}

/// `owner: 24 cells; run_time donated_time`, an experiment a line.
fn summary(plan: &Plan) -> Vec<String> {
    let line = |experiment: &PlannedExperiment| {
        let metrics: Vec<&str> = experiment.metrics.iter().map(|metric| metric.name.as_str()).collect();
        format!("{}: {} cells; {}", experiment.name, experiment.cells.len(), metrics.join(" "))
    };
    plan.experiments.iter().map(line).collect()
}

#[test]
fn an_experiment_has_a_cell_for_every_combination_that_is_not_excluded() {
    let groups = planned("groups", false);
    assert_eq!((groups.seed, groups.looks.as_slice(), groups.quick), (3, &[15, 30][..], false));
    assert_eq!(
        summary(&groups),
        [
            "cores: 2 cells; jobs_per_minute",
            "gain: 0 cells; jobs_per_minute",
            "grouped: 0 cells; jobs_per_minute",
            "load: 6 cells; jobs_per_minute",
        ]
    );
    assert_eq!(
        summary(&planned("infiniband", false)),
        [
            "files: 12 cells; operation_time",
            "hpl: 6 cells; flops",
            "mpi: 20 cells; call_time",
            "npb: 16 cells; run_time time_communicating",
        ]
    );
    let volunteer = planned("volunteer", false);
    assert_eq!(volunteer.looks, [12, 24, 48]);
    assert_eq!(
        summary(&volunteer),
        [
            "database: 4 cells; requests donated_time",
            "limits: 16 cells; run_time donated_time",
            "owner: 24 cells; run_time donated_time memory_pressure major_faults",
        ]
    );
}

#[test]
fn cells_stand_on_links_of_their_fabric_and_on_the_nodes_that_their_work_takes() {
    for cell in planned("infiniband", false).cells() {
        let Place::Real { fabric, link, scale, nodes } = &cell.scene.place else {
            panic!("{}: expected links in real time", cell.id);
        };
        assert_eq!(*fabric, cell.id.levels["network"].to_string(), "{}", cell.id);
        let rate = if fabric == "myrinet-2000" { 2e9 } else { 8e9 };
        match fabric.as_str() {
            "myrinet-2000" | "infiniband-4x-sdr" => {
                assert_eq!(*link, Link::Rate(BitRate(rate)), "{}", cell.id)
            }
            _ => assert!(matches!(link, Link::Rate(_)), "{}", cell.id),
        }
        assert_eq!((*scale, *nodes), (1.0, 4), "{}", cell.id);
    }
    for cell in planned("volunteer", false).cells() {
        assert!(
            matches!(cell.scene.place, Place::Real { link: Link::Unshaped, nodes: 1, .. }),
            "{}",
            cell.id
        );
    }
}

#[test]
fn a_quick_plan_has_what_the_study_keeps_else_all_until_the_first_look() {
    let volunteer = planned("volunteer", true);
    assert!(volunteer.quick);
    let owner = "owner: 2 cells; run_time donated_time memory_pressure major_faults";
    assert_eq!((summary(&volunteer), volunteer.looks), (vec![owner.to_string()], vec![12]));
    let infiniband = planned("infiniband", true);
    assert_eq!(summary(&infiniband), summary(&planned("infiniband", false)));
    assert_eq!(infiniband.looks, [12]);
    assert!(infiniband.warnings[0].contains("no [quick] section"), "{:?}", infiniband.warnings);
}

#[test]
fn every_study_survives_writing() {
    for (name, text) in FIXTURES.iter().chain(bundled_studies()) {
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
    assert!(after.cells.iter().all(|cell| cell.id.levels["tasks"] == Value::Int(512)));
}

#[test]
fn what_the_host_cannot_run_is_no_part_of_a_block_and_is_said_once_with_its_remedy() {
    let text = FIXTURES[2].1.replacen("kind = \"boinc\"", "kind = \"absent\"", 1);
    let study = parse(&text, "volunteer.toml").expect("reads");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &options()).expect("plans");
    let lacking = plan.cells().filter(|cell| cell.unmet_need.is_some()).count();
    assert!(lacking > 0 && plan.runnable().count() > 0);
    assert_eq!(plan.cells_in_order(0).len(), plan.runnable().count());
    let limits = plan.limits();
    let said: Vec<&String> = limits.iter().filter(|text| text.contains("apt install boinc-client")).collect();
    assert_eq!(said.len(), 1, "{limits:?}");
    assert!(said[0].ends_with(&format!("not run: {lacking} cells")), "{}", said[0]);
    let whole = parse(FIXTURES[2].1, "volunteer.toml").expect("reads");
    let whole =
        crosstalk_study::plan(&whole, &mock::catalogues(), &mock::registry(), &options()).expect("plans");
    assert!(plan.wall_time(1.0).block < whole.wall_time(1.0).block, "what is not run takes no time");
}

/// A study half of which no host can run.
const LACKS: &str = r#"
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

#[test]
fn what_the_host_lacks_is_no_question() {
    let study = parse(LACKS, "lacks.toml").expect("reads");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &options()).expect("plans");
    assert_eq!(plan.questions, 2, "{:?}", plan.limits());
}

#[test]
fn a_report_says_what_the_runs_host_lacked_and_not_its_own() {
    let planned = synthetic::planned_study(LACKS);
    let lacking = |run: &Run| {
        let warnings = planned.findings(run).warnings;
        warnings
            .into_iter()
            .filter(|text| text.starts_with("`absent` needs boinc-client"))
            .collect::<Vec<_>>()
    };
    let mut run = planned.run(12, 0.01, 7, &|_, levels, _| levels.len() as f64);
    assert_eq!(lacking(&run), [""; 0], "the run's host had all");
    run.attempts.retain(|attempt| attempt.cell.experiment == "own");
    assert!(lacking(&run)[0].ends_with("not run: 2 cells"), "{:?}", lacking(&run));
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
