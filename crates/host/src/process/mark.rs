//! Marks: a variable in the environment of processes, by which they and their descendants are
//! found. Unlike a process id, it is known before the process exists.

use crosstalk_core::Fault;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use std::{fs, io, process};

/// The environment variable that marks a process and all its descendants as
/// belonging to one entry of an undo ledger.
pub const MARK: &str = "CROSSTALK_MARK";

/// The mark that the caller carries, if any.
pub(crate) fn own_mark() -> Option<String> {
    std::env::var(MARK).ok()
}

/// The processes that carry `mark` in their environment, the caller excluded.
pub fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != process::id() && carries(*pid, &wanted))
        .collect()
}

fn carries(pid: u32, variable: &str) -> bool {
    // A zombie's environment is gone, so it never carries a mark.
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()))
}

/// Consecutive searches without a marked process, after which none is left. A process that
/// executes a new program has no environment for a moment.
const SEARCHES: usize = 5;

/// Kills the processes that carry `mark` until none is left. Processes that they start meanwhile
/// carry it too.
///
/// # Errors
/// If some are left at the deadline, with their ids.
pub fn kill_marked(mark: &str, deadline: Duration) -> Result<(), Fault> {
    let began = Instant::now();
    let mut without = 0;
    loop {
        let left = marked(mark);
        without = if left.is_empty() { without + 1 } else { 0 };
        if without == SEARCHES {
            return Ok(());
        }
        if !left.is_empty() && began.elapsed() > deadline {
            return Err(Fault::environment(format!("processes {left:?} do not end"))
                .remedy("see what they wait for in /proc/PID/stack"));
        }
        for pid in left {
            kill_if_marked(pid, mark);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A pidfd always means the same process, so that the checked process is the one that is killed.
fn kill_if_marked(pid: u32, mark: &str) {
    // SAFETY: pidfd_open takes two integers and returns a new descriptor or −1.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if raw < 0 {
        return;
    }
    // SAFETY: the kernel has just given this descriptor to us and nobody else.
    let process = unsafe { OwnedFd::from_raw_fd(raw as libc::c_int) };
    if carries(pid, &format!("{MARK}={mark}")) {
        // SAFETY: the descriptor is open; no siginfo is passed.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                process.as_raw_fd(),
                libc::SIGKILL,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
    }
}

/// A new mark: unique, and not guessable.
pub fn fresh_mark() -> Result<String, Fault> {
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer is valid for writing its length.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != bytes.len() as isize {
        return Err(Fault::environment(format!("no random numbers: {}", io::Error::last_os_error())));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_the_marked_are_killed_descendants_included() {
        let mark = fresh_mark().expect("random numbers");
        let mut other = Command::new("sleep").arg("30").spawn().expect("sleep starts");
        let mut child =
            Command::new("sh").args(["-c", "sleep 30 & wait"]).env(MARK, &mark).spawn().expect("sh starts");
        let began = Instant::now();
        // There may be one for a moment, while a process executes a program.
        while marked(&mark).len() < 2 {
            assert!(began.elapsed() < Duration::from_secs(5), "the shell and its sleep carry the mark");
            std::thread::sleep(Duration::from_millis(2));
        }
        kill_marked(&mark, Duration::from_secs(5)).expect("they end");
        assert!(!child.wait().expect("the shell was ours").success());
        assert!(other.try_wait().expect("can be asked").is_none(), "the unmarked one lives");
        other.kill().expect("ends");
        other.wait().expect("ends");
    }
}
