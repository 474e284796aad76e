//! Who waits behind whom for a lock on a file: `/proc/locks` (proc_locks(5)).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::steady::Steady;

/// A wait for somebody else's lock is looked up again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// The host's file locks.
#[derive(Debug)]
pub(super) struct Locks {
    file: Option<Steady>,
    /// Waits for others' locks, and until when they are not looked up again.
    others: BTreeSet<(u32, String)>,
    others_until: Duration,
}

impl Locks {
    pub(super) fn new() -> Self {
        let file = Steady::open(Path::new("/proc/locks"));
        Locks { file, others: BTreeSet::new(), others_until: Duration::ZERO }
    }

    /// Who waits now.
    pub(super) fn waits(&mut self) -> Vec<Wait> {
        self.file.as_mut().and_then(|file| file.parsed(|text| Some(waits(text)))).unwrap_or_default()
    }

    /// The first of these processes that holds the lock.
    pub(super) fn holder(&mut self, now: Duration, wait: Wait, processes: &[u32]) -> Option<u32> {
        if now >= self.others_until {
            self.others.clear();
            self.others_until = now + AGAIN;
        }
        if let Some(holder) = wait.holder.filter(|holder| processes.binary_search(holder).is_ok()) {
            return Some(holder);
        }
        let other = (wait.waiter, wait.file);
        if self.others.contains(&other) {
            return None;
        }
        let found = processes.iter().copied().find(|pid| has_lock(*pid, &other.1));
        if found.is_none() {
            self.others.insert(other);
        }
        found
    }
}

/// A process that waits for a lock on a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) waiter: u32,
    /// Who took the lock: the process that has it now may be another, which has inherited the open file (flock(2)).
    holder: Option<u32>,
    /// Device and inode, as the kernel writes them.
    file: String,
}

/// Of the text of `/proc/locks`, who waits. A wait for a lock of an open file (`F_OFD_SETLKW`) names nobody, and is left
/// out.
fn waits(text: &str) -> Vec<Wait> {
    let (mut holder, mut found) = (None, Vec::new());
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(1).peekable();
        let waits = words.peek() == Some(&"->");
        let pid = words.nth(if waits { 4 } else { 3 }).and_then(|word| word.parse().ok());
        match (waits, pid, words.next()) {
            (true, Some(waiter), Some(file)) => found.push(Wait { waiter, holder, file: file.into() }),
            (true, ..) => {}
            (false, ..) => holder = pid,
        }
    }
    found
}

/// Whether one of the process's open files holds a lock on that file (proc_pid_fdinfo(5)).
fn has_lock(pid: u32, file: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let locks = |text: String| {
        let mut lines = text.lines().filter(|line| line.starts_with("lock:"));
        lines.any(|line| line.split_ascii_whitespace().any(|word| word == file))
    };
    open.filter_map(|entry| fs::read_to_string(entry.path()).ok()).any(locks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn who_waits_behind_whom_is_read() {
        let text = "1: POSIX  ADVISORY  WRITE 4711 fe:00:1234 0 EOF\n\
                    1: -> POSIX  ADVISORY  WRITE 4712 fe:00:1234 0 EOF\n\
                    1: ->  FLOCK  ADVISORY  READ 4713 fe:00:1234 0 EOF\n\
                    2: OFDLCK ADVISORY  WRITE -1 fe:00:99 0 EOF\n\
                    2: -> OFDLCK ADVISORY  WRITE -1 fe:00:99 0 EOF\n\
                    3: FLOCK  ADVISORY  WRITE 5 fe:00:7 0 EOF\n";
        let wait = |waiter| Wait { waiter, holder: Some(4711), file: "fe:00:1234".into() };
        assert_eq!(waits(text), [wait(4712), wait(4713)]);
        assert!(waits("").is_empty() && waits("1:\n2: ->\n3: -> FLOCK ADVISORY READ 5").is_empty());
    }

    #[test]
    fn who_has_a_lock_is_found_by_its_open_files() {
        let file = tempfile::tempfile().expect("a temporary file");
        let found = file.metadata().expect("is there");
        let device = found.dev();
        let name = format!("{:02x}:{:02x}:{}", (device >> 8) & 0xfff, device & 0xff, found.ino());
        assert!(!has_lock(std::process::id(), &name));
        file.lock().expect("locks");
        assert!(has_lock(std::process::id(), &name), "{name}");
    }
}
