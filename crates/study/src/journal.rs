//! From the journal's lines to a [`Run`]: what happened, attempt by attempt.
//!
//! A journal is written by a program that may be killed at any moment, to a disk that may err, and a
//! line that cannot be read must not take the others with it: it is left out and reported, and so is
//! the attempt that it may have been part of. Each line carries a checksum of what is before it, so
//! that a line that was changed is not believed because it happens to read.

use crosstalk_core::expected::in_words;
use crosstalk_core::name::unknown;
use crosstalk_core::quote::message;
use crosstalk_core::record::{AttemptId, JOURNAL_SCHEMA, JOURNAL_SCHEMAS, Line, Status};
use crosstalk_core::{Fault, FaultKind};
use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;

use crate::analyse::counted;
use crate::samples::{Attempt, Run};

/// A line as it is written, with its end: the last member of its object is the CRC-32 (that of zlib and PNG)
/// of all bytes before that member, as eight hexadecimal digits.
///
/// # Errors
/// An environment fault where the line has no form in JSON.
pub fn written(line: &Line) -> Result<Vec<u8>, Fault> {
    let mut text =
        serde_json::to_vec(line).map_err(|e| Fault::environment(format!("cannot write a line: {e}")))?;
    text.pop();
    let checksum = checksum(&text);
    text.extend_from_slice(checksum.as_bytes());
    text.push(b'\n');
    Ok(text)
}

fn checksum(text: &[u8]) -> String {
    format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(text))
}

/// How long a line's checksum is, with what is around it.
const CHECKSUM: usize = r#","crc":"01234567"}"#.len();

/// What a line's checksum says.
enum Checksum {
    Right,
    Wrong,
    Absent,
}

fn check(bytes: &[u8]) -> Checksum {
    let Some((text, found)) = bytes.split_last_chunk::<CHECKSUM>() else { return Checksum::Absent };
    if checksum(text).as_bytes() == found {
        return Checksum::Right;
    }
    if found.starts_with(br#","crc":""#) { Checksum::Wrong } else { Checksum::Absent }
}

/// The lines of a journal as text. A fault of kind `Usage` stands for a line
/// that cannot be read or is not what was written; one of kind `Environment` for a stream that cannot be read.
pub fn lines(reader: impl BufRead) -> impl Iterator<Item = Result<Line, Fault>> {
    let mut has_checksums = false;
    reader
        .split(b'\n')
        .enumerate()
        .map(|(index, bytes)| (index + 1, bytes))
        .filter(|(_, bytes)| bytes.as_ref().map_or(true, |b| !b.trim_ascii().is_empty()))
        .map(move |(number, bytes)| {
            let bytes = bytes.map_err(|e| Fault::environment(format!("cannot read the journal: {e}")))?;
            line(bytes, &mut has_checksums).map_err(|fault| fault.at(format!("journal.ndjson:{number}")))
        })
}

/// One of them. `has_checksums`: whether lines carry checksums from here on.
fn line(mut bytes: Vec<u8>, has_checksums: &mut bool) -> Result<Line, Fault> {
    let check = check(&bytes);
    match check {
        Checksum::Wrong => {
            return Err(Fault::usage("this line is not what was written: its checksum is another"));
        }
        Checksum::Absent if *has_checksums => return Err(Fault::usage("this line has no checksum")),
        Checksum::Absent => {}
        Checksum::Right => {
            *has_checksums = true;
            bytes.truncate(bytes.len() - CHECKSUM);
            bytes.push(b'}');
        }
    }
    let line = serde_json::from_slice(&bytes).map_err(|e| {
        Fault::usage(format!("not a line of {JOURNAL_SCHEMA}: {}", message(in_words(&e.to_string()))))
    })?;
    match (&line, check) {
        (Line::Run { schema, .. }, Checksum::Absent) if schema == JOURNAL_SCHEMA => {
            *has_checksums = true;
            Err(Fault::usage("this line has no checksum"))
        }
        _ => Ok(line),
    }
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
    /// Whether any line could be read.
    any: bool,
    /// Number in the journal → place in `run.attempts`; a resumed run may count anew.
    place: HashMap<AttemptId, usize>,
    /// The place of the attempt that has begun and not ended.
    open: Option<usize>,
    /// Whether a line was lost since the last that begins or ends an attempt.
    lost: bool,
    /// Places of the attempts whose lines are not all there.
    damaged: BTreeSet<usize>,
    orphans: usize,
    unreadable: Vec<String>,
}

impl Reading {
    fn take(&mut self, line: Line) -> Result<(), Fault> {
        // A run whose first line is lost is one all the same.
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
        if !JOURNAL_SCHEMAS.contains(&schema) {
            return Err(unknown("journal schema", schema, JOURNAL_SCHEMAS));
        }
        if schema != JOURNAL_SCHEMA && self.study.is_none() {
            self.run.warnings.push(format!(
                "the journal is of an earlier version ({schema}), whose lines carry no checksums: damage to it may go unnoticed"
            ));
        }
        self.open = None;
        match &self.study {
            None => {
                self.study = Some(study);
                let Run { command, version, seed, quick, began, .. } = opened;
                self.clock(began);
                self.run = Run { command, version, seed, quick, ..std::mem::take(&mut self.run) };
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
        let ends = line.status != Status::Started;
        let known = self.place.get(&line.id).copied().filter(|_| ends);
        let place = known.unwrap_or(self.run.attempts.len());
        match known {
            Some(place) => {
                let attempt = &mut self.run.attempts[place];
                attempt.status = line.status;
                attempt.reason = line.reason;
                attempt.fidelity = line.fidelity;
            }
            None => {
                if ends && self.lost {
                    self.damaged.insert(place);
                }
                self.place.insert(line.id, place);
                self.run.attempts.push(line);
            }
        }
        self.open = (!ends).then_some(place);
        self.lost = false;
    }

    fn clock(&mut self, at: f64) {
        if self.run.began == 0.0 {
            self.run.began = at;
        }
        self.run.ended = self.run.ended.max(at);
    }

    fn unreadable(&mut self, fault: &Fault) {
        self.unreadable.push(fault.place.clone().unwrap_or_else(|| fault.message.clone()));
        self.lost = true;
        self.damaged.extend(self.open);
    }

    fn finish(mut self) -> Result<Run, Fault> {
        if !self.any {
            return Err(no_run());
        }
        for place in &self.damaged {
            // As if the run had been killed in it: what is there of it does not count, and it may be repeated.
            self.run.attempts[*place].status = Status::Started;
        }
        if !self.unreadable.is_empty() {
            self.run.warnings.push(format!(
                "{} of the journal could not be read or {} not what was written, and count{} for nothing: {}{}; was the run killed, or is the disk full or failing?",
                counted(self.unreadable.len(), "line"),
                if self.unreadable.len() == 1 { "is" } else { "are" },
                if self.unreadable.len() == 1 { "s" } else { "" },
                some(&self.unreadable),
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
                "{} of the journal belong{} to no attempt and count for nothing",
                counted(self.orphans, "sample"),
                if self.orphans == 1 { "s" } else { "" },
            ));
        }
        Ok(self.run)
    }

    /// Which attempts a lost line was part of.
    fn left_out(&self) -> String {
        let number = |place: &usize| self.run.attempts[*place].id.to_string();
        let numbers: Vec<String> = self.damaged.iter().map(number).collect();
        match numbers.len() {
            0 => String::new(),
            1 => format!("; attempt {} is left out", numbers[0]),
            _ => format!("; attempts {} are left out", some(&numbers)),
        }
    }
}

/// All of a few, the first of many.
fn some(names: &[String]) -> String {
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
