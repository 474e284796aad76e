//! The processes that have locked a file.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;

/// The ids of the processes that have locked a file by flock(2), as far as the kernel reports them; 0 for a process
/// of another PID namespace.
pub fn lockers(file: &Metadata) -> Vec<u32> {
    let device = file.dev();
    let which = format!("{:02x}:{:02x}:{}", libc::major(device), libc::minor(device), file.ino());
    parse(&fs::read_to_string("/proc/locks").unwrap_or_default(), &which)
}

/// Parses proc_locks(5), such as `1: FLOCK  ADVISORY  WRITE 708 00:1f:13 0 EOF`. Lines with an arrow are waiting
/// processes.
fn parse(locks: &str, which: &str) -> Vec<u32> {
    let lines = locks.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<&str>>());
    let its = |words: &Vec<&str>| words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&which);
    lines.filter(its).filter_map(|words| words[4].parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn processes_that_have_the_lock_are_listed_and_waiting_ones_are_not() {
        let locks = "1: FLOCK  ADVISORY  WRITE 708 00:1f:13 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 709 00:1f:13 0 EOF\n\
                    2: POSIX  ADVISORY  WRITE 7 00:1f:13 0 EOF\n3: FLOCK  ADVISORY  READ 0 00:1f:13 0 EOF\n\
                    4: FLOCK  ADVISORY  WRITE 8 00:1f:14 0 EOF\nbroken\n";
        assert_eq!(parse(locks, "00:1f:13"), [708, 0]);
    }

    #[test]
    fn this_process_is_listed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = File::open(folder.path()).expect("opens");
        let found = file.metadata().expect("is there");
        assert_eq!(lockers(&found), [0_u32; 0]);
        file.lock().expect("nobody has it");
        assert_eq!(lockers(&found), [std::process::id()]);
    }
}
