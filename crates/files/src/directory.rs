//! The metadata server's part: names, and which file has each. One directory holds all.

use std::collections::BTreeMap;

use crate::message::Refusal;

/// All names.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    files: BTreeMap<String, u64>,
    made: u64,
}

impl Directory {
    /// Makes a file, and returns its number.
    pub(crate) fn create(&mut self, name: &str) -> Result<u64, Refusal> {
        if self.files.contains_key(name) {
            return Err(Refusal::Exists);
        }
        let file = self.made;
        self.made += 1;
        self.files.insert(name.into(), file);
        Ok(file)
    }

    /// The number of a file.
    pub(crate) fn lookup(&self, name: &str) -> Result<u64, Refusal> {
        self.files.get(name).copied().ok_or(Refusal::NoFile)
    }

    /// Removes a name, and returns the file's number.
    pub(crate) fn remove(&mut self, name: &str) -> Result<u64, Refusal> {
        self.files.remove(name).ok_or(Refusal::NoFile)
    }

    /// Renames a file, and returns the number of the one that had the new name.
    pub(crate) fn rename(&mut self, old: &str, new: &str) -> Result<Option<u64>, Refusal> {
        let file = self.remove(old)?;
        Ok(self.files.insert(new.into(), file).filter(|replaced| *replaced != file))
    }

    /// All names, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.files.keys().map(String::as_str).collect()
    }
}
