//! Where data goes that must not stay in memory: files without a name, which
//! the kernel frees when they are closed, so that no end of a process, not even
//! a kill, leaves one behind.

use crosstalk_core::Fault;
use std::cell::Cell;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;

/// A directory for nameless files, and how much went there. Clones count together.
#[derive(Debug, Clone)]
pub struct Scratch {
    directory: PathBuf,
    spilled: Rc<Cell<Spilled>>,
}

/// What went to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spilled {
    /// Bytes, as often as they were written.
    pub bytes: u64,
    /// Times that a full buffer was written.
    pub spills: u64,
}

impl Spilled {
    /// What was added since `before`.
    pub fn since(self, before: Spilled) -> Spilled {
        Spilled { bytes: self.bytes - before.bytes, spills: self.spills - before.spills }
    }
}

impl Scratch {
    /// In `directory`.
    pub fn new(directory: PathBuf) -> Self {
        Scratch { directory, spilled: Rc::default() }
    }

    /// A new file: opened with `O_TMPFILE` (open(2)), or unlinked at once where
    /// the file system does not know that.
    pub fn file(&self) -> Result<File, Fault> {
        tempfile::tempfile_in(&self.directory).map_err(|e| {
            self.fault(format!("cannot make a file to spill to: {e}"))
                .remedy("set `scratch` to a directory that can be written")
        })
    }

    /// Counts a buffer that was written.
    pub fn count(&self, bytes: usize) {
        let Spilled { bytes: before, spills } = self.spilled.get();
        self.spilled.set(Spilled { bytes: before + bytes as u64, spills: spills + 1 });
    }

    /// What went to disk so far.
    pub fn spilled(&self) -> Spilled {
        self.spilled.get()
    }

    /// Something is wrong with the disk.
    pub fn fault(&self, message: String) -> Fault {
        Fault::environment(message).at(self.directory.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn files_have_no_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::new(directory.path().into());
        let mut file = scratch.file().expect("a file");
        file.write_all(b"spilled").expect("written");
        assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let fault = Scratch::new("/proc/nowhere".into()).file().expect_err("refused");
        assert_eq!(fault.place.as_deref(), Some("/proc/nowhere"));
        assert!(fault.message.starts_with("cannot make a file to spill to"), "{fault}");
    }
}
