//! Verdicts, as a user of the command line reads them.

use crate::common::{command, computed_study, crosstalk, finish, interrupt, journal, stderr, stdout};
use serde_json::Value;
use std::path::Path;

fn findings(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join("out/findings.json")).expect("reads")).expect("is JSON")
}

/// Runs a command at two or more levels of `A` on this machine. `rest` has further flags, then the program.
fn vary(dir: &Path, levels: &str, rest: &[&str]) -> std::process::Output {
    let vary = format!("env.A={levels}");
    let args = ["run", "--testbed", "local", "--vary", &vary, "--out", "out"];
    crosstalk(dir, &[&args[..], rest].concat())
}

#[test]
fn levels_without_a_difference_are_equivalent_and_end_the_run_early() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = vary(dir.path(), "1,2", &["--margin", "50 %", "--save", "mine.toml", "--", "sleep", "0.2"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let sentence = text.lines().next().unwrap_or_default();
    assert!(sentence.starts_with("A 2 and A 1: equivalent within 50 % on sleep"), "{text}");
    assert!(text.contains("no difference larger than "), "{text}");
    let found = findings(dir.path());
    assert_eq!(found["comparisons"][0]["verdict"], "equivalent");
    assert!((found["comparisons"][0]["margin"].as_f64().expect("a number") - 0.5).abs() < 1e-9);
    let blocks = found["run"]["blocks"].as_u64().expect("a number");
    assert!(blocks < 48, "an interim analysis ends it, and not the last one");
    let saved = std::fs::read_to_string(dir.path().join("mine.toml")).expect("was saved");
    assert!(saved.contains("margin = \"50 %\""), "{saved}");
}

#[test]
fn an_inconclusive_comparison_says_what_the_data_exclude() {
    let dir = tempfile::tempdir().expect("a directory");
    // Every second run of each level takes five times as long, in any order of levels: in each block one level is slow,
    // in turn.
    let state = dir.path().join("n").display().to_string();
    let script = format!(
        "n=$(cat {state}$A 2>/dev/null || echo 0); echo $((n + 1)) > {state}$A; \
         [ $(((n + A) % 2)) = 0 ] || sleep 0.02; sleep 0.005"
    );
    let output = vary(dir.path(), "1,2", &["--margin", "0.5 %", "--looks", "8", "--", "sh", "-c", &script]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let found = findings(dir.path());
    assert_eq!(found["comparisons"][0]["verdict"], "inconclusive", "{text}");
    assert!(text.contains("undecided after 8 blocks"), "{text}");
    assert!(text.contains("no difference larger than ") || text.contains("; between "), "{text}");
    assert!(found["comparisons"][0]["largest"].as_f64().is_some_and(|largest| largest > 0.005), "{text}");
}

#[test]
fn an_impossible_margin_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    for (margin, place) in [("5", "--margin"), ("nix", "--margin"), ("0.1 %", "--margin")] {
        let output = vary(dir.path(), "1,2", &["--margin", margin, "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(place) && stderr(&output).contains("5 %"), "{}", stderr(&output));
    }
    let output = crosstalk(dir.path(), &["run", "--margin", "5 %", "kosmos"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--margin"), "{}", stderr(&output));
}

#[test]
fn the_sentence_names_a_level_that_fails_in_all_tries() {
    let dir = tempfile::tempdir().expect("a directory");
    let fails = ["--looks", "6", "--", "sh", "-c", "[ $A = 2 ] && exit 7; exit 0"];
    let output = vary(dir.path(), "1,2", &fails);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(4), "nothing is compared: {text}{}", stderr(&output));
    let sentence: String = text.lines().take(4).collect::<Vec<_>>().join(" ");
    assert!(sentence.contains("A 2 failed in all 3 blocks") && sentence.contains('7'), "{text}");
    assert!(stderr(&output).contains("nothing was compared"), "{}", stderr(&output));
}

#[test]
fn a_level_that_fails_is_named_and_the_others_are_compared() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = "[ $A = 2 ] && exit 7; sleep 0.01";
    let output = vary(dir.path(), "1,2,3", &["--looks", "8", "--", "sh", "-c", script]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let sentence: String = text.lines().take(4).collect::<Vec<_>>().join(" ");
    let compared = ["A 3: ", "A 3 against A 1", "A 3 and A 1"];
    assert!(compared.iter().any(|words| sentence.contains(words)), "{text}");
    assert!(sentence.contains("A 2 failed in all 3 blocks"), "{text}");
}

#[test]
fn a_command_has_the_name_of_its_script() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("job.sh"), "exit 0\n").expect("writes");
    let output = crosstalk(dir.path(), &["run", "--testbed", "local", "--looks", "6", "--", "sh", "job.sh"]);
    assert!(stdout(&output).starts_with("job.sh: run time "), "{}{}", stdout(&output), stderr(&output));
    assert!(dir.path().join("runs/job.sh-001").is_dir());
}

#[test]
fn a_program_without_a_factor_is_given_up_without_an_empty_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = crosstalk(dir.path(), &["run", "--testbed", "local", "--out", "out", "--", "false"]);
    let said = stdout(&output) + &stderr(&output);
    assert!(said.contains("command failed in 3 blocks running"), "{said}");
    assert!(!said.contains(" at  ") && !said.contains("cell at "), "{said}");
    // The answer is that it failed: no verdict is open, and there are neither numbers nor methods.
    assert_eq!(output.status.code(), Some(4), "{said}");
    let shown = stdout(&output);
    let sentence = shown.lines().take(3).collect::<Vec<_>>().join(" ");
    assert!(
        sentence.starts_with("`false` failed in all 6 attempts (node 0: `false` ended with exit code 1"),
        "{shown}"
    );
    assert!(sentence.contains("; nothing was measured Try: run the command by hand"), "{shown}");
    let page = std::fs::read_to_string(dir.path().join("out/report.html")).expect("is written");
    assert!(page.contains("<code>false</code> failed in all 6 attempts"), "{page}");
    for text in [shown, page, std::fs::read_to_string(dir.path().join("out/report.md")).expect("is written")]
    {
        let absent = ["undecided", "Undecided", "nothing was asked", "no data", "Hodges", "Noise floor"];
        assert!(absent.iter().all(|words| !text.contains(words)), "{text}");
    }
}

/// Both levels take the same time, sometimes more: the direction is inconclusive, and a ratio of 2 is refuted.
const OPEN: &str = r#"
    schema = "crosstalk.study/1"
    title = "Does it take twice as long?"
    looks = [8]
    [experiment.e]
    work.job = { kind = "command", argv = ["sh", "-c", "SCRIPT"], env = [["A", "$A"]] }
    conditions = { fabric = "none" }
    factors = { A = [1, 2] }
    [claim.twice]
    statement = "A 2 takes twice as long"
    experiment = "e"
    ratio = { metric = "run_time", of = { A = 2 }, to = { A = 1 } }
    published = 2.0
    margin = "10 %"
"#;

#[test]
fn a_refuted_size_is_reported_although_the_direction_is_inconclusive() {
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("n").display().to_string();
    let script = format!(
        "n=$(cat {state}$A 2>/dev/null || echo 0); echo $((n + 1)) > {state}$A; \
         [ $(((n + A) % 2)) = 0 ] || sleep 0.03; sleep 0.15"
    );
    std::fs::write(dir.path().join("open.toml"), OPEN.replace("SCRIPT", &script)).expect("writes");
    let output = crosstalk(dir.path(), &["run", "./open.toml", "--testbed", "local", "--out", "out"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let claim = &findings(dir.path())["claims"][0];
    assert_eq!(
        (&claim["verdict"], &claim["size_agrees"]),
        (&"inconclusive".into(), &false.into()),
        "{claim}"
    );
    assert!(text.contains("size refuted"), "{text}");
}

#[test]
fn a_number_from_a_formula_is_labelled_computed_once() {
    let dir = tempfile::tempdir().expect("a directory");
    computed_study(dir.path());
    let output = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local", "--out", "out"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let headline: String = text.lines().take(6).collect::<Vec<_>>().join(" ");
    assert_eq!(headline.matches("computed").count(), 1, "{text}");
    let found = &findings(dir.path())["comparisons"][0];
    assert_eq!((&found["ratio"]["n"], &found["origin"]), (&1.into(), &"computed".into()), "{found}");
    assert!(found["ratio"]["interval"].is_null(), "the same in each block: {found}");
    let attempts: Vec<_> =
        journal(&dir.path().join("out")).into_iter().filter(|l| l["line"] == "attempt").collect();
    let watched = attempts.iter().find(|attempt| !attempt["fidelity"].is_null());
    assert!(!attempts.is_empty() && watched.is_none(), "no machine disturbs a formula: {watched:?}");
}

#[test]
fn an_attempt_that_was_interrupted_did_not_fail() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = ["run", "--testbed", "local", "--vary", "env.A=1,2", "--looks", "40", "--out", "out", "--"];
    let child = command(dir.path(), &[&args[..], &["sleep", "0.2"]].concat()).spawn().expect("starts");
    crate::common::await_samples(&dir.path().join("out"), 16);
    interrupt(child.id());
    assert_eq!(finish(child).status.code(), Some(130));
    let last = journal(&dir.path().join("out")).into_iter().rev().find(|line| line["line"] == "attempt");
    let was_amid = last.is_some_and(|line| line["status"] == "interrupted");
    let text = stdout(&crosstalk(dir.path(), &["report", "out"]));
    assert!(!text.contains("did not finish"), "{text}");
    assert_eq!(text.contains("was interrupted in 1 of"), was_amid, "{text}");
}

#[test]
fn with_two_factors_the_sentence_names_the_other_level_and_the_table_has_every_combination() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = vary(dir.path(), "1,2", &["--vary", "env.MODE=slow,fast", "--runs", "1", "--", "true"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let found = findings(dir.path());
    let sentence = found["headline"]["text"].as_str().expect("a sentence");
    assert!(sentence.contains(" on true at MODE slow"), "{sentence}");
    let rows = found["tables"][0]["rows"].as_array().expect("rows");
    let levels: Vec<_> = rows.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect();
    let each = [("1", "slow"), ("1", "fast"), ("2", "slow"), ("2", "fast")];
    assert_eq!(levels, each.map(|(a, mode)| (Some(a), Some(mode))), "{text}");
}

#[test]
fn an_export_and_the_report_give_the_same_estimates_and_name_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let exports = ["--export-json", "a.json", "--export-csv", "a.csv", "--export-markdown", "a.md"];
    let script = "sleep 0.0$((RANDOM % 3)) 2>/dev/null || sleep 0.01";
    let output =
        vary(dir.path(), "1,2", &[&exports[..], &["--runs", "6", "--", "sh", "-c", script]].concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).expect("was written");
    let rows: Value = serde_json::from_str(&read("a.json")).expect("is JSON");
    let found = findings(dir.path());
    for (row, exported) in found["tables"][0]["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .zip(rows["results"].as_array().expect("rows"))
    {
        assert_eq!(row[1]["estimate"], exported["hodges_lehmann"], "{row} {exported}");
    }
    assert!(text.contains("Estimates: Hodges–Lehmann"), "{text}");
    assert!(read("a.csv").lines().next().is_some_and(|head| head.contains(",hodges_lehmann_low,")));
    assert!(read("a.md").contains("| Hodges-Lehmann | 95 % (signed rank) |"), "{}", read("a.md"));
}

/// Programs that compute, one for each processor; they end with the test.
struct Others(Vec<std::process::Child>);

impl Others {
    fn start() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let spin = |_| std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        Others((0..processors).map(|n| spin(n).expect("starts")).collect())
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_busy_machine_is_reported_while_it_runs_and_once_in_the_report() {
    let dir = tempfile::tempdir().expect("a directory");
    let others = Others::start();
    let output = vary(dir.path(), "1,2", &["--runs", "1", "--", "true"]);
    drop(others);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("this machine is busy: other programs use "), "{}", stderr(&output));
    let later = crosstalk(dir.path(), &["report", "out"]);
    for text in [stdout(&output), stdout(&later)] {
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (context, limits) = said.split_once("Before you believe it").expect("has limits");
        assert!(!context.contains("busy"), "{text}");
        assert_eq!(
            limits.matches("this machine was busy when the run began: other programs used ").count(),
            1,
            "{text}"
        );
    }
}
