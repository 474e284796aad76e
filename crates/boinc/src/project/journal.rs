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
const FILE: &str = "journal.ndjson";

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
    pub fn add(&mut self, lines: &[Line]) -> Result<(), Fault> {
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
mod tests {
    use super::*;
    use crate::project::damage::damaged;
    use crate::project::line::ResultId;
    use crate::project::settings::Settings;
    use proptest::prelude::*;
    use std::fs;

    fn line(unit: u64) -> Line {
        Line::Lost { result: ResultId { unit, instance: 0 }, at: 0.5 }
    }

    fn first() -> Line {
        Line::Project { schema: "x".into(), settings: Settings::default(), key: "y".into() }
    }

    fn lines(folder: &Path) -> Result<Vec<Line>, Fault> {
        let mut lines = Vec::new();
        Journal::open(folder, |line| {
            lines.push(line);
            Ok(())
        })?;
        Ok(lines)
    }

    /// Six lines.
    fn six() -> Vec<Line> {
        std::iter::once(first()).chain((0..5).map(line)).collect()
    }

    /// Their text.
    fn journal() -> Vec<u8> {
        let text = |line: &Line| serde_json::to_string(line).expect("writes") + "\n";
        six().iter().map(text).collect::<String>().into_bytes()
    }

    #[test]
    fn lines_are_there_after_it_was_closed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut journal = Journal::open(folder.path(), |_| Ok(())).expect("opens");
        journal.add(&[line(1), line(2)]).expect("writes");
        journal.add(&[]).expect("writes");
        let fault = lines(folder.path()).expect_err("is held");
        assert!(fault.message.contains("another process"), "{fault}");
        drop(journal);
        assert_eq!(lines(folder.path()), Ok(vec![line(1), line(2)]));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(
            folder.path().join("journal.ndjson"),
            "{\"line\":\"lost\",\"unit\":1,\"instance\":0,\"at\":1}\nx\n",
        )
        .expect("writes");
        let fault = lines(folder.path()).expect_err("refused");
        assert!(fault.place.is_some_and(|place| place.ends_with("journal.ndjson:2")));
        let refused = Journal::open(folder.path(), |_| Err("twice".into())).expect_err("refused");
        assert!(refused.message.contains("twice") && refused.place.is_some_and(|p| p.ends_with(":1")));
    }

    #[test]
    fn another_program_s_file_is_left_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(FILE);
        fs::write(&path, "notes without an end").expect("writes");
        let fault = lines(folder.path()).expect_err("is another's");
        assert!(fault.place.is_some_and(|place| place.ends_with(":1")));
        assert_eq!(fs::read_to_string(&path).expect("reads"), "notes without an end");
        // A project's first line, cut short: it is kept until the next write.
        fs::write(&path, &BEGINS[..9]).expect("writes");
        assert_eq!(lines(folder.path()), Ok(Vec::new()));
        assert_eq!(fs::read(&path).expect("reads"), &BEGINS[..9]);
        fs::remove_file(&path).expect("removes");
        assert_eq!(lines(folder.path()), Ok(Vec::new()));
        assert_eq!(fs::metadata(&path).expect("is there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn every_journal_has_that_beginning() {
        assert!(journal().starts_with(BEGINS));
    }

    #[test]
    fn a_line_without_end_or_bottom_is_a_fault_of_bounded_size() {
        for (text, whole) in [("x", false), ("[", true), ("{\"line\":", true)] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut line = text.repeat(3 * LONGEST as usize / text.len());
            if whole {
                line.truncate(LONGEST as usize - 1);
                line.push('\n');
            }
            fs::write(folder.path().join(FILE), line).expect("writes");
            let fault = lines(folder.path()).expect_err("is none");
            assert!(fault.message.len() < 300, "{}", fault.message.len());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn any_bytes_are_lines_or_a_fault_that_says_where(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let folder = tempfile::tempdir().expect("a temporary folder");
            fs::write(folder.path().join(FILE), bytes).expect("writes");
            if let Err(fault) = lines(folder.path()) {
                prop_assert!(fault.place.is_some_and(|place| place.contains("journal.ndjson:")));
            }
        }

        #[test]
        fn a_damaged_journal_has_the_lines_that_are_whole_or_is_refused(text in damaged(journal())) {
            let folder = tempfile::tempdir().expect("a temporary folder");
            fs::write(folder.path().join(FILE), &text).expect("writes");
            let whole = text.iter().filter(|byte| **byte == b'\n').count();
            match lines(folder.path()) {
                Ok(lines) => prop_assert_eq!(lines.len(), whole),
                Err(fault) => prop_assert!(fault.remedy.is_some()),
            }
        }

        #[test]
        fn killed_anywhere_the_whole_lines_stay(cut in 0_usize..800) {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut journal = Journal::open(folder.path(), |_| Ok(())).expect("opens");
            journal.add(&six()).expect("writes");
            drop(journal);
            let path = folder.path().join("journal.ndjson");
            let text = fs::read(&path).expect("reads");
            let cut = cut.min(text.len());
            fs::write(&path, &text[..cut]).expect("writes");
            let whole = text[..cut].iter().filter(|byte| **byte == b'\n').count();
            prop_assert_eq!(lines(folder.path()).expect("opens").len(), whole);
            // A line that is added then is whole.
            let mut journal = Journal::open(folder.path(), |_| Ok(())).expect("opens");
            journal.add(&[line(9)]).expect("writes");
            drop(journal);
            prop_assert_eq!(lines(folder.path()).expect("opens").pop(), Some(line(9)));
        }
    }
}
