//! What the program prints: text for people or NDJSON on stdout, faults and notes on stderr. Nothing else in the
//! program writes to either (`print_stdout` and `print_stderr` of clippy are denied) but the progress bars, whose
//! texts are escaped here. Printed text cannot steer a terminal.

use std::borrow::Cow;
use std::io::IsTerminal;

use crosstalk_core::Fault;
use crosstalk_core::quote::is_control;
use serde::Serialize;
use serde_json::json;

use crate::streams::{self, Stream};

/// Prints a program's output: text for people, or NDJSON with `--json`.
pub struct Out {
    /// NDJSON instead of text.
    pub json: bool,
}

impl Out {
    /// Output for people, or NDJSON with `json`.
    pub fn new(json: bool) -> Self {
        Out { json }
    }

    /// Prints a line or more for people; nothing under `--json`. Text may contain names that anybody chose, so
    /// codes that would steer the terminal are escaped.
    pub fn say(&self, text: &str) {
        self.print_raw(&escape_controls(text));
    }

    /// Like [`Out::say`], for text that steers the terminal on purpose.
    pub fn print_raw(&self, text: &str) {
        if !self.json {
            line(text.trim_end_matches('\n'));
        }
    }

    /// Sends a control code to the terminal.
    pub fn send_control(&self, code: &str) {
        streams::write_text(Stream::Output, code.into());
    }

    /// Prints a control code and a text that is soon replaced, unless earlier texts still wait to be written.
    /// Returns whether it is printed.
    pub fn print_transient(&self, code: &str, text: &str) -> bool {
        streams::write_text_if_idle(Stream::Output, format!("{code}{}\n", escape_controls(text)))
    }

    /// Prints one value as a line of JSON; nothing without `--json`.
    pub fn record(&self, value: &impl Serialize) {
        if self.json
            && let Ok(text) = serde_json::to_string(value)
        {
            // JSON has these characters in strings only, and escapes those below U+0020 itself.
            line(&replaced(&text, is_control, |c| format!("\\u{:04x}", c as u32)));
        }
    }

    /// Prints a fault on stderr, and as the last line of JSON.
    pub fn fault(&self, fault: &Fault) {
        print_error(&fault.to_string());
        self.record(&json!({
            "result": "fault",
            "place": fault.whereabouts(),
            "message": fault.message,
            "remedy": fault.remedy,
            "exit": fault.kind.exit_code(),
        }));
    }

    /// Prints the last line of JSON for a command line that could not be read; `prose` is clap's message.
    pub fn print_refusal(&self, prose: &str, exit: i32) {
        let (message, remedy) = prose.trim().split_once("\n\n").unwrap_or((prose.trim(), ""));
        self.record(&json!({
            "result": "fault",
            "place": "command line",
            "message": message.trim_start_matches("error: "),
            "remedy": (!remedy.is_empty()).then_some(remedy),
            "exit": exit,
        }));
    }

    /// The width of text, in columns: the terminal's, or 80.
    pub fn width(&self) -> usize {
        terminal_width().unwrap_or(80).clamp(20, 200)
    }

    /// The terminal's columns and lines, now: its window may have changed.
    pub fn screen(&self) -> (usize, usize) {
        terminal_size::terminal_size()
            .map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)))
    }

    /// Whether to print colours (see no-color.org).
    pub fn colour(&self) -> bool {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) || is_dumb();
        std::io::stdout().is_terminal() && !unwanted
    }
}

/// Whether the terminal can only print lines (`TERM=dumb`): no colour, no bar.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Prints a fault or a warning of the program on stderr.
pub fn print_error(text: &str) {
    print_note(&format!("crosstalk: {text}"));
}

/// Prints a line on stderr.
pub fn print_note(text: &str) {
    streams::write_text(Stream::Error, format!("{}\n", escape_controls(text)));
}

/// The text with the codes that steer a terminal escaped, except ends of lines and tabs.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    replaced(text, |c| is_control(c) && !['\n', '\t'].contains(&c), |c| c.escape_unicode().to_string())
}

/// Like [`escape_controls`], on one line.
pub fn escape_controls_in_line(text: &str) -> Cow<'_, str> {
    replaced(text, is_control, |c| c.escape_default().to_string())
}

fn replaced(text: &str, which: impl Fn(char) -> bool, how: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(&which) {
        return text.into();
    }
    text.chars().map(|c| if which(c) { how(c) } else { c.to_string() }).collect::<String>().into()
}

fn line(text: &str) {
    streams::write_text(Stream::Output, format!("{text}\n"));
}

fn terminal_width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    columns.or_else(|| terminal_size::terminal_size().map(|(width, _)| width.0 as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_steer_the_terminal_are_escaped() {
        assert_eq!(escape_controls("a\u{1b}[2J\tb\n\u{7f}\u{9b}"), "a\\u{1b}[2J\tb\n\\u{7f}\\u{9b}");
        assert_eq!(escape_controls("\u{202e}\u{2066}\u{200f}\r"), "\\u{202e}\\u{2066}\\u{200f}\\u{d}");
        assert_eq!(escape_controls_in_line("a\nb\t"), "a\\nb\\t");
        assert!(matches!(escape_controls("plain…\n"), Cow::Borrowed(_)));
    }
}
