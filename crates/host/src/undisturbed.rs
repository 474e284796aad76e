//! A thread whose computing others disturb as little as the kernel allows.
//!
//! Virtual time advances by CPU time, which waiting for a core does not touch;
//! but being switched out in the midst of computing costs caches, and that is
//! charged to the thread. So, in this order:
//!
//! 1. SCHED_FIFO at its lowest priority (sched(7)), where privileged: nothing
//!    but the kernel's own threads interrupts, and ranks that share a core take
//!    turns when they wait for messages. What is starved meanwhile gets its
//!    share by the kernel's throttling (sched_rt_runtime_us, or the fair server).
//! 2. SCHED_BATCH with the longest slice (Linux 6.12; sched_setattr(2)): threads
//!    that wake up do not take the core from one that computes.

use std::marker::PhantomData;
use std::{io, mem};

use crate::errno::check;
use crate::slice;

/// The longest slice a fair thread may ask for, in nanoseconds.
const SLICE: u64 = 100_000_000;

/// How the calling thread is scheduled; its former way comes back with the drop.
#[derive(Debug)]
pub struct Undisturbed {
    policy: libc::c_int,
    param: libc::sched_param,
    /// Scheduling is a thread's own: the guard stays in it.
    stays: PhantomData<*const ()>,
}

impl Undisturbed {
    /// Makes the calling thread so.
    ///
    /// # Errors
    /// When the kernel refuses all of it; the thread goes on as it was.
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
    slice::have(libc::SCHED_BATCH, SLICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: takes a number only.
        unsafe { libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK }
    }

    #[test]
    fn a_thread_is_undisturbed_until_the_guard_goes() {
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
