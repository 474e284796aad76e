//! From the journal's lines to a [`Run`].
//!
//! The program that writes a journal may be killed at any moment, and the disk may fail. A line that cannot be read is left
//! out and reported, and so is the attempt that it may be part of; the others stay. [`position`] checks each line: one that
//! was changed, moved or doubled, or belongs to another run, does not count.

use assembly::Assembly;
use crosstalk_core::record::Line;
use crosstalk_core::{Fault, FaultKind};
use std::borrow::BorrowMut;
use std::io::BufRead;

pub use position::JournalPosition;

use crate::samples::Run;

mod assembly;
mod position;

/// The lines of a journal. A fault of kind `Usage` stands for a line that cannot be read, was changed, or is out of place,
/// and for lines that are missing. One of kind `Environment` stands for a stream that cannot be read.
pub fn lines(reader: impl BufRead) -> impl Iterator<Item = Result<Line, Fault>> {
    checked_lines(reader, JournalPosition::default())
}

/// The same, checked against a position that can be continued afterwards.
fn checked_lines(
    reader: impl BufRead,
    mut position: impl BorrowMut<JournalPosition>,
) -> impl Iterator<Item = Result<Line, Fault>> {
    reader
        .split(b'\n')
        .enumerate()
        .map(|(index, bytes)| (index + 1, bytes))
        .filter(|(_, bytes)| bytes.as_ref().map_or(true, |b| !b.trim_ascii().is_empty()))
        .flat_map(move |(number, bytes)| match bytes {
            Ok(bytes) => {
                let (line, missing) = position.borrow_mut().read(bytes);
                let at = |fault: Fault| fault.at(format!("journal.ndjson:{number}"));
                let before = (missing > 0).then(|| Err(at(Fault::usage(missing_before(missing)))));
                before.into_iter().chain([line.map_err(at)])
            }
            Err(e) => {
                None.into_iter().chain([Err(Fault::environment(format!("cannot read the journal: {e}")))])
            }
        })
}

fn missing_before(missing: u32) -> String {
    format!(
        "{} missing before it",
        if missing == 1 { "a line is".into() } else { format!("{missing} lines are") }
    )
}

/// Reads a journal.
///
/// Provenance and absences are not in the journal: the caller adds them.
///
/// # Errors
/// A fault where the stream cannot be read, where it holds no run or two different runs, and for an unknown schema.
pub fn read_journal(lines: impl Iterator<Item = Result<Line, Fault>>) -> Result<Run, Fault> {
    assembled(lines)?.finish()
}

fn assembled(lines: impl Iterator<Item = Result<Line, Fault>>) -> Result<Assembly, Fault> {
    let mut assembly = Assembly::default();
    for line in lines {
        match line {
            Ok(line) => assembly.take(line)?,
            Err(fault) if fault.kind == FaultKind::Usage => assembly.unreadable(&fault),
            Err(fault) => return Err(fault),
        }
    }
    Ok(assembly)
}

/// A journal that is read once and then appended to, with the run that its lines give so far.
#[derive(Default)]
pub struct RecordedRun {
    position: JournalPosition,
    assembly: Assembly,
}

impl RecordedRun {
    /// The recording of an existing journal, which may be empty.
    ///
    /// # Errors
    /// As [`read_journal`], but an empty journal is no fault.
    pub fn read(reader: impl BufRead) -> Result<Self, Fault> {
        let mut position = JournalPosition::default();
        let mut assembly = assembled(checked_lines(reader, &mut position))?;
        assembly.require_a_line()?;
        assembly.leave_out_damaged();
        Ok(RecordedRun { position, assembly })
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        self.assembly.run()
    }

    /// The run's number, which all lines carry; `None` before the first line.
    pub fn number(&self) -> Option<u32> {
        self.position.run()
    }

    /// Adds the next line to the run, and returns the bytes to write, with the line's end.
    ///
    /// # Errors
    /// An environment fault where the line cannot be written as JSON; a usage fault where it belongs to another run.
    pub fn encode_next(&mut self, line: Line) -> Result<Vec<u8>, Fault> {
        let written = self.position.encode_next(&line)?;
        self.assembly.take(line)?;
        Ok(written)
    }

    /// The run, with warnings about its journal.
    ///
    /// # Errors
    /// A usage fault where no line could be read.
    pub fn finish(self) -> Result<Run, Fault> {
        self.assembly.finish()
    }
}
