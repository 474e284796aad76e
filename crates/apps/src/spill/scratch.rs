//! The directory of a node's files, the position of its disk's head, and the traffic.

use crosstalk_comm::Access;
use crosstalk_core::Fault;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

/// A folder for temporary files without a name. Clones share it: a node has one disk, with one head for all
/// of its files.
#[derive(Debug, Clone)]
pub struct Scratch(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    /// What set it, for faults.
    named: &'static str,
    state: Cell<State>,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    files: u64,
    /// The file and the byte at the head, once it was used.
    head: Option<(u64, u64)>,
    moved: Traffic,
}

/// The bytes that were written to the disk and read from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes written, each time that they were.
    pub written: u64,
    /// Bytes read, each time that they were.
    pub read: u64,
    /// Number of writes.
    pub writes: u64,
    /// Number of seeks.
    pub seeks: u64,
}

impl Traffic {
    /// The traffic since the earlier count `before`.
    pub fn since(self, before: Traffic) -> Traffic {
        Traffic {
            written: self.written - before.written,
            read: self.read - before.read,
            writes: self.writes - before.writes,
            seeks: self.seeks - before.seeks,
        }
    }
}

/// The direction of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Write,
    Read,
}

impl Scratch {
    /// A scratch folder in `directory`, which the parameter or variable `named` set: faults name it.
    pub fn new(directory: PathBuf, named: &'static str) -> Self {
        Scratch(Rc::new(Inner { directory, named, state: Cell::default() }))
    }

    /// A scratch folder in the folder for temporary files.
    pub fn temporary() -> Self {
        Scratch::new(std::env::temp_dir(), "TMPDIR")
    }

    /// The disk's traffic so far.
    pub fn traffic(&self) -> Traffic {
        self.0.state.get().moved
    }

    /// A new file with its number: opened with `O_TMPFILE` (open(2)), or unlinked
    /// at once where the file system does not know that.
    pub(super) fn file(&self) -> Result<(File, u64), Fault> {
        let file = tempfile::tempfile_in(&self.0.directory);
        let file = file.map_err(|e| self.fault("make a file to spill to", &e))?;
        let state = self.0.state.get();
        self.0.state.set(State { files: state.files + 1, ..state });
        Ok((file, state.files))
    }

    /// How an access to byte `at` of a file begins. The head's position is unknown until the access
    /// [`Scratch::ended`].
    pub(super) fn begin(&self, file: u64, at: u64) -> Access {
        let state = self.0.state.get();
        self.0.state.set(State { head: None, ..state });
        if state.head == Some((file, at)) { Access::Sequential } else { Access::Seek }
    }

    /// `bytes` were moved, from byte `at` of a file on.
    pub(super) fn ended(&self, access: Access, direction: Direction, file: u64, at: u64, bytes: u64) {
        let State { files, mut moved, .. } = self.0.state.get();
        match direction {
            Direction::Write => (moved.written, moved.writes) = (moved.written + bytes, moved.writes + 1),
            Direction::Read => moved.read += bytes,
        }
        moved.seeks += u64::from(access == Access::Seek);
        self.0.state.set(State { files, head: Some((file, at + bytes)), moved });
    }

    /// The fault for an error of the disk.
    pub(super) fn fault(&self, what: &str, error: &io::Error) -> Fault {
        let Inner { directory, named, .. } = &*self.0;
        let fault = Fault::attempt(format!("cannot {what}: {error}")).at(directory.display().to_string());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                fault.remedy(format!("free space there, or let {named} name another directory"))
            }
            _ => fault.remedy(format!("let {named} name a directory that can be written to")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn files_have_no_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = Scratch::new(directory.path().into(), "`scratch`");
        let (mut file, _) = scratch.file().expect("a file");
        file.write_all(b"spilled").expect("written");
        assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let fault = Scratch::new("/proc/nowhere".into(), "`scratch`").file().expect_err("refused");
        assert_eq!(fault.place.as_deref(), Some("/proc/nowhere"));
        assert!(fault.message.starts_with("cannot make a file to spill to"), "{fault}");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("`scratch`")));
    }
}
