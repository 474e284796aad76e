//! A factor takes a level from an earlier experiment's result: planned in stages, run one after the other, judged
//! together.

use crate::mock;
use crate::synthetic::{PlannedStudy, claim, is, number, with_options};
use crosstalk_core::Fault;
use crosstalk_core::value::{Levels, Value};
use crosstalk_study::findings::ClaimVerdict;
use crosstalk_study::plan::PlanOptions;
use crosstalk_study::samples::Run;
use crosstalk_study::{decide, earlier_results, next_block, parse, plan};

/// The number of tasks at which a machine does most, and there each with and without groups.
const STUDY: &str = r#"
schema = "crosstalk.study/1"
title = "Groups at the peak"
looks = [8, 16]

[experiment.load]
work.users = { kind = "users", users = "$tasks", mix = "shared" }
factors = { tasks = [64, 128, 256] }

[experiment.grouped]
work.users = { kind = "users", users = "$tasks", mix = "shared", groups = "$groups" }
compare = { factor = "groups", base = 1 }

[experiment.grouped.factors]
groups = [1, 4]
tasks = { from = { experiment = "load", metric = "jobs_per_minute", factor = "tasks" } }

[claim.peak]
statement = "Throughput peaks at 128 tasks"
experiment = "load"
peak = { metric = "jobs_per_minute", along = "tasks", among = [128] }

[claim.more]
statement = "Four groups do more"
experiment = "grouped"
ratio = { metric = "jobs_per_minute", of = { groups = 4 }, to = { groups = 1 } }
expect = "> 1"
"#;

fn jobs(_: &str, levels: &Levels, _: &str) -> f64 {
    let most = if number(levels, "tasks") == 128.0 { 900.0 } else { 500.0 };
    if levels.get("groups") == Some(&Value::Int(4)) { most * 1.3 } else { most }
}

/// So many blocks of the stage that is run now, after what was run before.
fn continued(before: &Run, planned: &PlannedStudy, blocks: usize) -> Run {
    let now = PlannedStudy { study: planned.study.clone(), plan: planned.plan.of_current_stage() };
    let mut run = before.clone();
    for mut attempt in now.run(blocks, 0.01, 7, &jobs).attempts {
        attempt.id = run.attempts.len() as u64;
        run.attempts.push(attempt);
    }
    run
}

fn decision(planned: &PlannedStudy, run: &Run, look: usize) -> (bool, String) {
    let decision = decide(&planned.study, &mock::catalogues(), &planned.plan, run, look);
    (decision.stop, decision.why)
}

#[test]
fn the_later_experiment_is_run_at_the_earlier_one_s_peak_and_both_are_judged_together() {
    let first = with_options(STUDY, &PlanOptions::default());
    let cells = |planned: &PlannedStudy| {
        planned.plan.of_current_stage().cells().map(|cell| cell.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(cells(&first), ["load at tasks 64", "load at tasks 128", "load at tasks 256"]);
    assert_eq!(
        (first.plan.questions, first.plan.pending_questions),
        (2, 1),
        "pending questions are judged together with it"
    );
    let loaded = continued(&Run::default(), &first, 8);
    let (stop, why) = decision(&first, &loaded, 0);
    assert!(stop, "pending questions are not waited for: {why}");

    let taken = earlier_results(&first.study, &first.plan, &loaded);
    assert_eq!(taken.iter().collect::<Vec<_>>(), [(&"grouped.tasks".to_string(), &Value::Int(128))]);
    let options = PlanOptions { from_results: taken, ..PlanOptions::default() };
    let second = with_options(STUDY, &options);
    assert_eq!(cells(&second), ["grouped at groups 1, tasks 128", "grouped at groups 4, tasks 128"]);
    assert_eq!((second.plan.questions, second.plan.pending_questions), (2, 0));
    assert_eq!(next_block(&second.plan.of_current_stage(), &loaded), 0, "its blocks are its own");
    assert!(earlier_results(&second.study, &second.plan, &loaded).is_empty(), "nothing waits any more");
    assert!(!decision(&second, &continued(&loaded, &second, 4), 0).0);

    let whole = continued(&loaded, &second, 8);
    assert_eq!(next_block(&second.plan.of_current_stage(), &whole), 8);
    assert!(decision(&second, &whole, 0).0);
    let findings = second.findings(&whole);
    for name in ["peak", "more"] {
        assert_eq!(
            claim(&findings, name).verdict,
            ClaimVerdict::Reproduced,
            "{}",
            claim(&findings, name).why
        );
    }
    assert!(
        findings.headline.decided && findings.headline.text.contains("groups 4"),
        "{}",
        findings.headline.text
    );
    assert!(findings.cells.iter().all(|cell| cell.finished == 8));
}

#[test]
fn a_block_that_was_cut_short_counts_for_nothing_although_the_earlier_stage_has_gone_through_it() {
    let first = with_options(STUDY, &PlanOptions::default());
    let loaded = continued(&Run::default(), &first, 8);
    let taken = earlier_results(&first.study, &first.plan, &loaded);
    let second = with_options(STUDY, &PlanOptions { from_results: taken, ..PlanOptions::default() });
    let mut run = continued(&loaded, &second, 3);
    run.attempts.pop();
    assert_eq!(next_block(&second.plan.of_current_stage(), &run), 2);
    let cells = second.findings(&run).cells;
    let grouped = cells.iter().filter(|cell| cell.id.experiment == "grouped").map(|cell| cell.finished);
    assert_eq!(grouped.collect::<Vec<_>>(), [2, 2]);
    assert!(cells.iter().filter(|cell| !is(&cell.id.levels, "groups", "1")).any(|cell| cell.finished == 8));
}

#[test]
fn without_data_there_is_no_level_to_take() {
    let first = with_options(STUDY, &PlanOptions::default());
    assert!(earlier_results(&first.study, &first.plan, &Run::default()).is_empty());
    assert!(
        first.plan.warnings.iter().any(|text| text.contains("waits for the tasks")),
        "{:?}",
        first.plan.warnings
    );
}

fn fault_of(text: &str) -> Fault {
    let planned = parse(text, "f.toml")
        .and_then(|study| plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default()));
    planned.expect_err(text)
}

#[test]
fn what_points_nowhere_or_at_what_comes_later_is_refused_with_a_remedy() {
    let refused = |old: &str, new: &str, says: &str, remedy: &str| {
        assert!(STUDY.contains(old), "{old}");
        let fault = fault_of(&STUDY.replacen(old, new, 1));
        assert!(fault.message.contains(says), "{new}: {fault}");
        assert!(fault.remedy.as_ref().is_some_and(|said| said.contains(remedy)), "{new}: {fault}");
        assert!(fault.place.as_ref().is_some_and(|place| place.starts_with("f.toml:")), "{new}: {fault}");
    };
    let from = "from = { experiment = \"load\", metric = \"jobs_per_minute\", factor = \"tasks\" }";
    let with = |old: &str, new: &str| from.replace(old, new);
    refused(from, &with("load", "laod"), "unknown experiment `laod`", "`load`");
    refused(from, &with("jobs_per_minute", "jobs_per_minut"), "unknown metric", "`jobs_per_minute`");
    refused(from, &with("\"tasks\"", "\"task\""), "unknown factor `task`", "`tasks`");
    refused(from, &with("load", "grouped"), "waits for its own result", "does not wait for this one");
    let later =
        "tasks = { from = { experiment = \"grouped\", metric = \"jobs_per_minute\", factor = \"tasks\" } }";
    refused("tasks = [64, 128, 256]", later, "waits for its own result", "does not wait for this one");
    let over = "to = { groups = 1 }, over = \"load\"";
    let both = "factors = { tasks = [64, 128, 256], groups = [1, 4] }";
    let text = STUDY.replace("factors = { tasks = [64, 128, 256] }", both);
    let fault = fault_of(&text.replace("to = { groups = 1 }", over));
    assert!(fault.message.contains("are run one after the other"), "{fault}");
    let quick = "[claim.peak]";
    refused(
        quick,
        &format!("[quick.experiment.grouped]\n{quick}"),
        "waits for the result of experiment `load`",
        "keep `load`",
    );
}
