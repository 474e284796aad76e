//! The examples of `--help` work as written.

use crate::common::{crosstalk, stderr, stdout};
use std::path::Path;
use std::process::Command;

/// The examples of a verb, without remarks.
fn examples(dir: &Path, verb: &str) -> Vec<String> {
    let help = stdout(&crosstalk(dir, &[verb, "--help"]));
    let lines = help.lines().filter_map(|line| line.strip_prefix("  crosstalk "));
    let found: Vec<String> =
        lines.map(|line| line.split("  ").next().unwrap_or_default().to_string()).collect();
    assert!(!found.is_empty(), "{verb}: {help}");
    found
}

/// Runs `crosstalk LINE` in a shell.
fn of_shell(dir: &Path, line: &str) {
    let program = env!("CARGO_BIN_EXE_crosstalk");
    let output = Command::new("sh")
        .args(["-c", &format!("'{program}' {line}")])
        .current_dir(dir)
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(0), "{line}: {}{}", stdout(&output), stderr(&output));
}

#[test]
fn examples_of_run_can_be_planned() {
    let dir = tempfile::tempdir().expect("a directory");
    of_shell(dir.path(), "show kosmos > my.toml");
    for line in examples(dir.path(), "run") {
        // A plan writes nothing.
        let written = ["--out runs/six", "--export-json times.json"];
        let line = written.iter().fold(line, |line, flag| line.replace(flag, ""));
        let plan = line.replacen("run ", "plan ", 1);
        assert!(plan.starts_with("plan "), "{line}");
        of_shell(dir.path(), &plan);
    }
}

#[test]
fn examples_that_change_nothing_run_as_written() {
    let dir = tempfile::tempdir().expect("a directory");
    for verb in ["plan", "list", "show", "path", "completions", "man"] {
        for line in examples(dir.path(), verb) {
            // There is no run to read.
            if !line.contains("--measured") {
                let home = dir.path().display().to_string();
                let folders = format!("{home}/.zfunc {home}/.config/fish/completions");
                let bash = format!("{home}/.local/share/bash-completion/completions");
                let made = Command::new("sh").args(["-c", &format!("mkdir -p {folders} {bash}")]).status();
                assert!(made.is_ok_and(|status| status.success()));
                of_shell(dir.path(), &line.replace('~', &home));
            }
        }
    }
}
