//! Who waits behind whom for a lock on a file: `/proc/locks` (proc_locks(5)).

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// A wait for somebody else's lock is looked up again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// The host's file locks.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// Waits for others' locks, and until when they are not looked up again.
    others: BTreeSet<(u32, String)>,
    others_until: Duration,
}

impl Locks {
    /// The first process of each group that holds the lock.
    pub(super) fn holders(&mut self, now: Duration, wait: Wait, groups: &[Vec<u32>]) -> Vec<u32> {
        if now >= self.others_until {
            self.others.clear();
            self.others_until = now + AGAIN;
        }
        if let Some(holder) = wait.holder.filter(|holder| groups.iter().any(|group| group.contains(holder))) {
            return vec![holder];
        }
        let other = (wait.waiter, wait.file);
        if self.others.contains(&other) {
            return Vec::new();
        }
        let holds = |pid: &u32| has_lock(*pid, &other.1);
        let found: Vec<u32> = groups.iter().filter_map(|group| group.iter().copied().find(holds)).collect();
        if found.is_empty() {
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

/// Who waits now.
pub(super) fn waits_now() -> Vec<Wait> {
    waits(&fs::read_to_string("/proc/locks").unwrap_or_default())
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
