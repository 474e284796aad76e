//! Live progress: a line with a bar and the time left, or NDJSON events.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crosstalk_core::record::Status;
use crosstalk_core::value::Levels;
use crosstalk_lab::progress::{Event, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::out::Out;
use crate::verb::plan::duration;

/// What suits where the output goes.
pub fn watcher(out: &Out) -> Box<dyn Progress> {
    if out.json {
        Box::new(Events(Out::new(true)))
    } else if std::io::stderr().is_terminal() {
        Box::new(Bar::new())
    } else {
        Box::new(Plain { said: Instant::now() })
    }
}

struct Events(Out);

impl Progress for Events {
    fn event(&mut self, event: Event) {
        self.0.tell(&event);
    }
}

/// A bar on a terminal.
struct Bar {
    bar: ProgressBar,
    left: String,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar { bar, left: String::new() }
    }
}

impl Progress for Bar {
    fn event(&mut self, event: Event) {
        match event {
            Event::Preparing { what } => self.bar.set_message(what),
            Event::Began { seconds_to_look, seconds_to_end, .. } => {
                self.left = left(seconds_to_look, seconds_to_end)
            }
            Event::Attempt { experiment, levels, .. } => {
                self.bar.set_message(format!("{} · {}", self.left, scene(&experiment, &levels)));
            }
            Event::Ended { done, until_look, seconds_to_look, seconds_to_end, status, reason, .. } => {
                self.left = left(seconds_to_look, seconds_to_end);
                self.bar.set_length((done + until_look) as u64);
                self.bar.set_position(done as u64);
                if status == Status::Failed {
                    self.bar.println(format!("an attempt failed: {}", reason.unwrap_or_default()));
                }
            }
            Event::Look { blocks, why, .. } => self.bar.println(format!("after {blocks} blocks: {why}")),
            Event::Warning { text } => self.bar.println(format!("warning: {text}")),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line now and then where there is no terminal.
struct Plain {
    said: Instant,
}

/// How often, in a log.
const PLAIN_EVERY: Duration = Duration::from_secs(15);

impl Progress for Plain {
    fn event(&mut self, event: Event) {
        match event {
            Event::Began { cells, blocks, seconds_to_look, seconds_to_end } => {
                eprintln!(
                    "{cells} cell{}, at most {blocks} blocks; {}",
                    if cells == 1 { "" } else { "s" },
                    left(seconds_to_look, seconds_to_end)
                );
            }
            Event::Ended { status: Status::Failed, reason, experiment, levels, .. } => {
                eprintln!("{} failed: {}", scene(&experiment, &levels), reason.unwrap_or_default());
            }
            Event::Ended { done, until_look, seconds_to_look, seconds_to_end, .. } => {
                if self.said.elapsed() >= PLAIN_EVERY {
                    self.said = Instant::now();
                    eprintln!(
                        "{done}/{} attempts; {}",
                        done + until_look,
                        left(seconds_to_look, seconds_to_end)
                    );
                }
            }
            Event::Look { blocks, why, .. } => eprintln!("after {blocks} blocks: {why}"),
            Event::Warning { text } => eprintln!("warning: {text}"),
            Event::Preparing { .. } | Event::Attempt { .. } => {}
        }
    }
}

fn left(to_look: f64, to_end: f64) -> String {
    if to_end - to_look < 1.0 {
        format!("{} left", duration(to_end))
    } else {
        format!("{} to the next look, {} at most", duration(to_look), duration(to_end))
    }
}

/// An experiment and its levels; a cell without factors has none.
fn scene(experiment: &str, levels: &Levels) -> String {
    std::iter::once(experiment.to_string())
        .chain(levels.values().map(ToString::to_string))
        .collect::<Vec<_>>()
        .join(" ")
}
