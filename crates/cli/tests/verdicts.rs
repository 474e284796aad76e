//! What a verdict may say, as a user of the command line reads it.

mod common;

use common::{crosstalk, stderr, stdout};
use serde_json::Value;
use std::path::Path;

fn findings(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join("out/findings.json")).expect("reads")).expect("is JSON")
}

/// Runs a command at two or more levels of `A` on this machine. What follows are further flags, then the program.
fn vary(dir: &Path, levels: &str, rest: &[&str]) -> std::process::Output {
    let vary = format!("env.A={levels}");
    let args = ["run", "--testbed", "local", "--vary", &vary, "--out", "out"];
    crosstalk(dir, &[&args[..], rest].concat())
}

#[test]
fn what_makes_no_difference_is_equivalent_and_ends_early() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = vary(dir.path(), "1,2", &["--margin", "30 %", "--save", "mine.toml", "--", "sleep", "0.1"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let sentence = text.lines().next().unwrap_or_default();
    assert!(sentence.starts_with("A 2 and A 1: equivalent within 30 % on sleep"), "{text}");
    assert!(text.contains("no difference larger than "), "{text}");
    let found = findings(dir.path());
    assert_eq!(found["comparisons"][0]["verdict"], "equivalent");
    assert!((found["comparisons"][0]["margin"].as_f64().expect("a number") - 0.3).abs() < 1e-9);
    assert_eq!(found["run"]["blocks"], 12, "the first interim analysis ends it");
    let saved = std::fs::read_to_string(dir.path().join("mine.toml")).expect("was saved");
    assert!(saved.contains("margin = \"30 %\""), "{saved}");
}

#[test]
fn what_is_undecided_says_what_the_data_exclude() {
    let dir = tempfile::tempdir().expect("a directory");
    // Every second run of each level takes five times as long, in whichever order levels run: where one is slow
    // the other is not, in turn.
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
    assert!(text.contains("no difference larger than "), "{text}");
    assert!(found["comparisons"][0]["largest"].as_f64().is_some_and(|largest| largest > 0.005), "{text}");
}

#[test]
fn a_margin_that_is_none_is_refused() {
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
fn a_level_that_fails_in_all_tries_is_told_in_the_sentence() {
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
fn a_level_that_fails_beside_others_is_told_and_the_others_compared() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = "[ $A = 2 ] && exit 7; sleep 0.01";
    let output = vary(dir.path(), "1,2,3", &["--looks", "8", "--", "sh", "-c", script]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let sentence: String = text.lines().take(4).collect::<Vec<_>>().join(" ");
    assert!(sentence.contains("A 3: ") || sentence.contains("A 3 against A 1"), "{text}");
    assert!(text.contains("A 2 failed in all 3 blocks"), "{text}");
}

#[test]
fn a_command_is_called_by_its_script() {
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
}

#[test]
fn of_two_factors_the_sentence_says_where_and_the_table_has_every_combination() {
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

/// Programs that compute, one a processor; they end with the test.
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
fn a_busy_machine_is_told_beside_the_verdict_now_and_later() {
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
        assert!(context.contains("This machine was busy when the run began: other programs used "), "{text}");
        assert!(limits.contains("this machine was busy when the run began"), "{text}");
    }
}
