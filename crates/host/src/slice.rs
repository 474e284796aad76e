//! Long time slices for a thread that computes (sched_setattr(2)).
//!
//! Several ranks share few cores, and each switch between them costs caches.
//! With SCHED_BATCH a thread that wakes up does not take the core from one that
//! computes; since Linux 6.12 a thread may also ask for its slice (EEVDF's
//! `sched_runtime` of a fair thread, 0.1 to 100 ms).

use std::io;

use crate::errno::check;

/// sched_setattr(2)'s argument, version 0 (include/uapi/linux/sched/types.h).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The longest slice a fair thread may ask for, in nanoseconds.
const SLICE: u64 = 100_000_000;

/// Lets the calling thread compute in slices as long as the kernel allows.
/// Kernels before 6.12 take the policy and leave the slice.
///
/// # Errors
/// When the kernel refuses; the thread then goes on as it was.
pub fn long() -> io::Result<()> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_BATCH as u32,
        nice: nice(),
        runtime: SLICE,
        ..Attributes::default()
    };
    // SAFETY: the attributes are valid for reading their own `size`, and the
    // kernel writes nothing but that size where it refuses it.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    check(result as libc::c_int).map(drop)
}

/// The thread's own nice value, which setting a policy would otherwise reset.
fn nice() -> i32 {
    // SAFETY: takes numbers only; an error is indistinguishable from -1, which is a nice value.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_lengthen_its_own_slice() {
        std::thread::spawn(|| {
            long().expect("every kernel has SCHED_BATCH");
            // SAFETY: takes numbers only.
            assert_eq!(unsafe { libc::sched_getscheduler(0) }, libc::SCHED_BATCH);
        })
        .join()
        .expect("the thread ends");
    }
}
