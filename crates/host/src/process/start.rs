//! Starting a process within control groups in less than a millisecond.
//!
//! A process that is moved waits for all processors (`cgroup_threadgroup_rwsem` in kernel/cgroup/cgroup.c): mostly
//! some milliseconds. Two ways do not wait: a process that begins in its group (`CLONE_INTO_CGROUP` of clone(2),
//! Linux 5.7, v2 only), and a thread that moves itself (`tasks` of v1).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use std::{mem, ptr};

use rustix::fs::{Mode, OFlags, openat};

use super::children::{Fork, fork, refuse_threads, wait_for};
use super::signal::place;
use crate::errno::check;

/// Of clone(2): the descriptor `cgroup` is the group of version 2 to begin in.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// The fields of `struct clone_args` (include/uapi/linux/sched.h), all of 64 bits, that are set here.
const FLAGS: usize = 0;
const EXIT_SIGNAL: usize = 4;
const CGROUP: usize = 10;

/// Why no process was started.
#[derive(Debug)]
pub enum StartFault {
    /// The group of version 2 takes none, or there are too many processes.
    Group(io::Error),
    /// The program cannot be executed.
    Program(io::Error),
}

/// A process that was started here, and is to be waited for.
#[derive(Debug)]
pub struct Started {
    pid: u32,
}

/// Starts a command in control groups, from a process with a single thread. `unified` is the directory of its group
/// in the tree of version 2. `tasks` are files of version 1, open for writing, that take a thread.
///
/// # Errors
/// If this process has more threads, a group refuses it, or the program cannot be executed.
pub fn start_in(
    command: &mut Command,
    unified: Option<&File>,
    tasks: Vec<File>,
) -> Result<Started, StartFault> {
    refuse_threads().map_err(StartFault::Group)?;
    place(command, tasks);
    let (mut errors, mut report) = io::pipe().map_err(StartFault::Group)?;
    match copy_into(command, unified).map_err(StartFault::Group)? {
        Fork::Child => {
            drop(errors);
            let error = command.exec();
            let code = error.raw_os_error().unwrap_or(libc::EINVAL);
            // If nobody reads it, the parent has ended.
            let _ = report.write_all(&code.to_ne_bytes());
            // SAFETY: ends this process, and runs nothing of the parent's in it.
            unsafe { libc::_exit(127) }
        }
        Fork::Parent(pid) => {
            drop(report);
            let mut code = [0; 4];
            match errors.read_exact(&mut code) {
                Ok(()) => {
                    wait_for(pid);
                    Err(StartFault::Program(io::Error::from_raw_os_error(i32::from_ne_bytes(code))))
                }
                // The pipe is closed when the program is executed.
                Err(_) => Ok(Started { pid }),
            }
        }
    }
}

/// Copies this process, which has a single thread, into a group of version 2.
fn copy_into(command: &mut Command, unified: Option<&File>) -> io::Result<Fork> {
    let Some(unified) = unified else { return fork() };
    match clone_into(unified) {
        Err(e) if lacks_clone_into(&e) => {
            let procs = openat(unified, "cgroup.procs", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            place(command, vec![procs.into()]);
            fork()
        }
        copied => copied,
    }
}

/// Whether the kernel is too old, or a container's filter does not know the call.
fn lacks_clone_into(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL | libc::E2BIG))
}

fn clone_into(unified: &File) -> io::Result<Fork> {
    let mut arguments = [0_u64; CGROUP + 1];
    arguments[FLAGS] = CLONE_INTO_CGROUP;
    arguments[EXIT_SIGNAL] = libc::SIGCHLD as u64;
    arguments[CGROUP] = unified.as_raw_fd() as u64;
    // SAFETY: the structure is valid throughout. Without CLONE_VM the child has a copy of this process, which is
    // complete as it has a single thread.
    let copied = unsafe {
        libc::syscall(libc::SYS_clone3, arguments.as_ptr(), size_of_val(&arguments)) as libc::c_int
    };
    match check(copied)? {
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid as u32)),
    }
}

impl Started {
    /// The process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until it has ended: how, and the CPU time that it has used with all that it has waited for.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn wait(self) -> io::Result<(ExitStatus, Duration)> {
        let mut status = 0;
        // SAFETY: all fields are numbers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        loop {
            // SAFETY: both are valid for writing.
            let waited =
                unsafe { libc::wait4(self.pid as i32, ptr::from_mut(&mut status), 0, &raw mut usage) };
            match check(waited) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
                Ok(_) => {
                    return Ok((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime)));
                }
            }
        }
    }
}

fn time(of: libc::timeval) -> Duration {
    Duration::new(of.tv_sec.try_into().unwrap_or(0), u32::try_from(of.tv_usec).unwrap_or(0) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_starts_none() {
        // The test runner has threads.
        let (quit, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || wait.recv().is_ok());
        let refused = start_in(&mut Command::new("true"), None, Vec::new());
        assert!(matches!(refused, Err(StartFault::Group(e)) if e.to_string().contains("threads")));
        drop(quit);
        thread.join().expect("ends");
    }

    #[test]
    fn times_are_added_up() {
        assert_eq!(time(libc::timeval { tv_sec: 2, tv_usec: 7 }), Duration::new(2, 7000));
    }
}
