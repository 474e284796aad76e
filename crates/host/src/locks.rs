//! Numbers that one process of a user locks at a time.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crosstalk_core::Fault;

use crate::ledger::{folder, folders};

/// A number that no other process of this user can lock until this value is dropped.
#[derive(Debug)]
pub struct NumberLock {
    _files: Vec<File>,
}

impl NumberLock {
    /// Locks it; `None` if another process has it. It is a byte of a file in each folder of this user's ledgers,
    /// locked with an open file description lock (fcntl_locking(2)), which ends with the process.
    ///
    /// # Errors
    /// If there is no such folder, or its file cannot be written.
    pub fn take(number: u64) -> Result<Option<Self>, Fault> {
        folder()?;
        Self::take_in(&folders(), number)
    }

    fn take_in(folders: &[PathBuf], number: u64) -> Result<Option<Self>, Fault> {
        let mut files = Vec::new();
        for folder in folders {
            let path = folder.join("holds");
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
            let file = file.map_err(|e| Fault::environment(e.to_string()).at(path.display().to_string()))?;
            if !is_free(&file, number) {
                return Ok(None);
            }
            files.push(file);
        }
        Ok(Some(NumberLock { _files: files }))
    }
}

/// Locks a byte of an open file. Returns false if another process has locked it. Without such locks it is always free.
fn is_free(file: &File, number: u64) -> bool {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    (lock.l_start, lock.l_len) = ((number % libc::off_t::MAX as u64) as libc::off_t, 1);
    // SAFETY: takes an open descriptor, and a lock that outlives the call.
    let taken = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } == 0;
    let error = || std::io::Error::last_os_error().raw_os_error();
    taken || !matches!(error(), Some(libc::EAGAIN | libc::EACCES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_locks_a_number() {
        let folders = [0, 1].map(|_| tempfile::tempdir().expect("a temporary folder"));
        let paths = folders.each_ref().map(|folder| folder.path().to_path_buf());
        let take = |number| NumberLock::take_in(&paths, number).expect("there are folders");
        let first = take(7).expect("nobody has it");
        assert!(take(7).is_none() && take(8).is_some());
        let other = NumberLock::take_in(&paths[1..], 7).expect("there is one");
        assert!(other.is_none(), "it may know of one folder only");
        drop(first);
        assert!(take(7).is_some() && take(u64::MAX).is_some());
    }
}
