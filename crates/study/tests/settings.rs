//! `--set`, `--quick`, seed and looks: what the command line changes.

use crate::mock;
use crosstalk_core::value::Value;
use crosstalk_study::file::Study;
use crosstalk_study::plan::Plan;
use crosstalk_study::{PlanOptions, bundled_study, parse, parse_setting, plan, resolve, to_toml};

fn kosmos() -> Study {
    parse(bundled_study("kosmos").expect("is bundled"), "kosmos.toml").expect("reads")
}

/// The study without the experiments whose factors and parameters are called alike: short names will do.
fn one_application() -> Study {
    let mut study = kosmos();
    let kept = |name: &str| ["bandwidth", "graph"].contains(&name);
    study.experiment.retain(|name, _| kept(name));
    study.claim.retain(|_, claim| claim.experiments().all(|(_, name)| kept(name)));
    study.figure.clear();
    study.table.clear();
    study.quick = None;
    study.engine.clear();
    study
}

fn set(texts: &[&str]) -> PlanOptions {
    let set = texts.iter().map(|text| parse_setting(text).expect("reads")).collect();
    PlanOptions { set, ..PlanOptions::default() }
}

fn planned(options: &PlanOptions) -> Plan {
    plan(&kosmos(), &mock::catalogues(), &mock::registry(), options).unwrap_or_else(|fault| panic!("{fault}"))
}

fn cells(plan: &Plan, experiment: &str) -> usize {
    plan.experiments
        .iter()
        .find(|planned| planned.name == experiment)
        .map_or(0, |planned| planned.cells.len())
}

#[test]
fn values_are_words_lists_or_toml() {
    let value = |text: &str| parse_setting(text).expect("reads").1;
    assert_eq!(value("a=4"), Value::Int(4));
    assert_eq!(value("a = x"), Value::Text("x".into()));
    assert_eq!(value("a=1,x"), Value::List(vec![1.into(), "x".into()]));
    assert_eq!(value("a=[\"1,2\", 3]"), Value::List(vec!["1,2".into(), 3.into()]));
    for bad in ["a", "=1", "a=", "a=[1"] {
        assert_eq!(parse_setting(bad).expect_err("refused").place.as_deref(), Some("--set"), "{bad}");
    }
}

#[test]
fn a_factor_takes_other_levels() {
    let two_counts = planned(&set(&["graph.slaves=1,3"]));
    assert_eq!(cells(&two_counts, "graph"), 4 * (2 + 2));
    let options = set(&["boards=one"]);
    let one_board =
        plan(&one_application(), &mock::catalogues(), &mock::registry(), &options).expect("plans");
    assert_eq!(
        cells(&one_board, "graph"),
        4,
        "more slaves than one do not fit on one board, which is excluded"
    );
}

#[test]
fn a_parameter_takes_another_value() {
    for (study, key) in [
        (kosmos(), "graph.pagerank.scale=20"),
        (kosmos(), "graph.scale=20"),
        (one_application(), "pagerank.scale=20"),
        (one_application(), "scale=20"),
    ] {
        let plan = plan(&study, &mock::catalogues(), &mock::registry(), &set(&[key])).expect("plans");
        let graph = plan.experiments.iter().find(|planned| planned.name == "graph").expect("is there");
        assert_eq!(graph.cells[0].scene.work["pagerank"].params.get("scale"), Some(&Value::Int(20)));
    }
}

#[test]
fn a_setting_goes_before_quick() {
    let mut options = set(&["graph.slaves=2", "graph.pagerank.scale=10"]);
    options.quick = true;
    let plan = planned(&options);
    assert_eq!(Some(plan.looks.clone()), kosmos().quick.and_then(|quick| quick.looks));
    assert_eq!(cells(&plan, "graph"), 2);
    let graph = plan.experiments.iter().find(|planned| planned.name == "graph").expect("is there");
    assert_eq!(graph.cells[0].scene.work["pagerank"].params.get("scale"), Some(&Value::Int(10)));
}

#[test]
fn a_resolved_study_reads_and_plans_the_same_again() {
    let mut options = set(&["graph.slaves=3", "graph.pagerank.scale=12"]);
    options.seed = Some(9);
    options.looks = Some(vec![3]);
    for quick in [false, true] {
        options.quick = quick;
        let resolved = resolve(&kosmos(), &mock::registry(), &options).expect("resolves");
        let again = parse(&to_toml(&resolved), "study.toml").unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(again, resolved);
        let only_quick = PlanOptions { quick, ..PlanOptions::default() };
        let replayed = plan(&again, &mock::catalogues(), &mock::registry(), &only_quick).expect("plans");
        assert_eq!(replayed, planned(&options));
        assert_eq!((replayed.seed, replayed.looks), (9, vec![3]));
    }
}

#[test]
fn a_base_that_is_not_run_is_a_warning() {
    let plan = planned(&set(&["graph.system=moonshot,kosmos-srio"]));
    assert!(
        plan.warnings.iter().any(|w| w.contains(
            "system = microblade, the base of the comparison, is not run: nothing is compared with it (try: --set \
             graph.system=microblade,moonshot,kosmos-srio)"
        )),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn keys_that_mean_nothing_or_too_much() {
    let fault = |text: &str| {
        plan(&kosmos(), &mock::catalogues(), &mock::registry(), &set(&[text])).expect_err(text).to_string()
    };
    assert!(
        fault("system=moonshot")
            .contains("name one: bandwidth.system, chassis.system, chassis-alltoall.system")
    );
    assert!(fault("scale=12").contains("name one: aa.pagerank.scale, chassis.pagerank.scale"));
    assert!(fault("pagerank.scale=12").contains("name one: aa.pagerank.scale, chassis.pagerank.scale"));
    let seeds = fault("seed=12");
    assert!(
        ["aa", "graph"].iter().all(|name| seeds.contains(&format!("{name}.pagerank.seed"))),
        "not written"
    );
    assert!(fault("pagerank.scal=12").contains("unknown experiment `pagerank`"));
    assert!(fault("slavs=1").contains("did you mean `slaves`?"));
    assert!(fault("graph.slavs=1").contains("did you mean `slaves`?"));
    assert!(fault("grap.slaves=1").contains("did you mean `graph`?"));
    assert!(fault("graph.pagerang.scale=1").contains("did you mean `pagerank`?"));
    assert!(fault("graph.pagerank.slaves=1").contains("set the factor: --set graph.slaves=1"));
    assert!(fault("graph.slaves=1,1").starts_with("--set graph.slaves: level `1` is listed twice"));
    assert!(fault("graph.pagerank.scal=1").contains("unknown parameter of `pagerank`: `scal`"));
}

#[test]
fn a_study_without_a_quick_section_says_so() {
    let mut study = kosmos();
    study.quick = None;
    study.engine.clear();
    let options = PlanOptions { quick: true, ..PlanOptions::default() };
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &options).expect("plans");
    assert_eq!(plan.looks, [16]);
    assert!(plan.warnings.iter().any(|warning| warning.contains("no [quick] section")));
}

#[test]
fn looks_from_the_command_line_ascend_too() {
    let options = PlanOptions { looks: Some(vec![4, 2]), ..PlanOptions::default() };
    assert!(resolve(&kosmos(), &mock::registry(), &options).is_err());
}

#[test]
fn the_estimate_adds_up_blocks_and_looks() {
    let time = planned(&PlanOptions::default()).wall_time(1.0);
    let (sizes, published_ratings) = (3.0 * 6.0, 4.0);
    let curves = 3.0 * (12.0 + 10.0) + sizes + published_ratings;
    let three_applications = 3.0 * 20.0 + curves;
    let short_of_memory = 18.0 + 14.0;
    let boards = 6.0 + 8.0;
    let (loading, equal_cells, streams) = (4.0, 2.0, 36.0);
    let all = streams + three_applications + short_of_memory + boards + loading + equal_cells;
    assert_eq!(time.block, 2.0 * all);
    // Curves and sizes are drawn from 8 blocks, and streams are computed once.
    let until = |look: f64| look * time.block - (look - 8.0) * 2.0 * curves - (look - 1.0) * 2.0 * streams;
    assert_eq!((time.least, time.most), (until(16.0), until(32.0)));
}
