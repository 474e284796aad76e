//! Every command that `--help` and the README show is one that this program takes.

use std::process::Command as Process;

use clap::{Command, CommandFactory, Parser};

use super::Cli;

const README: &str = include_str!("../../../../README.md");

/// The command lines of a text of help: what stands behind two spaces is about it.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().filter(|line| line.starts_with("  crosstalk "));
    lines.map(|line| line.trim_start().split("  ").next().unwrap_or_default().to_string()).collect()
}

fn all(command: &Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    examples(&help).into_iter().chain(command.get_subcommands().flat_map(all)).collect()
}

/// Lines of the README's blocks, and what stands in its text between backticks.
fn of_the_readme() -> Vec<String> {
    let mut found = Vec::new();
    for (at, part) in README.split("```").enumerate() {
        let pieces: Vec<&str> =
            if at % 2 == 1 { part.lines().collect() } else { part.split('`').skip(1).step_by(2).collect() };
        let commands = pieces.into_iter().map(|piece| piece.trim_start_matches("sudo "));
        found.extend(
            commands
                .filter(|piece| piece.starts_with("crosstalk ") && !piece.contains('…'))
                .map(|piece| piece.split(" #").next().unwrap_or_default().trim().to_string()),
        );
    }
    found
}

/// The words as a shell hands them over.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" > ").next().unwrap_or_default().replace("$(pidof -s redis-server)", "1");
    let output =
        Process::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().expect("sh runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && !text.is_empty(), "{line}");
    text.lines().map(String::from).collect()
}

#[test]
fn every_example_is_taken() {
    let (help, readme) = (all(&Cli::command()), of_the_readme());
    assert!(help.len() > 40 && readme.len() > 15, "{help:#?}{readme:#?}");
    for line in help.iter().chain(&readme) {
        if let Err(error) = Cli::try_parse_from(words(line)) {
            panic!("{line}: {error}");
        }
        // Few machines hold 10 Gbit/s frame by frame: an example without a scale is refused there.
        assert!(!line.contains(" run ") || !line.contains("fabric=") || line.contains("--scale"), "{line}");
    }
}
