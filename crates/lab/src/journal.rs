//! The journal: one JSON object a line. A line is written before the next measurement.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::record::Line;
use crosstalk_study::journal::RecordedRun;
use crosstalk_study::samples::Run;

/// The journal file of a run, open for writing at its end.
pub struct Journal {
    out: Box<dyn Write + Send>,
    place: String,
    recording: RecordedRun,
}

impl Journal {
    /// Creates a journal.
    ///
    /// # Errors
    /// If the file exists, or cannot be created.
    pub fn create(path: &Path) -> Result<Self, Fault> {
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|e| {
            let fault = cannot("create", path, &e);
            if e.kind() == ErrorKind::AlreadyExists {
                fault.remedy(format!("crosstalk resume {}", parent(path).display()))
            } else {
                fault
            }
        })?;
        Ok(Journal {
            out: Box::new(file),
            place: path.display().to_string(),
            recording: RecordedRun::default(),
        })
    }

    /// Reads a journal, and opens it for more lines. An incomplete last line is removed.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn reopen(path: &Path) -> Result<Self, Fault> {
        let mut file =
            OpenOptions::new().read(true).write(true).open(path).map_err(|e| cannot("open", path, &e))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|e| cannot("read", path, &e))?;
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let place = path.display().to_string();
        let recording = RecordedRun::read(&text[..whole]).map_err(|fault| fault.at(place.clone()))?;
        file.set_len(whole as u64)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(|e| cannot("repair", path, &e))?;
        Ok(Journal { out: Box::new(file), place, recording })
    }

    /// The run's number, once a line has one.
    pub fn number(&self) -> Option<u32> {
        self.recording.number()
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        self.recording.run()
    }

    /// A journal that writes to `out`, for tests.
    pub fn writing_to(out: Box<dyn Write + Send>) -> Self {
        Journal { out, place: "journal".into(), recording: RecordedRun::default() }
    }

    /// Writes one line to the file.
    ///
    /// # Errors
    /// An environment fault if it cannot be written.
    pub fn write(&mut self, line: Line) -> Result<(), Fault> {
        let text = self.recording.encode_next(line).map_err(|fault| fault.at(self.place.clone()))?;
        self.out.write_all(&text).and_then(|()| self.out.flush()).map_err(|e| {
            let fault = Fault::environment(format!("cannot write: {e}")).at(self.place.clone());
            match e.kind() {
                ErrorKind::StorageFull => {
                    fault.remedy("free some room on that disk, then go on with `crosstalk resume`; nothing written so far is lost")
                }
                _ => fault,
            }
        })
    }
}

/// Reads a journal. A line that cannot be read is skipped and reported in the run.
/// The last line of a run that was killed may be one.
///
/// # Errors
/// If the file cannot be read.
pub fn read_journal_file(path: &Path) -> Result<RecordedRun, Fault> {
    let file = File::open(path).map_err(|e| cannot("open", path, &e))?;
    RecordedRun::read(BufReader::new(file)).map_err(|fault| fault.at(path.display().to_string()))
}

fn parent(path: &Path) -> PathBuf {
    path.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Fault {
    Fault::environment(format!("cannot {what} it: {error}")).at(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::record::{JOURNAL_SCHEMA, Status};
    use crosstalk_study::journal::lines;

    fn begin() -> Line {
        let (study, version, command) = ("s".into(), "0".into(), "crosstalk run s".into());
        Line::Run { schema: JOURNAL_SCHEMA.into(), study, version, seed: 1, command, quick: false, at: 0.0 }
    }

    fn end(why: &str) -> Line {
        Line::End { status: Status::Finished, why: why.into(), at: 1.0 }
    }

    #[test]
    fn an_incomplete_line_is_removed_and_the_others_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal.ndjson");
        let mut journal = Journal::create(&path).expect("creates");
        journal.write(begin()).expect("writes");
        journal.write(end("a")).expect("writes");
        drop(journal);
        let text = std::fs::read(&path).expect("reads");
        std::fs::write(&path, &text[..text.len() - 5]).expect("cuts");
        let mut journal = Journal::reopen(&path).expect("reopens");
        assert_eq!(journal.run().end, "", "it has not ended yet");
        journal.write(end("c")).expect("writes");
        assert_eq!(journal.run().end, "c");
        let text = std::fs::read(&path).expect("reads");
        let kept: Vec<Line> = lines(text.as_slice()).collect::<Result<_, _>>().expect("whole lines");
        assert_eq!(kept, [begin(), end("c")]);
    }

    #[test]
    fn a_journal_is_never_overwritten() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal.ndjson");
        drop(Journal::create(&path).expect("creates"));
        let fault = Journal::create(&path).err().expect("refused");
        assert!(fault.remedy.is_some_and(|r| r.starts_with("crosstalk resume")));
    }

    #[test]
    fn a_full_disk_is_named() {
        let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
            eprintln!("skipped: no /dev/full here");
            return;
        };
        let fault = Journal::writing_to(Box::new(full)).write(begin()).expect_err("no room");
        assert!(fault.remedy.is_some_and(|r| r.contains("resume")), "{}", fault.message);
    }
}
