//! Assembles a run from its journal's lines.

use crosstalk_core::Fault;
use crosstalk_core::cell::CellId;
use crosstalk_core::name::unknown;
use crosstalk_core::record::{AttemptId, JOURNAL_SCHEMA, JOURNAL_SCHEMAS, Line, Status};
use std::collections::{BTreeSet, HashMap};

use crate::samples::{Attempt, Failure, Run};
use crate::words::count_in_words;

/// A run as far as its journal's lines have been taken.
#[derive(Default)]
pub(super) struct Assembly {
    run: Run,
    study: Option<String>,
    /// Whether a line could be read.
    any: bool,
    /// Attempt's number → index in `run.attempts`. A resumed run may count from 0 again.
    index_of: HashMap<AttemptId, usize>,
    /// The index of the attempt that has begun and not ended.
    open: Option<usize>,
    /// Whether a line was lost since the last one that begins or ends an attempt.
    lost: bool,
    /// The indices of attempts that lost lines.
    damaged: BTreeSet<usize>,
    orphans: usize,
    unreadable: Vec<String>,
}

impl Assembly {
    /// Takes the next line.
    ///
    /// # Errors
    /// A usage fault where it cannot be the journal's next.
    pub(super) fn take(&mut self, line: Line) -> Result<(), Fault> {
        // A run may have lost its first line.
        if self.study.is_none() && self.unreadable.is_empty() && !matches!(line, Line::Run { .. }) {
            return Err(no_run());
        }
        self.any = true;
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
                attempt,
                experiment,
                levels,
                block,
                try_number,
                status,
                reason,
                fidelity,
                at,
                ..
            } => {
                self.note_time(at);
                self.attempt(Attempt {
                    id: attempt,
                    cell: CellId { experiment, levels },
                    block,
                    try_number,
                    status,
                    failure: reason.as_deref().map(Failure::from),
                    fidelity,
                    at,
                    readings: Vec::new(),
                });
            }
            Line::Sample { attempt, reading, .. } => match self.index_of.get(&attempt) {
                Some(&index) => self.run.attempts[index].readings.push(reading),
                None => self.orphans += 1,
            },
            Line::Decision { .. } => {}
            Line::End { status, why, at } => {
                self.note_time(at);
                self.run.end = why;
                self.run.finished = status == Status::Finished;
            }
        }
        Ok(())
    }

    /// Begins a run, or continues one that was cut short.
    fn open(&mut self, schema: &str, study: String, opened: Run) -> Result<(), Fault> {
        if !JOURNAL_SCHEMAS.contains(&schema) {
            return Err(unknown("journal schema", schema, JOURNAL_SCHEMAS));
        }
        if schema != JOURNAL_SCHEMA && self.study.is_none() {
            self.run.warnings.push(format!(
                "the journal is of an earlier version ({schema}), whose lines {}: damage to it may go unnoticed",
                if schema == JOURNAL_SCHEMAS[0] { "carry no checksums" } else { "are not numbered" },
            ));
        }
        self.open = None;
        match &self.study {
            None => {
                self.study = Some(study);
                let Run { command, version, seed, quick, began, .. } = opened;
                self.note_time(began);
                self.run = Run { command, version, seed, quick, ..std::mem::take(&mut self.run) };
            }
            Some(first) if *first == study && self.run.seed == opened.seed => {
                self.run.end.clear();
                self.run.finished = false;
                self.note_time(opened.began);
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

    /// Takes an attempt's line, which is written when it starts and again when it ends.
    fn attempt(&mut self, line: Attempt) {
        let ends = line.status != Status::Started;
        let known = self.index_of.get(&line.id).copied().filter(|_| ends);
        let index = known.unwrap_or(self.run.attempts.len());
        match known {
            Some(index) => {
                let attempt = &mut self.run.attempts[index];
                attempt.status = line.status;
                attempt.failure = line.failure;
                attempt.fidelity = line.fidelity;
            }
            None => {
                if ends && self.lost {
                    self.damaged.insert(index);
                }
                self.index_of.insert(line.id, index);
                self.run.attempts.push(line);
            }
        }
        self.open = (!ends).then_some(index);
        self.lost = false;
    }

    fn note_time(&mut self, at: f64) {
        if self.run.began == 0.0 {
            self.run.began = at;
        }
        self.run.ended = self.run.ended.max(at);
    }

    /// Notes a line that cannot be read.
    pub(super) fn unreadable(&mut self, fault: &Fault) {
        let place = fault.place.as_deref().unwrap_or("journal.ndjson");
        self.unreadable.push(format!("{place} ({})", fault.message));
        self.lost = true;
        self.damaged.extend(self.open);
    }

    /// A usage fault for a journal that has lines, none of which can be read.
    pub(super) fn require_a_line(&self) -> Result<(), Fault> {
        if self.any || self.unreadable.is_empty() { Ok(()) } else { Err(no_run()) }
    }

    /// The run so far.
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Leaves out attempts that lost lines, as if the run had been killed in them. They may be repeated.
    pub(super) fn leave_out_damaged(&mut self) {
        for index in &self.damaged {
            self.run.attempts[*index].status = Status::Started;
        }
    }

    /// The run, with warnings about its journal.
    ///
    /// # Errors
    /// A usage fault where no line could be read.
    pub(super) fn finish(mut self) -> Result<Run, Fault> {
        if !self.any {
            return Err(no_run());
        }
        self.leave_out_damaged();
        if !self.unreadable.is_empty() {
            self.run.warnings.push(format!(
                "damage to the journal in {}, which does not count: {}{}; was the run killed, is the disk full or failing, or were files mixed?",
                count_in_words(self.unreadable.len(), "place"),
                first_few(&self.unreadable),
                self.left_out(),
            ));
        }
        if self.study.is_none() {
            self.run
                .warnings
                .push("the command line that began the run is lost with the journal's first line".into());
        }
        if self.orphans > 0 {
            self.run.warnings.push(format!(
                "{} of the journal belong{} to no attempt (not counted)",
                count_in_words(self.orphans, "sample"),
                if self.orphans == 1 { "s" } else { "" },
            ));
        }
        Ok(self.run)
    }

    /// The attempts that are left out, as a clause.
    fn left_out(&self) -> String {
        let number = |index: &usize| self.run.attempts[*index].id.to_string();
        let numbers: Vec<String> = self.damaged.iter().map(number).collect();
        match numbers.len() {
            0 => String::new(),
            1 => format!("; attempt {} is left out", numbers[0]),
            _ => format!("; attempts {} are left out", first_few(&numbers)),
        }
    }
}

/// All names where they are few, else the first ones and how many more.
fn first_few(names: &[String]) -> String {
    const MOST: usize = 20;
    let more = names.len().saturating_sub(MOST);
    let first = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

fn no_run() -> Fault {
    Fault::usage(format!("expected a journal that begins with a `run` line of {JOURNAL_SCHEMA}"))
        .at("journal.ndjson")
        .remedy("name a directory that `crosstalk run` has written")
}
