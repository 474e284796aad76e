//! A thread that is preempted as rarely as the kernel allows.
//!
//! Virtual time advances by CPU time. Waiting for a core does not count, but after a
//! preemption cold caches do. So, in this order:
//!
//! 1. SCHED_FIFO at its lowest priority (sched(7)), if privileged. Only kernel
//!    threads preempt it, and ranks that share a core switch when they wait for
//!    messages. Other threads get their share by the kernel's throttling
//!    (sched_rt_runtime_us, or the fair server).
//! 2. SCHED_BATCH with the longest slice (Linux 6.12; sched_setattr(2)). Threads
//!    that wake up do not preempt a thread that computes.

use std::marker::PhantomData;
use std::{io, mem};

use crate::errno::check;
use crate::slice;

/// The longest slice of a thread in the fair class, in nanoseconds.
const SLICE: u64 = 100_000_000;

/// The calling thread is rarely preempted. Dropping it restores the former scheduling.
#[derive(Debug)]
pub struct Undisturbed {
    policy: libc::c_int,
    param: libc::sched_param,
    /// Scheduling belongs to a thread, so this value must stay in it.
    stays: PhantomData<*const ()>,
}

impl Undisturbed {
    /// Changes the scheduling of the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses both; then nothing changes.
    pub fn begin() -> io::Result<Self> {
        // SAFETY: a sched_param is integers, for which zero is valid.
        let mut param: libc::sched_param = unsafe { mem::zeroed() };
        // SAFETY: takes a number only.
        let policy = check(unsafe { libc::sched_getscheduler(0) })?;
        // SAFETY: the parameter is valid for writing.
        check(unsafe { libc::sched_getparam(0, &mut param) })?;
        fifo().or_else(|_| batch())?;
        Ok(Undisturbed { policy, param, stays: PhantomData })
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        // SAFETY: the parameter is valid for reading. Returning to what was
        // there before cannot be refused: it asks for less.
        unsafe { libc::sched_setscheduler(0, self.policy, &self.param) };
    }
}

/// Lets the calling thread run before all others of normal priority (SCHED_FIFO, as above). For a thread that others
/// wait for, and that mostly waits itself.
///
/// # Errors
/// Without the privilege, or in a control group of v1 without time for such threads (`cpu.rt_runtime_us`).
pub fn run_first() -> io::Result<()> {
    fifo()
}

fn fifo() -> io::Result<()> {
    // SAFETY: takes a number only.
    let lowest = check(unsafe { libc::sched_get_priority_min(libc::SCHED_FIFO) })?;
    // musl's has fields that Linux has no use for.
    // SAFETY: a sched_param is integers and times, for which zero is valid.
    let mut param: libc::sched_param = unsafe { mem::zeroed() };
    param.sched_priority = lowest;
    // SAFETY: the parameter is valid for reading. Threads and processes that
    // this one starts do not inherit it.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &param) };
    check(result).map(drop)
}

fn batch() -> io::Result<()> {
    slice::set(libc::SCHED_BATCH, SLICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: takes a number only.
        unsafe { libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK }
    }

    #[test]
    fn a_thread_is_undisturbed_until_the_drop() {
        std::thread::spawn(|| {
            let before = policy();
            let guard = Undisturbed::begin().expect("every kernel has SCHED_BATCH");
            assert!([libc::SCHED_FIFO, libc::SCHED_BATCH].contains(&policy()));
            drop(guard);
            assert_eq!(policy(), before);
        })
        .join()
        .expect("the thread ends");
    }

    #[test]
    fn without_privilege_it_is_batch_with_long_slices() {
        std::thread::spawn(|| {
            batch().expect("every kernel has SCHED_BATCH");
            assert_eq!(policy(), libc::SCHED_BATCH);
        })
        .join()
        .expect("the thread ends");
    }
}
