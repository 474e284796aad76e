//! Who holds a file, and names that one process of a user holds at a time.

use std::fs::{self, File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use crosstalk_core::Fault;

use crate::ledger::{folder, folders};

/// A number that nobody else of this user holds, until it is dropped.
#[derive(Debug)]
pub struct Hold {
    _files: Vec<File>,
}

impl Hold {
    /// Takes it; `None` where another has it. It is a byte of a file in each folder in which this user's ledgers
    /// may be, locked as fcntl_locking(2) has it for an open file: it goes with the process, however that ends.
    ///
    /// # Errors
    /// Where there is no such folder, or its file cannot be written.
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
        Ok(Some(Hold { _files: files }))
    }
}

/// Locks a byte for whom the file is open, unless another has it. Where there are no such locks nobody has.
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

/// The processes that have locked a file whole by flock(2), as far as that is told; 0 for one that is not seen
/// from here.
pub fn lockers(file: &Metadata) -> Vec<u32> {
    let device = file.dev();
    let which = format!("{:02x}:{:02x}:{}", libc::major(device), libc::minor(device), file.ino());
    parse(&fs::read_to_string("/proc/locks").unwrap_or_default(), &which)
}

/// Source: proc_locks(5). Such as `1: FLOCK  ADVISORY  WRITE 708 00:1f:13 0 EOF`; with an arrow, who waits.
fn parse(told: &str, which: &str) -> Vec<u32> {
    let lines = told.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<&str>>());
    let its = |words: &Vec<&str>| words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&which);
    lines.filter(its).filter_map(|words| words[4].parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_it_is_told_and_who_waits_for_it_is_not() {
        let told = "1: FLOCK  ADVISORY  WRITE 708 00:1f:13 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 709 00:1f:13 0 EOF\n\
                    2: POSIX  ADVISORY  WRITE 7 00:1f:13 0 EOF\n3: FLOCK  ADVISORY  READ 0 00:1f:13 0 EOF\n\
                    4: FLOCK  ADVISORY  WRITE 8 00:1f:14 0 EOF\nbroken\n";
        assert_eq!(parse(told, "00:1f:13"), [708, 0]);
    }

    #[test]
    fn a_number_is_held_by_one_at_a_time() {
        let folders = [0, 1].map(|_| tempfile::tempdir().expect("a temporary folder"));
        let paths = folders.each_ref().map(|folder| folder.path().to_path_buf());
        let take = |number| Hold::take_in(&paths, number).expect("there are folders");
        let first = take(7).expect("nobody has it");
        assert!(take(7).is_none() && take(8).is_some());
        let other = Hold::take_in(&paths[1..], 7).expect("there is one");
        assert!(other.is_none(), "it may know of one folder only");
        drop(first);
        assert!(take(7).is_some() && take(u64::MAX).is_some());
    }

    #[test]
    fn this_process_is_told() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = File::open(folder.path()).expect("opens");
        let found = file.metadata().expect("is there");
        assert_eq!(lockers(&found), [0_u32; 0]);
        file.lock().expect("nobody has it");
        assert_eq!(lockers(&found), [std::process::id()]);
    }
}
