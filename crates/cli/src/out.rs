//! Where words go: text for people on stdout, or NDJSON; faults on stderr.

use std::borrow::Cow;
use std::io::{Error, ErrorKind, IsTerminal, Write};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use crosstalk_core::Fault;
use serde::Serialize;
use serde_json::json;

use crate::aside::Aside;

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

    /// Steers the terminal, on which people read.
    pub fn steer(&self, code: &str) {
        put(code.into());
    }

    /// The same with a text that soon gives way to another: where it cannot be shown now it never is. Whether
    /// it is.
    pub fn flash(&self, code: &str, text: &str) -> bool {
        let text = format!("{code}{}\n", told(text));
        let Some(aside) = ASIDE.get() else {
            write(&text);
            return true;
        };
        aside.output.put_now(text)
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
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) || is_dumb();
        std::io::stdout().is_terminal() && !unwanted
    }
}

/// Whether the terminal can do nothing but write lines (`TERM=dumb`): no colour, no bar.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// A line on stderr, beside what is said.
pub fn complain(text: &str) {
    let text = format!("crosstalk: {}\n", told(text));
    match ASIDE.get() {
        // There is nobody to tell that it cannot be told.
        Some(aside) => drop(aside.error.put(text)),
        None => write_error(&text),
    }
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

fn line(text: &str) {
    put(format!("{text}\n"));
}

/// Who writes, where nobody else may wait for readers: of each stream, since one may be read and the other not.
struct Asides {
    output: Aside,
    error: Aside,
}

static ASIDE: OnceLock<Asides> = OnceLock::new();
/// That something could not be written: the first such fault.
static LOST: OnceLock<Fault> = OnceLock::new();
/// Whether standard output was a terminal at first: one that has gone away is none any more.
static TERMINAL: LazyLock<bool> = LazyLock::new(|| std::io::stdout().is_terminal());
/// How long a reader is waited for at the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// From now on nobody who says something waits for its reader. What is not taken in time is lost.
///
/// # Errors
/// Where no thread can be had.
pub fn wait_for_nobody() -> Result<(), Fault> {
    LazyLock::force(&TERMINAL);
    let failed = |e| Fault::environment(format!("cannot begin a thread: {e}"));
    let asides = Asides {
        output: Aside::new(write).map_err(failed)?,
        error: Aside::new(write_error).map_err(failed)?,
    };
    // Who was there first is as good.
    let _ = ASIDE.set(asides);
    Ok(())
}

fn put(text: String) {
    let Some(aside) = ASIDE.get() else { return write(&text) };
    if !aside.output.put(text) {
        nobody_reads();
    }
}

/// A reader that has gone away (`| head`, a terminal that was closed) is no fault; a full disk is, but no
/// reason to give a run up.
fn write(text: &str) {
    LazyLock::force(&TERMINAL);
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    let has_gone = |e: &Error| e.kind() == ErrorKind::BrokenPipe || *TERMINAL;
    if let Some(error) = written.err().filter(|e| !has_gone(e)) {
        lose(
            &error.to_string(),
            "free some room where it is sent, and repeat the command (crosstalk report for a run)",
        );
    }
}

fn write_error(text: &str) {
    // There is nobody else to tell.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn nobody_reads() {
    lose("its reader did not take it in time", "read it as it comes, or send it to a file");
}

fn lose(why: &str, remedy: &str) {
    let fault = Fault::environment(format!("not everything could be written: {why}"));
    let _ = LOST.set(fault.at("standard output").remedy(remedy));
}

/// The fault that not everything said has reached standard output, once that has been written which can be.
pub fn lost() -> Option<Fault> {
    if ASIDE.get().is_some_and(|aside| !aside.output.is_done(PATIENCE)) {
        nobody_reads();
    }
    LOST.get().cloned()
}

/// Waits for readers, as long as one may.
pub fn finish() {
    if let Some(aside) = ASIDE.get() {
        aside.error.is_done(PATIENCE);
        aside.output.is_done(PATIENCE);
    }
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
