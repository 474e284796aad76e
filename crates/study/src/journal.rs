//! From the journal's lines to a [`Run`]: what happened, attempt by attempt.
//!
//! A journal is written by a program that may be killed at any moment, and a
//! line that cannot be read must not take the others with it: it is left out
//! and reported. Leaving a line out is safe, since an attempt counts only when
//! its end and its samples are there.

use crosstalk_core::name::unknown;
use crosstalk_core::quote::message;
use crosstalk_core::record::{AttemptId, JOURNAL_SCHEMA, Line, Status};
use crosstalk_core::{Fault, FaultKind};
use std::collections::HashMap;
use std::io::BufRead;

use crate::analyse::counted;
use crate::samples::{Attempt, Run};

/// The lines of a journal as text. A fault of kind `Usage` stands for a line
/// that cannot be read; one of kind `Environment` for a stream that cannot.
pub fn lines(reader: impl BufRead) -> impl Iterator<Item = Result<Line, Fault>> {
    reader
        .split(b'\n')
        .enumerate()
        .map(|(index, bytes)| (index + 1, bytes))
        .filter(|(_, bytes)| bytes.as_ref().map_or(true, |b| !b.trim_ascii().is_empty()))
        .map(|(number, bytes)| {
            let bytes = bytes.map_err(|e| Fault::environment(format!("cannot read the journal: {e}")))?;
            serde_json::from_slice(&bytes).map_err(|e| {
                Fault::usage(format!("not a line of {JOURNAL_SCHEMA}: {}", message(e)))
                    .at(format!("journal.ndjson:{number}"))
            })
        })
}

/// Reads a journal.
///
/// Provenance and absences are not in the journal; the caller adds them.
///
/// # Errors
/// When the stream cannot be read, holds no run, holds two different runs, or
/// is of a schema that this version does not know.
pub fn read_journal(lines: impl Iterator<Item = Result<Line, Fault>>) -> Result<Run, Fault> {
    let mut reading = Reading::default();
    for line in lines {
        match line {
            Ok(line) => reading.take(line)?,
            Err(fault) if fault.kind == FaultKind::Usage => reading.unreadable(&fault),
            Err(fault) => return Err(fault),
        }
    }
    reading.finish()
}

/// A journal half read.
#[derive(Default)]
struct Reading {
    run: Run,
    study: Option<String>,
    /// Number in the journal → place in `run.attempts`; a resumed run may count anew.
    place: HashMap<AttemptId, usize>,
    orphans: usize,
    unreadable: Vec<String>,
}

impl Reading {
    fn take(&mut self, line: Line) -> Result<(), Fault> {
        if self.study.is_none() && !matches!(line, Line::Run { .. }) {
            return Err(no_run());
        }
        match line {
            Line::Run { schema, study, version, seed, command, quick, at } => {
                let opened = Run { command, version, seed, quick, began: at, ..Run::default() };
                self.open(&schema, study, opened)?;
            }
            Line::Metric(metric) => {
                if !self.run.metrics.iter().any(|m| m.name == metric.name) {
                    self.run.metrics.push(metric);
                }
            }
            Line::Attempt {
                attempt, experiment, levels, block, turn, status, reason, fidelity, at, ..
            } => {
                self.clock(at);
                self.attempt(Attempt {
                    id: attempt,
                    experiment,
                    levels,
                    block,
                    turn,
                    status,
                    reason,
                    fidelity,
                    at,
                    readings: Vec::new(),
                });
            }
            Line::Sample { attempt, reading, .. } => match self.place.get(&attempt) {
                Some(&place) => self.run.attempts[place].readings.push(reading),
                None => self.orphans += 1,
            },
            Line::Decision { .. } => {}
            Line::End { status, why, at } => {
                self.clock(at);
                self.run.end = why;
                self.run.finished = status == Status::Finished;
            }
        }
        Ok(())
    }

    /// A run begins, or goes on after it was cut short.
    fn open(&mut self, schema: &str, study: String, opened: Run) -> Result<(), Fault> {
        if schema != JOURNAL_SCHEMA {
            return Err(unknown("journal schema", schema, [JOURNAL_SCHEMA]));
        }
        match &self.study {
            None => {
                self.study = Some(study);
                self.run = Run { ended: opened.began, ..opened };
            }
            Some(first) if *first == study && self.run.seed == opened.seed => {
                self.run.end.clear();
                self.run.finished = false;
                self.clock(opened.began);
            }
            Some(first) => {
                return Err(Fault::usage(format!(
                    "two runs in one journal: `{first}` with seed {} and `{study}` with seed {}",
                    self.run.seed, opened.seed
                ))
                .remedy("give each run a directory of its own with --out"));
            }
        }
        Ok(())
    }

    /// Written when an attempt starts and again when it ends.
    fn attempt(&mut self, line: Attempt) {
        match self.place.get(&line.id) {
            Some(&place) if line.status != Status::Started => {
                let attempt = &mut self.run.attempts[place];
                attempt.status = line.status;
                attempt.reason = line.reason;
                attempt.fidelity = line.fidelity;
            }
            _ => {
                self.place.insert(line.id, self.run.attempts.len());
                self.run.attempts.push(line);
            }
        }
    }

    fn clock(&mut self, at: f64) {
        self.run.ended = self.run.ended.max(at);
    }

    fn unreadable(&mut self, fault: &Fault) {
        self.unreadable.push(fault.place.clone().unwrap_or_else(|| fault.message.clone()));
    }

    fn finish(mut self) -> Result<Run, Fault> {
        if self.study.is_none() {
            return Err(no_run());
        }
        if let Some(first) = self.unreadable.first() {
            self.run.warnings.push(format!(
                "{} of the journal could not be read and count{} for nothing, first {first}: was the run killed, or the disk full?",
                counted(self.unreadable.len(), "line"),
                if self.unreadable.len() == 1 { "s" } else { "" },
            ));
        }
        if self.orphans > 0 {
            self.run.warnings.push(format!(
                "{} of the journal belong{} to no attempt and count for nothing",
                counted(self.orphans, "sample"),
                if self.orphans == 1 { "s" } else { "" },
            ));
        }
        Ok(self.run)
    }
}

fn no_run() -> Fault {
    Fault::usage(format!("expected a journal that begins with a `run` line of {JOURNAL_SCHEMA}"))
        .at("journal.ndjson")
        .remedy("name a directory that `crosstalk run` has written")
}
