//! Where words go: text for people on stdout, or NDJSON; faults and remarks on stderr. Nothing else in the
//! program writes to either (`print_stdout` and `print_stderr` of clippy are denied) but the progress bars, whose
//! texts are escaped here. What is written here cannot steer a terminal, never panics, and ends nothing. What
//! could not be written is reported at the end.

use std::borrow::Cow;
use std::io::{Error, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::quote::steers;
use crosstalk_host::streams::output_is_closed;
use rustix::event::{PollFd, PollFlags, poll};
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
            write(Stream::Output, &text);
            return true;
        };
        aside.output.put_now(text)
    }

    /// One JSON line; silent otherwise.
    pub fn tell(&self, value: &impl Serialize) {
        if self.json
            && let Ok(text) = serde_json::to_string(value)
        {
            // JSON has these characters in strings alone, and escapes those below U+0020 itself.
            line(&written_out(&text, steers, |c| format!("\\u{:04x}", c as u32)));
        }
    }

    /// A fault, on stderr, and as the last JSON line.
    pub fn fault(&self, fault: &Fault) {
        complain(&fault.to_string());
        self.tell(&json!({
            "result": "fault",
            "place": fault.whereabouts(),
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

/// A fault or a warning of the program, on stderr.
pub fn complain(text: &str) {
    note(&format!("crosstalk: {text}"));
}

/// A line on stderr, beside what is said.
pub fn note(text: &str) {
    let text = format!("{}\n", told(text));
    match ASIDE.get() {
        Some(aside) if aside.error.put(text.clone()) => {}
        Some(_) => nobody_reads(Stream::Error),
        None => write(Stream::Error, &text),
    }
}

/// A text in which what steers a terminal is written out, but for the ends of lines and tabs.
pub fn told(text: &str) -> Cow<'_, str> {
    written_out(text, |c| steers(c) && !['\n', '\t'].contains(&c), |c| c.escape_unicode().to_string())
}

/// The same, on one line.
pub fn told_in_line(text: &str) -> Cow<'_, str> {
    written_out(text, steers, |c| c.escape_default().to_string())
}

fn written_out(text: &str, which: impl Fn(char) -> bool, how: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(&which) {
        return text.into();
    }
    text.chars().map(|c| if which(c) { how(c) } else { c.to_string() }).collect::<String>().into()
}

fn line(text: &str) {
    put(format!("{text}\n"));
}

/// Who writes, where nobody else may wait for readers: of each stream, since one may be read and the other not.
struct Asides {
    output: Aside,
    error: Aside,
    /// Whether readers are waited for at the end until this is set; else only shortly.
    until: Option<Arc<AtomicBool>>,
}

impl Asides {
    /// Waits until all is written, as long as one may; whether it is.
    fn is_done(&self, aside: &Aside) -> bool {
        if let Some(interrupted) = &self.until {
            while !interrupted.load(Ordering::SeqCst) {
                if aside.is_done(GLANCE) {
                    return true;
                }
            }
        }
        aside.is_done(PATIENCE)
    }
}

static ASIDE: OnceLock<Asides> = OnceLock::new();
/// That something could not be written: the first such fault.
static LOST: OnceLock<Fault> = OnceLock::new();
/// Which of the streams were a terminal at first: one that has gone away is none any more.
static TERMINALS: LazyLock<[bool; 2]> =
    LazyLock::new(|| [std::io::stdout().is_terminal(), std::io::stderr().is_terminal()]);
/// How long a reader is waited for at the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// One of the two that people read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Error,
}

/// How often, meanwhile, it is asked whether to wait any longer.
const GLANCE: Duration = Duration::from_millis(50);

/// From now on nobody who says something waits for its reader. What is not taken in time is lost.
///
/// # Errors
/// Where no thread can be had.
pub fn wait_for_nobody() -> Result<(), Fault> {
    begin(64, None)
}

/// From now on readers are waited for at the end alone, until that is interrupted: measuring goes on meanwhile.
///
/// # Errors
/// Where no thread can be had.
pub fn wait_at_the_end(interrupted: &Arc<AtomicBool>) -> Result<(), Fault> {
    begin(1 << 16, Some(Arc::clone(interrupted)))
}

fn begin(most: usize, until: Option<Arc<AtomicBool>>) -> Result<(), Fault> {
    LazyLock::force(&TERMINALS);
    let failed = |e| Fault::environment(format!("cannot begin a thread: {e}"));
    let asides = Asides {
        output: Aside::new(most, |text| write(Stream::Output, text)).map_err(failed)?,
        error: Aside::new(most, |text| write(Stream::Error, text)).map_err(failed)?,
        until,
    };
    // Who was there first is as good.
    let _ = ASIDE.set(asides);
    Ok(())
}

fn put(text: String) {
    let Some(aside) = ASIDE.get() else { return write(Stream::Output, &text) };
    if !aside.output.put(text) {
        nobody_reads(Stream::Output);
    }
}

/// A reader that has gone away (`| head`, a terminal that was closed) is no fault; a full disk is, but no
/// reason to give a run up.
fn write(stream: Stream, text: &str) {
    if stream == Stream::Output && output_is_closed() {
        return lose(stream, "it is closed", "open it, or send it to a file or to /dev/null");
    }
    let was_terminal = TERMINALS[stream as usize];
    let written = match stream {
        Stream::Output => push(&mut std::io::stdout().lock(), text),
        Stream::Error => push(&mut std::io::stderr().lock(), text),
    };
    let has_gone = |e: &Error| e.kind() == ErrorKind::BrokenPipe || was_terminal;
    if let Some(error) = written.err().filter(|e| !has_gone(e)) {
        lose(
            stream,
            &error.to_string(),
            "free some room where it is sent, and repeat the command (crosstalk report for a run)",
        );
    }
}

/// Writes all of it. Somebody else may have opened the stream such that it never waits: then this does.
fn push<W: Write + AsFd>(stream: &mut W, text: &str) -> std::io::Result<()> {
    let mut rest = text.as_bytes();
    loop {
        let step = if rest.is_empty() { stream.flush().map(|()| 0) } else { stream.write(rest) };
        match step {
            Ok(0) if rest.is_empty() => return Ok(()),
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(taken) => rest = &rest[taken..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                // Where this fails, the next try says why.
                let _ = poll(&mut [PollFd::new(stream, PollFlags::OUT)], None);
            }
            Err(e) => return Err(e),
        }
    }
}

fn nobody_reads(stream: Stream) {
    lose(stream, "its reader did not take it in time", "read it as it comes, or send it to a file");
}

fn lose(stream: Stream, why: &str, remedy: &str) {
    let place = match stream {
        Stream::Output => "standard output",
        Stream::Error => "standard error",
    };
    let fault = Fault::environment(format!("not everything could be written: {why}"));
    let _ = LOST.set(fault.at(place).remedy(remedy));
}

/// The fault that not everything said has reached its reader, once that has been written which can be.
pub fn lost() -> Option<Fault> {
    if let Some(asides) = ASIDE.get() {
        let streams = [(&asides.output, Stream::Output), (&asides.error, Stream::Error)];
        streams.iter().filter(|(aside, _)| !asides.is_done(aside)).for_each(|(_, s)| nobody_reads(*s));
    }
    LOST.get().cloned()
}

/// Waits for readers, as long as one may.
pub fn finish() {
    if let Some(asides) = ASIDE.get() {
        asides.is_done(&asides.error);
        asides.is_done(&asides.output);
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
        assert_eq!(told("a\u{1b}[2J\tb\n\u{7f}\u{9b}"), "a\\u{1b}[2J\tb\n\\u{7f}\\u{9b}");
        assert_eq!(told("\u{202e}\u{2066}\u{200f}\r"), "\\u{202e}\\u{2066}\\u{200f}\\u{d}");
        assert_eq!(told_in_line("a\nb\t"), "a\\nb\\t");
        assert!(matches!(told("plain…\n"), Cow::Borrowed(_)));
    }
}
