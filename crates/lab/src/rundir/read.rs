//! What is in a run's directory, read as what others may have changed, mixed or taken away since.

use crosstalk_core::Fault;
use crosstalk_core::expected::in_words;
use crosstalk_host::regular;
use crosstalk_study::samples::Run;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{OPTIONS, RunDir};
use crate::journal::{self, Journal};

/// What to do about a file that is not as the run left it.
const PUT_BACK: &str = "put it back as it was, or begin a new run";

impl RunDir {
    /// What is in one of its files, all of which but the journal are small.
    ///
    /// # Errors
    /// A usage fault where it is missing, too long or no regular file.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, Fault> {
        let path = self.path.join(name);
        regular::small(regular::open(&path), &path).map_err(|fault| fault.remedy(PUT_BACK))
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> Result<String, Fault> {
        String::from_utf8(self.bytes(name)?)
            .map_err(|e| self.not_written(name, &format!("expected UTF-8 text: {e}")))
    }

    /// One of its files that is an object in JSON.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), and a usage fault where it is another than was written.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Fault> {
        let text = self.text(name)?;
        // Of a list, the members would be taken in order.
        if !text.trim_start().starts_with('{') {
            return Err(self.not_written(name, "expected a JSON object"));
        }
        serde_json::from_str(&text).map_err(|e| self.not_written(name, &in_words(&e.to_string())))
    }

    fn not_written(&self, name: &str, why: &str) -> Fault {
        let place = self.path.join(name).display().to_string();
        Fault::usage(format!("this is not what a run writes: {why}")).at(place).remedy(PUT_BACK)
    }

    /// Notes which run the journal is of, beside how it was asked for.
    pub(crate) fn note_run(&self, run: u32) -> Result<(), Fault> {
        if !self.path.join(OPTIONS).exists() {
            return Ok(());
        }
        let mut options: Map<String, Value> = self.json(OPTIONS)?;
        let noted = options.insert("run".into(), in_digits(run).into());
        if noted == options.get("run").cloned() {
            return Ok(());
        }
        self.write(OPTIONS, &Value::from(options).to_string())
    }

    /// Which run the journal is of, where that was noted.
    fn noted_run(&self) -> Result<Option<String>, Fault> {
        if !self.path.join(OPTIONS).exists() {
            return Ok(None);
        }
        let options: Map<String, Value> = self.json(OPTIONS)?;
        Ok(options.get("run").and_then(Value::as_str).map(String::from))
    }

    /// The run so far, with what is known of its nodes.
    ///
    /// # Errors
    /// Those of its files, and a usage fault where the journal is another run's.
    pub fn read(&self) -> Result<Run, Fault> {
        let place = self.journal();
        let is_empty = place.metadata().is_ok_and(|file| file.len() == 0);
        let recording = journal::read(&place)?;
        let noted = self.is_of_this_run(recording.number(), recording.run())?;
        let read = if is_empty { Ok(Run::default()) } else { recording.finish() };
        let mut run = read.map_err(|fault| fault.at(place.display().to_string()))?;
        let has_begun = noted || self.path.join("provenance.json").exists();
        if has_begun && is_empty {
            run.warnings.push("the journal is empty: what was measured is lost".into());
        }
        if self.path.join("provenance.json").exists() {
            let conditions = self.conditions()?;
            run.provenance = conditions.before;
            run.provenance_after = conditions.after;
            run.absences = conditions.absences;
        }
        Ok(run)
    }

    /// Its journal, read and ready to be gone on with.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn reopen(&self) -> Result<Journal, Fault> {
        let journal = Journal::reopen(&self.journal())?;
        self.is_of_this_run(journal.number(), journal.run())?;
        Ok(journal)
    }

    /// Whether it was noted which run the journal is of.
    ///
    /// # Errors
    /// A usage fault where the journal is another run's.
    fn is_of_this_run(&self, found: Option<u32>, run: &Run) -> Result<bool, Fault> {
        let noted = self.noted_run()?;
        match (&noted, found.map(in_digits)) {
            (Some(noted), Some(found)) if *noted != found => Err(Fault::usage(format!(
                "this journal is another run's, which was begun by `{}`",
                run.command
            ))
            .at(self.journal().display().to_string())
            .remedy(PUT_BACK)),
            _ => Ok(noted.is_some()),
        }
    }
}

/// A run's number as its journal has it.
fn in_digits(run: u32) -> String {
    format!("{run:08x}")
}
