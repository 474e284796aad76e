//! Identities of processes that are unique although process ids are reused.

use std::process;

use crate::kernel;

/// The identity of a process: its id and its start time, since ids are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The process id.
    pub pid: u32,
    /// The start time, in clock ticks since boot.
    pub start: u64,
}

impl Identity {
    /// The process that has this id now.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = kernel::text(format!("/proc/{pid}/stat")).ok()?;
        Some(Identity { pid, start: parse_start(&stat)? })
    }

    /// The running process.
    pub fn own() -> Option<Self> {
        Self::of(process::id())
    }

    /// Whether it still runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        let Ok(stat) = kernel::text(format!("/proc/{}/stat", self.pid)) else { return false };
        parse_start(&stat) == Some(self.start) && !matches!(state(&stat), Some('Z' | 'X'))
    }
}

/// The text after the program's name, which is in parentheses and may contain any character.
fn after_name(stat: &str) -> Option<&str> {
    Some(stat.rsplit_once(')')?.1.trim_start())
}

fn state(stat: &str) -> Option<char> {
    after_name(stat)?.chars().next()
}

/// Field 22 of proc_pid_stat(5).
fn parse_start(stat: &str) -> Option<u64> {
    after_name(stat)?.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn start_is_field_22_whatever_the_name_holds() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 100 5";
        assert_eq!(parse_start(stat), Some(4711));
        assert_eq!(state(stat), Some('S'));
        assert_eq!(parse_start("7 (a"), None);
    }

    #[test]
    fn a_process_lives_whatever_bytes_its_name_is() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let name = OsStr::from_bytes(b"\xff) Z \xfe");
        let program = folder.path().join(name);
        std::fs::copy("/bin/sleep", &program).expect("copies");
        let mut child = process::Command::new(&program).arg("60").spawn().expect("starts");
        let identity = Identity::of(child.id()).expect("has a stat file");
        assert!(identity.is_alive());
        child.kill().and_then(|()| child.wait()).expect("was ours");
        assert!(!identity.is_alive());
    }

    #[test]
    fn a_reused_id_is_not_the_same_process() {
        let own = Identity::own().expect("this process has a stat file");
        assert!(own.is_alive());
        assert!(!Identity { start: own.start + 1, ..own }.is_alive());
    }
}
