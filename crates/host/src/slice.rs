//! How long a fair thread runs at a time (Linux 6.12; sched_setattr(2)). Older kernels take the call, and do nothing.

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

/// A short slice, in nanoseconds: shorter than what the kernel gives, and longer than a short piece of work that is
/// timed. It takes from 0.1 ms.
const SHORT: u64 = 300_000;

/// Has the calling thread stand under this policy of fair threads, with slices of so many nanoseconds.
pub(crate) fn have(policy: libc::c_int, slice: u64) -> io::Result<()> {
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

/// Has the calling thread run at once where it wakes up or is moved to: of two fair threads the one with the shorter
/// slice does. What it may use in all stays as it is, and so does its policy.
///
/// # Errors
/// When the kernel refuses it, as for a thread under a real-time policy; the thread goes on as it was.
pub fn prompt() -> io::Result<()> {
    // SAFETY: takes a number only.
    let policy = check(unsafe { libc::sched_getscheduler(0) })?;
    have(policy, SHORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_thread_has_a_short_slice_and_its_policy() {
        std::thread::spawn(|| {
            // SAFETY: asks about the calling thread.
            let policy = || unsafe { libc::sched_getscheduler(0) };
            let before = policy();
            prompt().expect("a test's thread is a fair one");
            assert_eq!(policy(), before);
            let told = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
            match told.lines().find(|line| line.starts_with("se.slice")) {
                Some(slice) => assert!(slice.ends_with(&format!(" {SHORT}")), "{slice}"),
                None => eprintln!("skipped: this kernel does not tell a thread's slice"),
            }
        })
        .join()
        .expect("the thread ends");
    }
}
