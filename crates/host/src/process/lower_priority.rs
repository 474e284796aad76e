//! Lowers the scheduling priority of a process until a value is dropped.
//!
//! On Linux, nice value and policy belong to a thread, and are inherited by what it starts.
//! Sources: sched(7), setpriority(2), sched_setscheduler(2).

use std::{fs, io, mem, thread};

use crate::errno::check;

/// The lowest priority (nice(1)).
const LOWEST: libc::c_int = 19;

/// How to lower the priority of a process: by its nice value, or by its scheduling policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lower {
    /// By the greatest nice value, 19.
    Nice,
    /// By the policy SCHED_IDLE, the idle class.
    Idle,
}

/// A process whose threads yield to others, with all that they start from now on. Dropping it
/// restores the threads that existed at the beginning; what they have started stays lowered.
#[derive(Debug)]
pub struct LoweredPriority(Vec<Thread>);

/// A thread, with its original policy and nice value.
#[derive(Debug, Clone, Copy)]
struct Thread {
    number: u32,
    how: Lower,
    policy: libc::c_int,
    nice: libc::c_int,
}

impl LoweredPriority {
    /// Lowers the priority of process `pid`.
    ///
    /// # Errors
    /// If there is no such process, or it could not be restored: that needs root (CAP_SYS_NICE), or a
    /// limit of nice values (RLIMIT_NICE) that allows 0.
    pub fn begin(pid: u32, how: Lower) -> io::Result<LoweredPriority> {
        check_reversible(how)?;
        let mut lowered = LoweredPriority(Vec::new());
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            let name = entry?.file_name();
            let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            let thread = match Thread::of(number, how) {
                // It has ended meanwhile.
                Err(e) if e.raw_os_error() == Some(libc::ESRCH) => continue,
                thread => thread?,
            };
            lowered.0.push(thread);
            thread.lower()?;
        }
        Ok(lowered)
    }
}

impl Drop for LoweredPriority {
    fn drop(&mut self) {
        for thread in &self.0 {
            // It may have ended. That restoring is allowed was tried.
            let _ = thread.restore();
        }
    }
}

impl Thread {
    /// The thread of this id; 0 is the calling one.
    fn of(number: u32, how: Lower) -> io::Result<Self> {
        // SAFETY: takes a number only.
        let policy = check(unsafe { libc::sched_getscheduler(number.cast_signed()) })?;
        // SAFETY: takes numbers only. An error looks like -1, which is also a nice value; that
        // the thread is there was just seen.
        let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, number) };
        Ok(Thread { number, how, policy, nice })
    }

    fn lower(self) -> io::Result<()> {
        match self.how {
            Lower::Nice => self.set_nice(LOWEST),
            Lower::Idle => self.set_policy(libc::SCHED_IDLE),
        }
    }

    fn restore(self) -> io::Result<()> {
        match self.how {
            Lower::Nice => self.set_nice(self.nice),
            Lower::Idle => self.set_policy(self.policy),
        }
    }

    fn set_nice(self, nice: libc::c_int) -> io::Result<()> {
        // SAFETY: takes numbers only.
        check(unsafe { libc::setpriority(libc::PRIO_PROCESS, self.number, nice) }).map(drop)
    }

    fn set_policy(self, policy: libc::c_int) -> io::Result<()> {
        // SAFETY: a sched_param is integers and times, for which zero is valid: the only priority
        // of the policies that are not for real time.
        let param: libc::sched_param = unsafe { mem::zeroed() };
        // SAFETY: the parameter is valid for reading.
        check(unsafe { libc::sched_setscheduler(self.number.cast_signed(), policy, &param) }).map(drop)
    }
}

/// Tries on a new thread whether its priority can be restored after lowering it.
fn check_reversible(how: Lower) -> io::Result<()> {
    let tried = thread::spawn(move || {
        let thread = Thread::of(0, how)?;
        thread.lower()?;
        thread.restore()
    });
    tried.join().unwrap_or_else(|_| Err(io::Error::other("the thread that tried it panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Nice value and policy of a process (fields 19 and 41 of proc_pid_stat(5)).
    fn scheduled(pid: u32) -> (i32, i32) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("runs");
        let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
        let field = |number: usize| fields[number - 3].parse().expect("a number");
        (field(19), field(41))
    }

    #[test]
    fn the_priority_of_a_process_is_lowered_until_the_drop() {
        let mut child = Command::new("sleep").arg("30").spawn().expect("sleep starts");
        let (nice, policy) = scheduled(child.id());
        for (how, meanwhile) in [(Lower::Nice, (LOWEST, policy)), (Lower::Idle, (nice, libc::SCHED_IDLE))] {
            match LoweredPriority::begin(child.id(), how) {
                Ok(lowered) => {
                    assert_eq!(scheduled(child.id()), meanwhile);
                    drop(lowered);
                }
                Err(e) => eprintln!("skipped: this user may not restore it: {e}"),
            }
            assert_eq!(scheduled(child.id()), (nice, policy));
        }
        child.kill().expect("is ours");
        child.wait().expect("is ours");
        assert!(LoweredPriority::begin(u32::MAX >> 1, Lower::Nice).is_err(), "there is none");
    }
}
