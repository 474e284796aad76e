//! Starting a process in a control group, and signals to a process.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::kernel;

/// Lets the process that `command` starts move itself into control groups before it executes its program.
/// `groups` are their `cgroup.procs`, open for writing. If a process is moved later, its memory stays charged
/// to its former group (`Documentation/admin-guide/cgroup-v2.rst`).
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

/// Sends a signal to a process. Does nothing if it has ended.
pub fn send(pid: u32, signal: i32) {
    let Ok(pid) = i32::try_from(pid) else { return };
    if pid > 0 {
        // SAFETY: kill takes two integers. A positive number is one process.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Whether there is a process of this id, even if its folder in `/proc` is hidden (`hidepid` of proc(5)).
pub fn is_there(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().filter(|pid| *pid > 0) else { return false };
    // SAFETY: kill takes two integers. A positive number is one process, and 0 no signal.
    let asked = unsafe { libc::kill(pid, 0) };
    asked == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Whether a signal that ends processes is pending at a process (proc_pid_status(5)). A process that reads its
/// signals blocks them.
pub fn has_pending_termination(pid: u32) -> bool {
    let ends = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGKILL];
    let ends = ends.into_iter().map(bit).fold(0, |all, one| all | one);
    pending(pid).is_some_and(|pending| pending & ends != 0)
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The pending signals of a process, as a mask.
fn pending(pid: u32) -> Option<u64> {
    let status = kernel::text(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim()));
    let mask = |name: &str| field(name).and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    Some(mask("SigPnd:") | mask("ShdPnd:"))
}

/// Kills a process.
pub(crate) fn kill_now(pid: u32) {
    send(pid, libc::SIGKILL);
}

/// Whether this process is in the foreground process group of its terminal. All programs of that group
/// receive Ctrl-C.
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
    fn a_process_moves_to_its_groups_before_it_runs() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("cgroup.procs");
        let file = File::create(&path).expect("makes");
        let output = place(Command::new("cat").arg(&path), vec![file]).output().expect("cat starts");
        assert_eq!(output.stdout, b"0");
    }

    #[test]
    fn a_group_that_refuses_processes_is_an_error() {
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
    fn a_signal_is_pending_while_its_process_is_stopped() {
        let mut child = Command::new("sleep").arg("30").spawn().expect("sleep starts");
        assert!(!has_pending_termination(child.id()));
        send(child.id(), libc::SIGSTOP);
        let until = Instant::now() + Duration::from_secs(10);
        let stopped = || {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("is there");
            status.contains("State:\tT")
        };
        while !stopped() {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        send(child.id(), libc::SIGWINCH);
        assert!(!has_pending_termination(child.id()), "SIGWINCH ends no process");
        send(child.id(), libc::SIGTERM);
        assert!(has_pending_termination(child.id()));
        send(child.id(), libc::SIGCONT);
        assert_eq!(child.wait().expect("was ours").signal(), Some(libc::SIGTERM));
        assert!(!has_pending_termination(child.id()), "it has ended");
    }
}
