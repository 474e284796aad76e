//! The command line: a page for each command, from clap's definition of it.

use clap::{Arg, Command};

use super::markdown::{code, prose, table};
use super::page::Page;
use crate::verb::completions::visible_commands;

/// A page for each command, and one that lists them.
pub fn pages() -> Vec<Page> {
    let mut whole = visible_commands();
    whole.build();
    let mut all = vec![list(&whole)];
    all.extend(leaves(&whole).into_iter().map(page));
    all
}

/// The commands without subcommands, which do something.
fn leaves(of: &Command) -> Vec<&Command> {
    of.get_subcommands()
        .filter(|command| command.get_name() != "help" && !command.is_hide_set())
        .flat_map(|command| if command.has_subcommands() { leaves(command) } else { vec![command] })
        .collect()
}

/// `crosstalk probe latency`.
fn full_name(command: &Command) -> &str {
    command.get_bin_name().unwrap_or(command.get_name())
}

/// `probe-latency.md`.
fn file(command: &Command) -> String {
    let words: Vec<&str> = full_name(command).split(' ').skip(1).collect();
    format!("{}.md", words.join("-"))
}

fn about(command: &Command) -> String {
    let text = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    prose(&text)
}

fn list(whole: &Command) -> Page {
    let rows = leaves(whole).into_iter().map(|command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        [format!("[{}]({})", code(full_name(command)), file(command)), prose(&about)]
    });
    let commands = table(["command", "does"], rows);
    let options = table(["option", "meaning"], whole.get_arguments().filter(|a| is_shown(a)).map(row));
    let text = format!(
        "# Command line\n\n{}\n\n{commands}\n## Options of every command\n\n{options}\n{}",
        about(whole),
        after(whole)
    );
    Page::new("command-line/README.md", text)
}

fn page(command: &Command) -> Page {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim_end();
    let mut text = format!("# {}\n\n{}\n\n```text\n{usage}\n```\n", full_name(command), about(command));
    let of_command = |arg: &&Arg| is_shown(arg) && !arg.is_global_set();
    let arguments = table(["argument", "meaning"], command.get_positionals().filter(of_command).map(row));
    if !arguments.is_empty() {
        text += &format!("\n## Arguments\n\n{arguments}");
    }
    let options = command.get_arguments().filter(|arg| !arg.is_positional()).filter(of_command);
    let options = table(["option", "meaning"], options.map(row));
    if !options.is_empty() {
        text += &format!("\n## Options\n\n{options}");
    }
    let after = after(command);
    if !after.is_empty() {
        text += &format!("\n## Examples and notes\n\n{after}");
    }
    Page::new(format!("command-line/{}", file(command)), text)
}

/// `help` and `version` are left out, since every command has them.
fn is_shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

fn row(arg: &Arg) -> [String; 2] {
    [code(&name(arg)), meaning(arg)]
}

/// `-t, --time <TIME>`, `[STUDY]`.
fn name(arg: &Arg) -> String {
    let values: Vec<String> =
        arg.get_value_names().unwrap_or_default().iter().map(|value| format!("<{value}>")).collect();
    let values = if arg.get_action().takes_values() { values.join(" ") } else { String::new() };
    let short = arg.get_short().map(|letter| format!("-{letter}"));
    let long = arg.get_long().map(|word| format!("--{word}"));
    let flags = [short, long].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("{flags} {values}").trim().to_string()
}

/// What it does, its possible values, and its default.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = prose(help.trim());
    let possible = arg.get_possible_values();
    if !possible.is_empty() && arg.get_action().takes_values() {
        let words = possible.iter().filter(|value| !value.is_hide_set()).map(|value| {
            let about = value.get_help().map(|help| format!(": {}", prose(&help.to_string())));
            code(value.get_name()) + about.unwrap_or_default().trim_end_matches('.')
        });
        text += &format!(". One of {}.", words.collect::<Vec<_>>().join("; "));
    }
    let defaults = arg.get_default_values();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let words = defaults.iter().map(|word| word.to_string_lossy().into_owned());
        text += &format!(" [default: {}]", words.collect::<Vec<_>>().join(", "));
    }
    text
}

/// The end of `--help`: examples in a block, and notes.
fn after(command: &Command) -> String {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let is_example = |part: &str| part.starts_with("Example");
    let part = |part: &str| match part.split_once('\n') {
        Some((_, lines)) if is_example(part) => {
            let lines: Vec<&str> = lines.lines().map(str::trim_start).collect();
            format!("```text\n{}\n```\n", lines.join("\n"))
        }
        _ => format!("{}\n", prose(part)),
    };
    text.split("\n\n").filter(|text| !text.is_empty()).map(part).collect::<Vec<_>>().join("\n")
}
