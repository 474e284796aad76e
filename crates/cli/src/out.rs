//! Where words go: text for people on stdout, or NDJSON; faults on stderr.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use crosstalk_core::Fault;
use serde::Serialize;
use serde_json::json;

/// How to speak.
pub struct Out {
    /// NDJSON instead of text.
    pub json: bool,
}

impl Out {
    pub fn new(json: bool) -> Self {
        Out { json }
    }

    /// A line or more for people; silent under `--json`. Names in it may be anybody's: what would
    /// steer the terminal is told, not done.
    pub fn say(&self, text: &str) {
        self.paint(&told(text));
    }

    /// The same for text that steers the terminal on purpose.
    pub fn paint(&self, text: &str) {
        if !self.json {
            line(text.trim_end_matches('\n'));
        }
    }

    /// One JSON line; silent otherwise.
    pub fn tell(&self, value: &impl Serialize) {
        if self.json
            && let Ok(text) = serde_json::to_string(value)
        {
            line(&text);
        }
    }

    /// A fault, on stderr, and as the last JSON line.
    pub fn fault(&self, fault: &Fault) {
        complain(&fault.to_string());
        self.tell(&json!({
            "result": "fault",
            "place": fault.place,
            "message": fault.message,
            "remedy": fault.remedy,
            "exit": fault.kind.exit_code(),
        }));
    }

    /// The last JSON line of a command line that could not be read: `prose` as people are told it.
    pub fn tell_refusal(&self, prose: &str, exit: i32) {
        let (message, remedy) = prose.trim().split_once("\n\n").unwrap_or((prose.trim(), ""));
        self.tell(&json!({
            "result": "fault",
            "place": "command line",
            "message": message.trim_start_matches("error: "),
            "remedy": (!remedy.is_empty()).then_some(remedy),
            "exit": exit,
        }));
    }

    /// How wide text may be.
    pub fn width(&self) -> usize {
        terminal_width().unwrap_or(80).clamp(20, 200)
    }

    /// Whether colour is welcome (see no-color.org).
    pub fn colour(&self) -> bool {
        std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
    }
}

/// A line on stderr, beside what is said.
pub fn complain(text: &str) {
    // There is nobody else to tell.
    let _ = writeln!(std::io::stderr(), "crosstalk: {}", told(text));
}

/// A text in which control characters are written out, but for the ends of lines and tabs.
fn told(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && !['\n', '\t'].contains(&c);
    if !text.contains(steers) {
        return text.into();
    }
    let plain = |c: char| if steers(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(plain).collect::<String>().into()
}

/// Why a line could not be written: the first such reason.
static LOST: OnceLock<String> = OnceLock::new();

/// A reader that has gone away (`| head`) is no fault; a full disk is, but no
/// reason to give a run up.
fn line(text: &str) {
    if let Err(error) = writeln!(std::io::stdout(), "{text}")
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error.to_string());
    }
}

/// The fault that not everything said has reached standard output.
pub fn lost() -> Option<Fault> {
    LOST.get().map(|why| {
        Fault::environment(format!("not everything could be written: {why}"))
            .at("standard output")
            .remedy("free some room where it is sent, and repeat the command (crosstalk report for a run)")
    })
}

fn terminal_width() -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    told.or_else(|| terminal_size::terminal_size().map(|(width, _)| width.0 as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_the_terminal_is_told() {
        assert_eq!(told("a\u{1b}[2J\tb\n\u{7f}"), "a\\u{1b}[2J\tb\n\\u{7f}");
        assert!(matches!(told("plain…\n"), Cow::Borrowed(_)));
    }
}
