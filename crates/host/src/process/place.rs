//! Processes that begin in a control group, so that nothing of theirs is ever counted elsewhere,
//! and signals to one process.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::kernel;

/// Has the process that `command` starts go into groups before it executes its program: `groups`
/// are their `cgroup.procs`, open for writing. Memory charges do not follow a process that is moved
/// later (`Documentation/admin-guide/cgroup-v2.rst`, "Memory Ownership").
pub fn place(command: &mut Command, groups: Vec<File>) -> &mut Command {
    // SAFETY: between fork and exec only write(2) is called, which is safe after a fork of a process
    // with threads; nothing is allocated, and no lock is taken.
    unsafe {
        command.pre_exec(move || {
            // 0: the process that writes.
            groups.iter().try_for_each(|mut group| group.write_all(b"0"))
        })
    }
}

/// Sends a signal to a process. One that has ended takes none.
pub fn send(pid: u32, signal: i32) {
    let Ok(pid) = i32::try_from(pid) else { return };
    if pid > 0 {
        // SAFETY: kill takes two integers. A positive number is one process.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Whether there is a process of this number, be it that its folder cannot be seen (`hidepid` of proc(5)).
pub fn is_there(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 0) else { return false };
    // SAFETY: kill takes two integers. A positive number is one process, and 0 no signal.
    let asked = unsafe { libc::kill(pid, 0) };
    asked == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Whether a signal waits at a process by which it is to end, be it because the process blocks it, as those do
/// that read their signals (proc_pid_status(5)).
pub fn is_to_end(pid: u32) -> bool {
    let ends = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGKILL];
    let ends = ends.into_iter().map(bit).fold(0, |all, one| all | one);
    waiting(pid).is_some_and(|waiting| waiting & ends != 0)
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The signals that wait at a process.
fn waiting(pid: u32) -> Option<u64> {
    let status = kernel::text(format!("/proc/{pid}/status")).ok()?;
    let told = |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim()));
    let mask = |name: &str| told(name).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    Some(mask("SigPnd:") | mask("ShdPnd:"))
}

/// Kills a process.
pub(crate) fn kill_now(pid: u32) {
    send(pid, libc::SIGKILL);
}

/// Whether the terminal's keys reach this process: it stands in the group that its terminal has in
/// the foreground. All programs in that group get Ctrl-C at once.
pub fn in_foreground() -> bool {
    let Ok(terminal) = File::open("/dev/tty") else { return false };
    // SAFETY: takes an open descriptor, and nothing, and returns a number.
    let (front, own) = unsafe { (libc::tcgetpgrp(terminal.as_raw_fd()), libc::getpgrp()) };
    front == own
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, Instant};

    #[test]
    fn it_is_written_into_its_groups_before_it_runs() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("cgroup.procs");
        let file = File::create(&path).expect("makes");
        let told = place(Command::new("cat").arg(&path), vec![file]).output().expect("cat starts");
        assert_eq!(told.stdout, b"0");
    }

    #[test]
    fn a_group_that_takes_nobody_is_an_error() {
        let read_only = File::open("/dev/null").expect("is there");
        assert!(place(&mut Command::new("true"), vec![read_only]).spawn().is_err());
    }

    #[test]
    fn a_signal_reaches_its_process_and_no_group() {
        let mut child = Command::new("sleep").arg("30").spawn().expect("sleep starts");
        send(child.id(), libc::SIGTERM);
        assert_eq!(child.wait().expect("was ours").signal(), Some(libc::SIGTERM));
        // To kill(2), 0 would be all of our own process group.
        send(0, libc::SIGKILL);
    }

    #[test]
    fn a_signal_waits_where_its_process_stands_still() {
        let mut child = Command::new("sleep").arg("30").spawn().expect("sleep starts");
        assert!(!is_to_end(child.id()));
        send(child.id(), libc::SIGSTOP);
        let until = Instant::now() + Duration::from_secs(10);
        let stopped = || {
            let told = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("is there");
            told.contains("State:\tT")
        };
        while !stopped() {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        send(child.id(), libc::SIGWINCH);
        assert!(!is_to_end(child.id()), "that ends nobody");
        send(child.id(), libc::SIGTERM);
        assert!(is_to_end(child.id()));
        send(child.id(), libc::SIGCONT);
        assert_eq!(child.wait().expect("was ours").signal(), Some(libc::SIGTERM));
        assert!(!is_to_end(child.id()), "who is gone hears nothing");
    }
}
