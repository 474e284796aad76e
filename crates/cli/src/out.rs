//! What the program prints: text for people or NDJSON on stdout, faults and notes on stderr. Nothing else in the
//! program writes to either (`print_stdout` and `print_stderr` of clippy are denied) but the progress bars, whose
//! texts are escaped here. Printed text cannot steer a terminal.

use std::borrow::Cow;
use std::io::IsTerminal;

use crosstalk_core::Fault;
use crosstalk_core::quote::steers;
use serde::Serialize;
use serde_json::json;

use crate::streams::{self, Stream};

/// Prints text, or NDJSON instead.
pub struct Out {
    /// NDJSON instead of text.
    pub json: bool,
}

impl Out {
    pub fn new(json: bool) -> Self {
        Out { json }
    }

    /// Prints a line or more for people; nothing under `--json`. Text may contain names that anybody chose, so
    /// codes that would steer the terminal are escaped.
    pub fn say(&self, text: &str) {
        self.paint(&escaped(text));
    }

    /// Like [`Out::say`], for text that steers the terminal on purpose.
    pub fn paint(&self, text: &str) {
        if !self.json {
            line(text.trim_end_matches('\n'));
        }
    }

    /// Sends a control code to the terminal.
    pub fn steer(&self, code: &str) {
        streams::put(Stream::Output, code.into());
    }

    /// Prints a control code and a text that is soon replaced, unless earlier texts still wait to be written.
    /// Returns whether it is printed.
    pub fn flash(&self, code: &str, text: &str) -> bool {
        streams::put_if_idle(Stream::Output, format!("{code}{}\n", escaped(text)))
    }

    /// Prints one line of JSON; nothing without `--json`.
    pub fn record(&self, value: &impl Serialize) {
        if self.json
            && let Ok(text) = serde_json::to_string(value)
        {
            // JSON has these characters in strings only, and escapes those below U+0020 itself.
            line(&replaced(&text, steers, |c| format!("\\u{:04x}", c as u32)));
        }
    }

    /// Prints a fault on stderr, and as the last line of JSON.
    pub fn fault(&self, fault: &Fault) {
        complain(&fault.to_string());
        self.record(&json!({
            "result": "fault",
            "place": fault.whereabouts(),
            "message": fault.message,
            "remedy": fault.remedy,
            "exit": fault.kind.exit_code(),
        }));
    }

    /// Prints the last line of JSON for a command line that could not be read; `prose` is clap's message.
    pub fn record_refusal(&self, prose: &str, exit: i32) {
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
pub fn complain(text: &str) {
    note(&format!("crosstalk: {text}"));
}

/// Prints a line on stderr.
pub fn note(text: &str) {
    streams::put(Stream::Error, format!("{}\n", escaped(text)));
}

/// The text with the codes that steer a terminal escaped, except ends of lines and tabs.
pub fn escaped(text: &str) -> Cow<'_, str> {
    replaced(text, |c| steers(c) && !['\n', '\t'].contains(&c), |c| c.escape_unicode().to_string())
}

/// Like [`escaped`], on one line.
pub fn escaped_in_line(text: &str) -> Cow<'_, str> {
    replaced(text, steers, |c| c.escape_default().to_string())
}

fn replaced(text: &str, which: impl Fn(char) -> bool, how: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(&which) {
        return text.into();
    }
    text.chars().map(|c| if which(c) { how(c) } else { c.to_string() }).collect::<String>().into()
}

fn line(text: &str) {
    streams::put(Stream::Output, format!("{text}\n"));
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
        assert_eq!(escaped("a\u{1b}[2J\tb\n\u{7f}\u{9b}"), "a\\u{1b}[2J\tb\n\\u{7f}\\u{9b}");
        assert_eq!(escaped("\u{202e}\u{2066}\u{200f}\r"), "\\u{202e}\\u{2066}\\u{200f}\\u{d}");
        assert_eq!(escaped_in_line("a\nb\t"), "a\\nb\\t");
        assert!(matches!(escaped("plain…\n"), Cow::Borrowed(_)));
    }
}
