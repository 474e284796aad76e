//! The journal on disk: a line is on disk before anything that it says is sent.
//!
//! A line that was being written when the project was killed has no end. Nothing of it was sent, so the next
//! write removes it. Any other line that cannot be read is a fault. So is an unfinished first line that is
//! not a project's: that file belongs to something else.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_host::regular;
use rustix::fs::{FlockOperation, flock};

use super::line::Line;

/// The file's name in the project's directory.
pub const FILE: &str = "journal.ndjson";

/// The longest line, in bytes.
const LONGEST: u64 = 1 << 20;

/// The beginning of every journal.
const BEGINS: &[u8] = br#"{"line":"project","#;

/// The journal, which this process alone writes to.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Bytes of its whole lines, until the first write.
    whole: Option<u64>,
}

impl Journal {
    /// Opens the one in `folder`, or makes it, readable by its owner only: it holds the account's key. Passes
    /// each line to `take`, and changes nothing yet.
    ///
    /// # Errors
    /// Where another process uses it, or a line cannot be read or applied.
    pub fn open(folder: &Path, mut take: impl FnMut(Line) -> Result<(), String>) -> Result<Self, Fault> {
        let path = folder.join(FILE);
        let io = |e| unusable(&path, &e);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let file = regular::open_as(&mut options, &path).map_err(io)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Fault::environment("another process runs this project")
                .at(path.display().to_string())
                .remedy("end that one first, or name another directory")
        })?;
        let whole = read(&path, &file, &mut take)?;
        // The file's name must be as durable as its lines.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
        Ok(Journal { file, path, whole: Some(whole) })
    }

    /// Whether there is one in `folder`, of whatever length.
    pub fn is_there(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    /// Passes each line of the journal in `folder` to `take`, also while a project writes it.
    ///
    /// # Errors
    /// Where there is none, or a line cannot be read or applied.
    pub fn replay(folder: &Path, mut take: impl FnMut(Line) -> Result<(), String>) -> Result<(), Fault> {
        let path = folder.join(FILE);
        let file = regular::open(&path).map_err(|e| unusable(&path, &e))?;
        read(&path, &file, &mut take).map(drop)
    }

    /// Adds lines. They are on disk when this returns.
    ///
    /// # Errors
    /// Where they may not be on disk: nothing may depend on them, and nothing may be written after them.
    pub fn append(&mut self, lines: &[Line]) -> Result<(), Fault> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)
                .map_err(|e| Fault::environment(format!("cannot write a line: {e}")))?;
            text.push(b'\n');
        }
        let begun = self.truncate();
        begun.and_then(|()| self.file.write_all(&text)).and_then(|()| self.file.sync_data()).map_err(|e| {
            Fault::environment(format!("cannot write the journal: {e}"))
                .at(self.path.display().to_string())
                .remedy("free some room, then start the project again: nothing that was acknowledged is lost")
        })
    }

    /// Removes an unfinished line, so that the next one follows the whole ones.
    fn truncate(&mut self) -> io::Result<()> {
        let Some(whole) = self.whole else { return Ok(()) };
        self.file.set_len(whole)?;
        self.file.seek(SeekFrom::Start(whole))?;
        self.whole = None;
        Ok(())
    }
}

/// Passes each whole line to `take`; returns the bytes of these lines.
fn read(path: &Path, file: &File, take: &mut dyn FnMut(Line) -> Result<(), String>) -> Result<u64, Fault> {
    let mut reader = BufReader::new(file);
    let (mut whole, mut number) = (0, 0);
    loop {
        let mut line = Vec::new();
        let mut limited = Read::take(&mut reader, LONGEST);
        let read = limited.read_until(b'\n', &mut line).map_err(|e| unusable(path, &e))? as u64;
        number += 1;
        let wrong = |why: String| {
            Fault::environment(format!("expected a line of this project's journal: {why}"))
                .at(format!("{}:{number}", path.display()))
                .remedy("name another directory, or restore the journal's latest copy")
        };
        if line.last() != Some(&b'\n') && read < LONGEST {
            let ours = whole > 0 || line.iter().zip(BEGINS).all(|(found, expected)| found == expected);
            return if ours { Ok(whole) } else { Err(wrong("the file is something else".into())) };
        }
        serde_json::from_slice(&line).map_err(|e| e.to_string()).and_then(&mut *take).map_err(wrong)?;
        whole += read;
    }
}

fn unusable(path: &Path, e: &io::Error) -> Fault {
    Fault::environment(format!("cannot use the journal: {e}")).at(path.display().to_string())
}

#[cfg(test)]
mod tests;
