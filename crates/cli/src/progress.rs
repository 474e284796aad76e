//! Live progress: a line with a bar and the time left, or NDJSON events.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;
use crosstalk_lab::progress::{Event, Progress};
use crosstalk_study::count_in_words;
use indicatif::{ProgressBar, ProgressStyle};

use crate::duration::about_in_words;
use crate::out::{Out, escape_controls, escape_controls_in_line, is_dumb, print_note};

/// Shows progress in the way that suits where the output goes.
pub fn watcher(out: &Out, quiet: bool) -> Box<dyn Progress> {
    if quiet {
        Box::new(Silent)
    } else if out.json {
        Box::new(Events(Out::new(true)))
    } else if std::io::stderr().is_terminal() && !is_dumb() {
        Box::new(Bar::new())
    } else {
        Box::new(Plain { printed: Instant::now(), failures: Failures::default() })
    }
}

/// Shows nothing.
struct Silent;

impl Progress for Silent {
    fn event(&mut self, _: Event) {}
}

/// Prints events as NDJSON.
struct Events(Out);

impl Progress for Events {
    fn event(&mut self, event: Event) {
        self.0.record(&event);
    }
}

/// Shows a bar on a terminal.
struct Bar {
    bar: ProgressBar,
    left: String,
    failures: Failures,
}

impl Bar {
    fn new() -> Self {
        // Without a length the bar is empty. Position 0 of 0 would be a full bar.
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar { bar, left: String::new(), failures: Failures::default() }
    }

    /// Prints beside the bar. Names that anybody chose must not steer the terminal.
    fn print_beside(&self, text: &str) {
        self.bar.set_message(escape_controls_in_line(text).into_owned());
    }

    /// Prints a line above the bar, which stays.
    fn print_above(&self, text: &str) {
        self.bar.println(escape_controls(text));
    }
}

impl Progress for Bar {
    fn event(&mut self, event: Event) {
        match event {
            Event::Preparing { what } => self.print_beside(&what),
            Event::Began { until_look, seconds_to_look, seconds_to_end, .. } => {
                self.left = left(seconds_to_look, seconds_to_end);
                self.bar.set_length(until_look as u64);
                if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
                    self.bar.set_style(style);
                }
            }
            Event::Attempt { experiment, levels, .. } => {
                self.print_beside(&format!("{} · {}", self.left, scene(&experiment, &levels)));
            }
            Event::Ended {
                done,
                until_look,
                seconds_to_look,
                seconds_to_end,
                status,
                reason,
                experiment,
                levels,
                ..
            } => {
                self.left = left(seconds_to_look, seconds_to_end);
                self.bar.set_length((done + until_look) as u64);
                self.bar.set_position(done as u64);
                if status == Status::Failed
                    && let Some(line) = self.failures.line(&scene(&experiment, &levels), reason)
                {
                    self.print_above(&line);
                }
            }
            Event::Look { blocks, why, .. } => self.print_above(&analysis(blocks, &why)),
            Event::Note { text } => self.print_above(&format!("note: {text}")),
            Event::Warning { text } => self.print_above(&format!("warning: {text}")),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Prints a line from time to time, if there is no terminal.
struct Plain {
    printed: Instant,
    failures: Failures,
}

/// How often it prints.
const PLAIN_INTERVAL: Duration = Duration::from_secs(15);

impl Progress for Plain {
    fn event(&mut self, event: Event) {
        match event {
            Event::Began { cells, blocks, seconds_to_look, seconds_to_end, .. } => {
                print_note(&format!(
                    "{}, at most {}; {}",
                    count_in_words(cells, "cell"),
                    count_in_words(blocks, "block"),
                    left(seconds_to_look, seconds_to_end)
                ));
            }
            Event::Ended { status: Status::Failed, reason, experiment, levels, .. } => {
                if let Some(line) = self.failures.line(&scene(&experiment, &levels), reason) {
                    print_note(&line);
                }
            }
            Event::Ended { done, until_look, seconds_to_look, seconds_to_end, .. } => {
                if self.printed.elapsed() >= PLAIN_INTERVAL {
                    self.printed = Instant::now();
                    print_note(&format!(
                        "{} made, {until_look} until the next analysis; {}",
                        count_in_words(done, "attempt"),
                        left(seconds_to_look, seconds_to_end)
                    ));
                }
            }
            Event::Look { blocks, why, .. } => print_note(&analysis(blocks, &why)),
            Event::Note { text } => print_note(&format!("note: {text}")),
            Event::Warning { text } => print_note(&format!("warning: {text}")),
            Event::Preparing { .. } | Event::Attempt { .. } => {}
        }
    }
}

/// The result of an interim analysis.
fn analysis(blocks: usize, why: &str) -> String {
    format!("after {}: {why}", count_in_words(blocks, "block"))
}

/// The failures that were printed: a program that fails mostly fails again, with the same message, or with one that
/// differs in its numbers alone.
#[derive(Default)]
struct Failures(BTreeSet<(String, String)>);

impl Failures {
    /// The line for a failed attempt; `None` if it was printed already.
    fn line(&mut self, scene: &str, reason: Option<String>) -> Option<String> {
        let reason = reason.unwrap_or_else(|| "no reason is known".into());
        let line = format!("{scene} failed: {reason}");
        let without_numbers = reason.split(|c: char| c.is_ascii_digit()).collect();
        self.0.insert((scene.to_string(), without_numbers)).then_some(line)
    }
}

/// The estimated time left.
fn left(to_look: f64, to_end: f64) -> String {
    if to_end - to_look < 1.0 {
        format!("{} left", about_in_words(to_end))
    } else {
        format!("{} to the next analysis, at most {}", about_in_words(to_look), about_in_words(to_end))
    }
}

/// The experiment and the levels of a cell.
fn scene(experiment: &str, levels: &Levels) -> String {
    std::iter::once(experiment.to_string())
        .chain(levels.values().map(ToString::to_string))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_printed_once_for_each_scene_and_reason() {
        let mut failures = Failures::default();
        let line = failures.line("command 1", Some("exit code 1".into()));
        assert_eq!(line.as_deref(), Some("command 1 failed: exit code 1"));
        assert_eq!(failures.line("command 1", Some("exit code 1".into())), None);
        assert!(failures.line("command 2", Some("exit code 1".into())).is_some());
        assert!(failures.line("command 1", Some("killed".into())).is_some());
        let full = |held| Some(format!("no space left on server 0: it holds {held} KiB"));
        assert!(failures.line("data", full(128)).is_some() && failures.line("data", full(64)).is_none());
    }

    #[test]
    fn the_bar_is_empty_until_the_first_attempt_has_ended() {
        let mut bar = Bar::new();
        bar.bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
        bar.event(Event::Preparing { what: "raising".into() });
        assert_eq!(bar.bar.length(), None);
        let began =
            Event::Began { cells: 2, blocks: 48, until_look: 24, seconds_to_look: 1.0, seconds_to_end: 4.0 };
        bar.event(began);
        assert_eq!((bar.bar.position(), bar.bar.length()), (0, Some(24)));
    }
}
