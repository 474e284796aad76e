//! A test: this program accepts every command that `--help`, the README and the pages show.

use std::fs;
use std::path::Path;
use std::process::Command as Process;

use clap::{Command, CommandFactory, Parser};

use super::Cli;

const README: &str = include_str!("../../../../README.md");

/// The command lines of a help text. Two spaces separate a command from the remark about it.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().filter(|line| line.starts_with("  crosstalk "));
    lines.map(|line| line.trim_start().split("  ").next().unwrap_or_default().to_string()).collect()
}

fn all(command: &Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    examples(&help).into_iter().chain(command.get_subcommands().flat_map(all)).collect()
}

/// The command line at the start of a line or a piece of text, without a remark.
fn command(piece: &str) -> Option<String> {
    let piece = piece.trim_start_matches("sudo ");
    let is_one = piece.starts_with("crosstalk ") && !piece.contains('…');
    is_one.then(|| piece.split(" #").next().unwrap_or_default().trim().to_string())
}

/// The commands in a page's blocks, or those between backticks in its text.
fn commands(page: &str, in_blocks: bool) -> Vec<String> {
    let parts = page.split("```").skip(usize::from(in_blocks)).step_by(2);
    let pieces = |part: &str| -> Vec<String> {
        match in_blocks {
            true => part.lines().filter_map(command).collect(),
            false => part.split('`').skip(1).step_by(2).filter_map(command).collect(),
        }
    };
    parts.flat_map(pieces).collect()
}

fn of_the_readme() -> Vec<String> {
    [commands(README, true), commands(README, false)].concat()
}

/// The commands in the blocks of all other pages; no test runs those that need something.
fn of_the_pages() -> Vec<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let files = ["how-to", "explanation"].map(|folder| fs::read_dir(docs.join(folder)).expect("a folder"));
    let files = files.into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.chain([docs.join("tutorial.md")]);
    files.flat_map(|file| commands(&fs::read_to_string(file).expect("a page"), true)).collect()
}

/// The words of a command line, split by a shell.
fn words(line: &str) -> Vec<String> {
    let line = line.split(" > ").next().unwrap_or_default().replace("$(pidof -s redis-server)", "1");
    let output =
        Process::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().expect("sh runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && !text.is_empty(), "{line}");
    text.lines().map(String::from).collect()
}

#[test]
fn every_example_is_accepted() {
    let (help, readme, pages) = (all(&Cli::command()), of_the_readme(), of_the_pages());
    assert!(help.len() > 40 && readme.len() > 15 && pages.len() > 50, "{help:#?}{readme:#?}{pages:#?}");
    for line in help.iter().chain(&readme).chain(&pages) {
        if let Err(error) = Cli::try_parse_from(words(line)) {
            panic!("{line}: {error}");
        }
        // Few machines hold 10 Gbit/s frame by frame: an example without a scale is refused there.
        assert!(!line.contains(" run ") || !line.contains("fabric=") || line.contains("--scale"), "{line}");
    }
}
