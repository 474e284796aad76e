//! Starting and ending children, for single-threaded parents.

use crosstalk_core::Fault;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io, process};

use crate::errno::check;

/// Which side of a fork this process is: the parent or the child.
pub enum Fork {
    /// The parent, with the child's process id.
    Parent(u32),
    /// The child.
    Child,
}

/// Copies this process (fork(2)).
///
/// # Errors
/// If the process has more than one thread (the copy would have only this one, and the locks
/// of the others would stay locked), or the kernel refuses.
pub fn fork() -> io::Result<Fork> {
    refuse_threads()?;
    // SAFETY: this process has one thread.
    unsafe { copy() }
}

/// An error if this process has more than one thread.
pub(crate) fn refuse_threads() -> io::Result<()> {
    match fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        threads => Err(io::Error::other(format!("a process with {threads} threads must not be copied"))),
    }
}

/// Copies this process (fork(2)).
///
/// # Safety
/// The process must have one thread: then the copy is complete, and no lock is held by a thread that does not
/// exist in it.
pub(super) unsafe fn copy() -> io::Result<Fork> {
    // SAFETY: the caller guarantees it.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid as u32)),
    }
}

/// Waits until the child ends, without a deadline.
pub fn wait_for(pid: u32) {
    let mut status = 0;
    // SAFETY: the status is valid for writing.
    while unsafe { libc::waitpid(pid as i32, &mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// Kills all processes of this PID namespace except its first one, which must be the
/// caller, and waits until they have ended.
///
/// # Errors
/// If the caller is not the first process of a PID namespace (this would kill all processes
/// of its user), or some are left at the deadline.
pub fn kill_all_others(deadline: Duration) -> Result<(), Fault> {
    if process::id() != 1 {
        return Err(Fault::environment("only the first process of a PID namespace may end all others"));
    }
    // SAFETY: kill takes two integers. −1 means all processes of the namespace.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    let began = Instant::now();
    // Orphans become children of the first process: when it has none, none is left.
    while reap() {
        if began.elapsed() > deadline {
            return Err(Fault::environment("earlier processes do not end"));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// Waits for every child that has ended. Returns whether there are others.
fn reap() -> bool {
    loop {
        let mut status = 0;
        // SAFETY: the status is valid for writing.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            0 => return true,
            -1 => return false,
            _ => {}
        }
    }
}

/// Lets the kernel kill this process when its parent ends.
///
/// For children of single-threaded processes: "parent" is the *thread* that started the
/// child (prctl(2), `PR_SET_PDEATHSIG`).
pub fn die_with_parent() {
    // SAFETY: this prctl takes an integer.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Has the kernel kill what a command starts when the thread that starts it ends.
pub fn end_with_starter(command: &mut Command) {
    // SAFETY: between fork and exec this makes one system call, and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            die_with_parent();
            Ok(())
        })
    };
}

/// A descriptor that becomes readable when a child ends. The signal is blocked
/// in the calling thread from now on.
pub fn child_events() -> io::Result<OwnedFd> {
    // SAFETY: a sigset_t is plain data that sigemptyset initialises.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid throughout; the old mask is not asked for.
    let raw = unsafe {
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
        check(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?
    };
    // SAFETY: the kernel has just given this descriptor to us and nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Reads all events of [`child_events`], and waits for the children that have ended.
pub fn reap_events(events: &OwnedFd) {
    let mut record = [0u8; 128];
    // SAFETY: the buffer is valid for writing its length, that of one signalfd_siginfo.
    while unsafe { libc::read(events.as_raw_fd(), record.as_mut_ptr().cast(), record.len()) } > 0 {}
    reap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_copied() {
        let (quit, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv().is_ok());
        assert!(fork().is_err());
        drop(quit);
        thread.join().expect("ends");
    }
}
