//! From the journal's lines to a [`Run`]: what happened, attempt by attempt.
//!
//! A journal is written by a program that may be killed at any moment, to a disk that may err, and a
//! line that cannot be read must not take the others with it: it is left out and reported, and so is
//! the attempt that it may have been part of. Each line carries what [`chain`] checks, so that a line that
//! was changed, moved or doubled, or is another run's, is not believed because it happens to read.

use assembly::Assembly;
use crosstalk_core::record::Line;
use crosstalk_core::{Fault, FaultKind};
use std::borrow::BorrowMut;
use std::io::BufRead;

pub use chain::Chain;

use crate::samples::Run;

mod assembly;
mod chain;

/// The lines of a journal as text. A fault of kind `Usage` stands for a line
/// that cannot be read, is not what was written, or is not at its place, and for lines that are missing before
/// one that can; one of kind `Environment` for a stream that cannot be read.
pub fn lines(reader: impl BufRead) -> impl Iterator<Item = Result<Line, Fault>> {
    checked(reader, Chain::default())
}

/// The same, checked against a chain that whoever gives it may go on with.
fn checked(
    reader: impl BufRead,
    mut chain: impl BorrowMut<Chain>,
) -> impl Iterator<Item = Result<Line, Fault>> {
    reader
        .split(b'\n')
        .enumerate()
        .map(|(index, bytes)| (index + 1, bytes))
        .filter(|(_, bytes)| bytes.as_ref().map_or(true, |b| !b.trim_ascii().is_empty()))
        .flat_map(move |(number, bytes)| match bytes {
            Ok(bytes) => {
                let (line, missing) = chain.borrow_mut().read(bytes);
                let at = |fault: Fault| fault.at(format!("journal.ndjson:{number}"));
                let before = (missing > 0).then(|| Err(at(Fault::usage(lacking(missing)))));
                before.into_iter().chain([line.map_err(at)])
            }
            Err(e) => {
                None.into_iter().chain([Err(Fault::environment(format!("cannot read the journal: {e}")))])
            }
        })
}

fn lacking(missing: u32) -> String {
    format!(
        "{} missing before it",
        if missing == 1 { "a line is".into() } else { format!("{missing} lines are") }
    )
}

/// Reads a journal.
///
/// Provenance and absences are not in the journal; the caller adds them.
///
/// # Errors
/// When the stream cannot be read, holds no run, holds two different runs, or
/// is of a schema that this version does not know.
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

/// A journal that is read once and then written on: its run is kept as it goes.
#[derive(Default)]
pub struct Recording {
    chain: Chain,
    assembly: Assembly,
}

impl Recording {
    /// What a journal holds already; nothing where it is empty.
    ///
    /// # Errors
    /// As [`read_journal`], but for a journal without lines.
    pub fn read(reader: impl BufRead) -> Result<Self, Fault> {
        let mut chain = Chain::default();
        let mut assembly = assembled(checked(reader, &mut chain))?;
        assembly.is_a_run()?;
        assembly.leave_out_damaged();
        Ok(Recording { chain, assembly })
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        self.assembly.run()
    }

    /// Which run it is, once a line has told.
    pub fn number(&self) -> Option<u32> {
        self.chain.run()
    }

    /// Takes the next line; how it is written, with its end.
    ///
    /// # Errors
    /// An environment fault where the line has no form in JSON; a usage fault where it is another run's.
    pub fn add(&mut self, line: Line) -> Result<Vec<u8>, Fault> {
        let written = self.chain.written(&line)?;
        self.assembly.take(line)?;
        Ok(written)
    }

    /// The run, with what was odd in its journal.
    ///
    /// # Errors
    /// A usage fault where no line could be read.
    pub fn finish(self) -> Result<Run, Fault> {
        self.assembly.finish()
    }
}
