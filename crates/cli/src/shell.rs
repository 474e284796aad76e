//! Command lines that a shell reads back: to repeat a run, and to resume it.

use clap::ValueEnum;
use crosstalk_core::quote::shell_word;
use crosstalk_lab::rundir::RunDir;

use crate::args::{ExportArgs, RunArgs, TestbedKind};
use crate::catalogue;

/// The command line that repeats a run. If the study was read from a file or changed, it names the copy in the
/// run's directory, because the file may change.
pub fn repeat_line(args: &RunArgs, dir: &RunDir, is_quick: bool) -> String {
    let study = &args.study;
    let Some(name) = &study.study else { return this_command_line() };
    let is_changed = study.engine.is_some()
        || !study.set.is_empty()
        || !study.looks.is_empty()
        || !study.catalogue.is_empty()
        || study.scale.is_some()
        || study.seed.is_some()
        || study.runs.is_some()
        || study.warmup.is_some()
        || study.prepare.is_some();
    if !catalogue::is_path(name) && !is_changed {
        return this_command_line();
    }
    let mut words =
        vec!["crosstalk".to_string(), "run".into(), dir.path().join("study.toml").display().to_string()];
    if is_quick {
        words.push("--quick".into());
    }
    if !study.catalogue.is_empty() {
        words.extend(["--catalogue".into(), dir.path().join("catalogue").display().to_string()]);
    }
    if let Some(testbed) =
        args.perform.testbed.to_possible_value().filter(|_| args.perform.testbed != TestbedKind::Auto)
    {
        words.extend(["--testbed".into(), testbed.get_name().into()]);
    }
    if let Some(deadline) = &args.perform.deadline {
        words.extend(["--deadline".into(), deadline.clone()]);
    }
    words.extend(args.perform.gate.then(|| "--gate".into()));
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// This program's command line, to be typed again: without files to write, which exist by then.
pub fn this_command_line() -> String {
    let words = without_outputs(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()));
    std::iter::once("crosstalk".to_string())
        .chain(words.iter().map(|word| shell_word(word)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Flags for files and output, with a value and without.
const OUTPUT_OPTIONS: [&str; 5] = ["--out", "--save", "--export-csv", "--export-json", "--export-markdown"];
const OUTPUT_FLAGS: [&str; 3] = ["--json", "--force", "--quiet"];

/// The words without those flags. Words after `--` are the user's command, and stay.
fn without_outputs(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words = words.peekable();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => {
                kept.push(word);
                kept.extend(words.by_ref());
            }
            flag if OUTPUT_OPTIONS.contains(&flag) => drop(words.next()),
            flag if OUTPUT_FLAGS.contains(&flag) => {}
            flag if flag.split_once('=').is_some_and(|(flag, _)| OUTPUT_OPTIONS.contains(&flag)) => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// How to resume an interrupted run, with the exports that were requested.
pub fn resume_line(dir: &RunDir, export: &ExportArgs) -> String {
    let files: String = export
        .files()
        .map(|(flag, path)| format!(" {flag} {}", shell_word(&path.display().to_string())))
        .collect();
    format!("resume it with: crosstalk resume {}{files}", dir_word(dir))
}

/// A run's directory as a word for a shell.
pub fn dir_word(dir: &RunDir) -> String {
    shell_word(&dir.path().display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_command_line_has_no_outputs() {
        let words = |text: &str| without_outputs(text.split(' ').map(String::from)).join(" ");
        assert_eq!(words("--json run kosmos --out runs/a --quick --out=b"), "run kosmos --quick");
        assert_eq!(words("run --save my.toml --force --export-csv=a.csv --quiet -- job"), "run -- job");
        assert_eq!(
            words("run --nodes 2 --out x -- ./job --out y --json"),
            "run --nodes 2 -- ./job --out y --json"
        );
    }
}
