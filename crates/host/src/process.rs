//! Processes: identity that survives the reuse of numbers, marks, ends.

use crosstalk_core::Fault;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use std::{fs, io, process};

use crate::errno::check;

/// The environment variable that marks a process and all its descendants as
/// belonging to one entry of an undo ledger.
pub const MARK: &str = "CROSSTALK_MARK";

/// One process for all time: its number and the tick at which it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// The process's number.
    pub pid: u32,
    /// When it began, in clock ticks since boot.
    pub start: u64,
}

impl Identity {
    /// The process that has this number now.
    pub fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(Identity { pid, start: parse_start(&stat)? })
    }

    /// The running process.
    pub fn own() -> Option<Self> {
        Self::of(process::id())
    }

    /// Whether it still runs. A zombie, which only waits to be counted, does not.
    pub fn alive(&self) -> bool {
        let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", self.pid)) else { return false };
        parse_start(&stat) == Some(self.start) && !matches!(state(&stat), Some('Z' | 'X'))
    }
}

/// What follows the program's name, which is in parentheses and may hold any character.
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

/// Kills the processes that carry `mark` until none is left: what they start
/// meanwhile carries it too.
///
/// # Errors
/// When some are left at the deadline, with their numbers.
pub fn kill_marked(mark: &str, deadline: Duration) -> Result<(), Fault> {
    let began = Instant::now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return Ok(());
        }
        if began.elapsed() > deadline {
            return Err(Fault::environment(format!("processes {left:?} do not end"))
                .remedy("look at what they wait for in /proc/PID/stack"));
        }
        for pid in left {
            kill_if_marked(pid, mark);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A pidfd names one process for good, so the check and the signal meet the same one.
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

/// A fresh mark: not guessable, the same for nothing else.
pub fn fresh_mark() -> Result<String, Fault> {
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer is valid for writing its length.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != bytes.len() as isize {
        return Err(Fault::environment(format!("no random numbers: {}", io::Error::last_os_error())));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Which side of a fork one is on.
pub enum Fork {
    /// The original, told the child's number.
    Parent(u32),
    /// The copy.
    Child,
}

/// Copies this process.
///
/// # Errors
/// When it has more than one thread (the copy would have only this one, and
/// the others' locks for ever), or the kernel refuses.
pub fn fork() -> io::Result<Fork> {
    let threads = fs::read_dir("/proc/self/task").map(Iterator::count).unwrap_or(1);
    if threads != 1 {
        return Err(io::Error::other(format!("a process with {threads} threads must not be copied")));
    }
    // SAFETY: with a single thread the copy is complete: no lock is held by a
    // thread that does not exist in it.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid as u32)),
    }
}

/// Counts out every child that has ended; does not wait.
pub fn reap() -> Vec<u32> {
    let mut ended = Vec::new();
    loop {
        let mut status = 0;
        // SAFETY: the status is valid for writing.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            pid if pid > 0 => ended.push(pid as u32),
            _ => return ended,
        }
    }
}

/// Waits until the child ends, however long that takes: for a process that has
/// nothing else to do and is itself killed by those who need it gone.
pub fn wait_for(pid: u32) {
    let mut status = 0;
    // SAFETY: the status is valid for writing.
    while unsafe { libc::waitpid(pid as i32, &mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// Kills every process of this PID namespace but its first, which must be the caller.
///
/// # Errors
/// When the caller is not the first process of a PID namespace: this would
/// reach everything that its user owns.
pub fn kill_all_others() -> Result<(), Fault> {
    if process::id() != 1 {
        return Err(Fault::environment("only the first process of a PID namespace may end all others"));
    }
    // SAFETY: kill takes two integers. −1 means all processes of the namespace.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    Ok(())
}

/// Leaves the terminal's session: Ctrl-C there does not reach this process.
pub fn leave_session() {
    // SAFETY: setsid takes no arguments; it fails harmlessly for a session leader.
    unsafe { libc::setsid() };
}

/// Has the kernel kill this process when its parent ends.
///
/// Meant for children of single-threaded processes: "parent" is the *thread*
/// that made the child (prctl(2), `PR_SET_PDEATHSIG`).
pub fn die_with_parent() {
    // SAFETY: this prctl takes an integer.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Names this process in `ps` and `top`; 15 bytes are kept.
pub fn rename(name: &str) {
    let mut bytes = [0u8; 16];
    let length = name.len().min(15);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    // SAFETY: the buffer holds 16 bytes and ends in a zero, as prctl asks.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

/// Turns these signals off; programs started later inherit that.
pub fn ignore_signals(signals: &[i32]) {
    for &signal in signals {
        // SAFETY: SIG_IGN is a valid disposition and no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
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

/// Empties what [`child_events`] made, and counts the ended children out.
pub fn reap_events(events: &OwnedFd) {
    let mut record = [0u8; 128];
    // SAFETY: the buffer is valid for writing its length, that of one signalfd_siginfo.
    while unsafe { libc::read(events.as_raw_fd(), record.as_mut_ptr().cast(), record.len()) } > 0 {}
    reap();
}

/// Waits until one of the descriptors can be read (or has ended), and says
/// which; none when `timeout` passes first. `None` waits without end.
pub fn wait_readable(descriptors: &[&dyn AsFd], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut polls: Vec<_> = descriptors
        .iter()
        .map(|d| libc::pollfd { fd: d.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let until = timeout.map(|t| Instant::now() + t);
    loop {
        let millis = until.map_or(-1, |u| u.saturating_duration_since(Instant::now()).as_millis() as i32);
        // SAFETY: the array is valid for its length; its descriptors are borrowed, so open.
        match check(unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, millis) }) {
            Ok(_) => return Ok(polls.iter().map(|p| p.revents != 0).collect()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn start_is_field_22_whatever_the_name_holds() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 100 5";
        assert_eq!(parse_start(stat), Some(4711));
        assert_eq!(state(stat), Some('S'));
        assert_eq!(parse_start("7 (a"), None);
    }

    #[test]
    fn a_reused_number_is_not_the_same_process() {
        let own = Identity::own().expect("this process has a stat file");
        assert!(own.alive());
        assert!(!Identity { start: own.start + 1, ..own }.alive());
    }

    #[test]
    fn only_the_marked_are_killed_descendants_included() {
        let mark = fresh_mark().expect("random numbers");
        let mut other = Command::new("sleep").arg("30").spawn().expect("sleep starts");
        let mut child =
            Command::new("sh").args(["-c", "sleep 30 & wait"]).env(MARK, &mark).spawn().expect("sh starts");
        let began = Instant::now();
        while marked(&mark).len() < 2 && began.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(marked(&mark).len() >= 2, "the shell and its sleep carry the mark");
        kill_marked(&mark, Duration::from_secs(5)).expect("they end");
        assert!(!child.wait().expect("the shell was ours").success());
        assert!(other.try_wait().expect("can be asked").is_none(), "the unmarked one lives");
        other.kill().expect("ends");
        other.wait().expect("ends");
    }

    #[test]
    fn a_process_with_threads_is_not_copied() {
        let (quit, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv().is_ok());
        assert!(fork().is_err());
        drop(quit);
        thread.join().expect("ends");
    }
}
