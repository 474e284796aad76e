//! One evictor at a time: two would hold the same files, and leave behind what the other has set.

use std::fs::{File, OpenOptions, TryLockError};

use crosstalk_core::Fault;

use crate::registry::Registry;

/// The file that is locked, beside the registry (flock(2)).
const FILE: &str = "keep.lock";

/// The right to end groups of this registry, until it is dropped.
#[derive(Debug)]
pub struct EvictorLock {
    _file: File,
}

impl EvictorLock {
    /// Takes it.
    ///
    /// # Errors
    /// If another evictor has it, or its file cannot be opened.
    pub fn take() -> Result<Self, Fault> {
        let path = Registry::own()?.path().with_file_name(FILE);
        let at = |fault: Fault| fault.at(path.display().to_string());
        let open = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = open.map_err(|e| at(Fault::environment(format!("cannot open a lock: {e}"))))?;
        match file.try_lock() {
            Ok(()) => Ok(EvictorLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(at(Fault::environment("another groups keep runs already")
                .remedy("end that first (Ctrl-C there), or let it do the work"))),
            Err(TryLockError::Error(e)) => Err(at(Fault::environment(format!("cannot lock it: {e}")))),
        }
    }
}
