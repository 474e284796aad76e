//! The journal: one JSON object a line, on the disk before the next is measured.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::record::Line;
use crosstalk_study::journal::{Chain, lines, of_run, read_journal};
use crosstalk_study::samples::Run;

/// A journal open for writing at its end.
pub struct Journal {
    out: Box<dyn Write + Send>,
    place: String,
    chain: Chain,
}

impl Journal {
    /// Begins a journal; refuses to overwrite one.
    pub fn create(path: &Path) -> Result<Self, Fault> {
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|e| {
            let fault = cannot("create", path, &e);
            if e.kind() == ErrorKind::AlreadyExists {
                fault.remedy(format!("crosstalk resume {}", parent(path).display()))
            } else {
                fault
            }
        })?;
        Ok(Journal { out: Box::new(file), place: path.display().to_string(), chain: Chain::default() })
    }

    /// Goes on with a journal that was cut short. A last line that was not
    /// written whole is no sample: it is taken off.
    pub fn reopen(path: &Path) -> Result<Self, Fault> {
        let mut file =
            OpenOptions::new().read(true).write(true).open(path).map_err(|e| cannot("open", path, &e))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(|e| cannot("read", path, &e))?;
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1) as u64;
        file.set_len(whole)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(|e| cannot("repair", path, &e))?;
        let chain = Chain::of(&text[..whole as usize])?;
        Ok(Journal { out: Box::new(file), place: path.display().to_string(), chain })
    }

    /// Which run it is of, once a line has told.
    pub fn run(&self) -> Option<u32> {
        self.chain.run()
    }

    /// A journal that writes elsewhere, for tests.
    pub fn to(out: Box<dyn Write + Send>) -> Self {
        Journal { out, place: "journal".into(), chain: Chain::default() }
    }

    /// Writes one line, whole, and hands it to the kernel.
    pub fn write(&mut self, line: &Line) -> Result<(), Fault> {
        let text = self.chain.written(line).map_err(|fault| fault.at(self.place.clone()))?;
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

/// What a journal tells. A line that cannot be read is left out and reported in
/// the run; the last line of a run that was killed may be one.
pub fn read(path: &Path) -> Result<Run, Fault> {
    let file = File::open(path).map_err(|e| cannot("open", path, &e))?;
    let mut reader = BufReader::new(file);
    if reader.fill_buf().map_err(|e| cannot("read", path, &e))?.is_empty() {
        return Ok(Run::default());
    }
    read_journal(lines(reader)).map_err(|f| f.at(path.display().to_string()))
}

/// Which run a journal is of, where its lines tell.
///
/// # Errors
/// An environment fault where it cannot be opened.
pub fn run(path: &Path) -> Result<Option<u32>, Fault> {
    let file = File::open(path).map_err(|e| cannot("open", path, &e))?;
    Ok(of_run(BufReader::new(file)))
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
    use crosstalk_core::record::Status;

    fn end(why: &str) -> Line {
        Line::End { status: Status::Finished, why: why.into(), at: 1.0 }
    }

    #[test]
    fn a_line_cut_short_is_taken_off_and_the_rest_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("journal.ndjson");
        let mut journal = Journal::create(&path).expect("creates");
        journal.write(&end("a")).expect("writes");
        journal.write(&end("b")).expect("writes");
        drop(journal);
        let text = std::fs::read(&path).expect("reads");
        std::fs::write(&path, &text[..text.len() - 5]).expect("cuts");
        let mut journal = Journal::reopen(&path).expect("reopens");
        journal.write(&end("c")).expect("writes");
        let text = std::fs::read(&path).expect("reads");
        let kept: Vec<Line> = lines(text.as_slice()).collect::<Result<_, _>>().expect("whole lines");
        assert_eq!(kept, [end("a"), end("c")]);
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
        let fault = Journal::to(Box::new(full)).write(&end("a")).expect_err("no room");
        assert!(fault.remedy.is_some_and(|r| r.contains("resume")), "{}", fault.message);
    }
}
