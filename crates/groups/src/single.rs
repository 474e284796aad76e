//! One process at a time that does something with the groups of a registry: two would undo each other's work, or have
//! everybody wait twice.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};

use crosstalk_core::{Fault, quoted};

use crate::registry::Registry;

/// A right that one process has at a time, until it is dropped: a file beside the registry that is locked (flock(2)).
/// It has the process's number.
#[derive(Debug)]
pub struct SingleLock {
    _file: File,
}

impl SingleLock {
    /// Takes it for `groups VERB`.
    ///
    /// # Errors
    /// If another process has it, or its file cannot be opened.
    pub fn take(verb: &str) -> Result<Self, Fault> {
        let path = Registry::own()?.path().with_file_name(format!("{verb}.lock"));
        let at = |fault: Fault| fault.at(path.display().to_string());
        let failed = |what: &str, e| at(Fault::environment(format!("cannot {what}: {e}")));
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(|e| failed("open a lock", e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(e)) => return Err(failed("lock it", e)),
            Err(TryLockError::WouldBlock) => {
                let mut who = String::new();
                // It may not have written its number yet.
                let _ = file.read_to_string(&mut who);
                let who = if who.is_empty() { String::new() } else { format!(": process {}", quoted(&who)) };
                return Err(at(Fault::environment(format!("another groups {verb} runs already{who}"))
                    .remedy("end that first (Ctrl-C there), or let it do the work")));
            }
        }
        let own = std::process::id().to_string();
        file.set_len(0)
            .and_then(|()| file.write_all(own.as_bytes()))
            .map_err(|e| failed("write to it", e))?;
        Ok(SingleLock { _file: file })
    }
}
