//! The time slice of a thread in the fair class (Linux 6.12; sched_setattr(2)). Older kernels ignore it.

use std::io;

use crate::errno::check;

/// sched_setattr(2)'s argument, version 0 (include/uapi/linux/sched/types.h).
#[repr(C)]
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

/// A short slice, in nanoseconds: shorter than the kernel's default, and longer than a short piece of work that is
/// timed. The kernel's minimum is 0.1 ms.
const SHORT: u64 = 300_000;

/// Sets the policy of the calling thread, one of the fair class, and its slice in nanoseconds.
pub(crate) fn set(policy: libc::c_int, slice: u64) -> io::Result<()> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: policy as u32,
        flags: 0,
        // SAFETY: takes numbers only; an error is indistinguishable from -1, which is a nice value.
        nice: unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) },
        priority: 0,
        runtime: slice,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the attributes are valid for reading their own `size`, and the
    // kernel writes nothing but that size where it refuses it.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    check(result as libc::c_int).map(drop)
}

/// Gives the calling thread a short slice, so that it preempts threads of longer slices when it wakes up or is moved.
/// Its share of CPU time and its policy stay the same.
///
/// # Errors
/// If the kernel refuses, as for a thread under a real-time policy; then nothing changes.
pub fn use_short_slice() -> io::Result<()> {
    // SAFETY: takes a number only.
    let policy = check(unsafe { libc::sched_getscheduler(0) })?;
    set(policy, SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_a_short_slice_keeps_its_policy() {
        std::thread::spawn(|| {
            // SAFETY: asks about the calling thread.
            let policy = || unsafe { libc::sched_getscheduler(0) };
            let before = policy();
            use_short_slice().expect("a test's thread is a fair one");
            assert_eq!(policy(), before);
            let sched = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
            match sched.lines().find(|line| line.starts_with("se.slice")) {
                Some(slice) => assert!(slice.ends_with(&format!(" {SHORT}")), "{slice}"),
                None => eprintln!("skipped: this kernel does not report a thread's slice"),
            }
        })
        .join()
        .expect("the thread ends");
    }
}
