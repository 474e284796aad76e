//! Reads the files of a run's directory, which others may have changed or removed since.

use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::parse_error::in_plain_words;
use crosstalk_host::regular;
use crosstalk_study::ranges::{RANGES_SCHEMA, Ranges};
use crosstalk_study::samples::Run;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{OPTIONS_FILE, RANGES_FILE, RunDir};
use crate::journal::{self, Journal};

/// The largest file of ranges, in bytes: those of a thousand cells with many metrics.
const LARGEST_RANGES: u64 = 1 << 30;

/// What to do about a file that has changed since the run.
const RESTORE: &str = "put it back as it was, or begin a new run";

impl RunDir {
    /// The content of one of its files. All but the journal are small.
    ///
    /// # Errors
    /// A usage fault if it is missing, too long or no regular file.
    pub fn read_bytes(&self, name: &str) -> Result<Vec<u8>, Fault> {
        let path = self.path.join(name);
        regular::read_small(regular::open(&path), &path).map_err(|fault| fault.remedy(RESTORE))
    }

    /// The content of one of its files, as text.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), and a usage fault if it is not UTF-8.
    pub fn read_text(&self, name: &str) -> Result<String, Fault> {
        String::from_utf8(self.read_bytes(name)?)
            .map_err(|e| self.not_written(name, &format!("expected UTF-8 text: {e}")))
    }

    /// The content of one of its files, a JSON object.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), and a usage fault if it is no such object.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Fault> {
        self.parse_json(name, &self.read_text(name)?)
    }

    fn parse_json<T: DeserializeOwned>(&self, name: &str, text: &str) -> Result<T, Fault> {
        // serde would read a list's members as the fields, in order.
        if !text.trim_start().starts_with('{') {
            return Err(self.not_written(name, "expected a JSON object"));
        }
        serde_json::from_str(text).map_err(|e| self.not_written(name, &in_plain_words(&e.to_string())))
    }

    fn not_written(&self, name: &str, why: &str) -> Fault {
        let place = self.path.join(name).display().to_string();
        Fault::usage(format!("this is not what a run writes: {why}")).at(place).remedy(RESTORE)
    }

    /// Adds the run's number to its options.
    pub(crate) fn note_run(&self, run: u32) -> Result<(), Fault> {
        if !self.path.join(OPTIONS_FILE).exists() {
            return Ok(());
        }
        let mut options: Map<String, Value> = self.read_json(OPTIONS_FILE)?;
        let noted = options.insert("run".into(), in_digits(run).into());
        if noted == options.get("run").cloned() {
            return Ok(());
        }
        self.write(OPTIONS_FILE, &Value::from(options).to_string())
    }

    /// The run's number in its options, if it is there.
    fn noted_run(&self) -> Result<Option<String>, Fault> {
        if !self.path.join(OPTIONS_FILE).exists() {
            return Ok(None);
        }
        let options: Map<String, Value> = self.read_json(OPTIONS_FILE)?;
        Ok(options.get("run").and_then(Value::as_str).map(String::from))
    }

    /// The run so far, with the facts of its nodes.
    ///
    /// # Errors
    /// Those of its files, and a usage fault if the journal is another run's.
    pub fn read_run(&self) -> Result<Run, Fault> {
        let place = self.journal_path();
        let is_empty = place.metadata().is_ok_and(|file| file.len() == 0);
        let recording = journal::read_journal_file(&place)?;
        let noted = self.check_run_number(recording.number(), recording.run())?;
        let read = if is_empty { Ok(Run::default()) } else { recording.finish() };
        let mut run = read.map_err(|fault| fault.at(place.display().to_string()))?;
        let has_begun = noted || self.path.join("provenance.json").exists();
        if has_begun && is_empty {
            run.warnings.push("the journal is empty: what was measured is lost".into());
        }
        if self.path.join("provenance.json").exists() {
            let provenance = self.provenance()?;
            run.provenance = provenance.before;
            run.provenance_after = provenance.after;
            run.absences = provenance.absences;
        }
        run.ranges = self.ranges()?;
        Ok(run)
    }

    /// What its cells show over the ranges of clusters' parameters; `None` where they were not replayed.
    ///
    /// # Errors
    /// Those of the file, and a usage fault if it is of another version.
    pub(super) fn ranges(&self) -> Result<Option<Ranges>, Fault> {
        if !self.path.join(RANGES_FILE).exists() {
            return Ok(None);
        }
        let path = self.path.join(RANGES_FILE);
        let bytes = regular::read_up_to(regular::open(&path), &path, LARGEST_RANGES);
        let bytes = bytes.map_err(|fault| fault.remedy(RESTORE))?;
        let ranges: Ranges = self.parse_json(RANGES_FILE, &String::from_utf8_lossy(&bytes))?;
        match ranges.schema == RANGES_SCHEMA {
            true => Ok(Some(ranges)),
            false => Err(unknown("schema", &ranges.schema, [RANGES_SCHEMA])),
        }
    }

    /// Its journal, open for more lines.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn reopen_journal(&self) -> Result<Journal, Fault> {
        let journal = Journal::reopen(&self.journal_path())?;
        self.check_run_number(journal.number(), journal.run())?;
        Ok(journal)
    }

    /// Compares the run's number in the journal (`found`) with that in the options. Returns whether the options have one.
    ///
    /// # Errors
    /// A usage fault if the numbers differ.
    fn check_run_number(&self, found: Option<u32>, run: &Run) -> Result<bool, Fault> {
        let noted = self.noted_run()?;
        match (&noted, found.map(in_digits)) {
            (Some(noted), Some(found)) if *noted != found => Err(Fault::usage(format!(
                "this journal is another run's, which was begun by `{}`",
                run.command
            ))
            .at(self.journal_path().display().to_string())
            .remedy(RESTORE)),
            _ => Ok(noted.is_some()),
        }
    }
}

/// A run's number in the notation of the journal.
fn in_digits(run: u32) -> String {
    format!("{run:08x}")
}
