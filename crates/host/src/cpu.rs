//! The CPUs that a thread may run on (sched_setaffinity(2)).

use crosstalk_core::Fault;
use std::marker::PhantomData;
use std::{io, mem};

use crate::errno::check;

/// The CPUs that the calling thread may run on, ascending. Empty if they cannot be read
/// (more than 1,024 CPUs).
pub fn allowed() -> Vec<usize> {
    // SAFETY: a cpu_set_t is an array of integers, for which zero is valid.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the set is valid for writing its full size.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
    if result != 0 {
        return Vec::new();
    }
    // SAFETY: the index stays below CPU_SETSIZE, the number of bits of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Parses a list of processors or memory nodes: `0-1,4` as 0, 1, 4 (cpuset(7), "List format").
pub fn parse_list(text: &str) -> Vec<usize> {
    /// More processors than any kernel supports.
    const MOST: usize = 1 << 16;
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse::<usize>().ok()?..=to.trim().parse::<usize>().ok()?.min(MOST))
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// Restricts the calling thread, and threads that it starts later, to these CPUs.
///
/// # Errors
/// If none of the CPUs exists or is allowed.
pub fn restrict(cpus: &[usize]) -> Result<(), Fault> {
    // SAFETY: a cpu_set_t is an array of integers, for which zero is valid.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for &cpu in cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as usize) {
        // SAFETY: the index is below CPU_SETSIZE, the number of bits of the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set is valid for reading its full size.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
    check(result).map(drop).map_err(|e: io::Error| {
        Fault::environment(format!("cannot run on CPUs {cpus:?}: {e}"))
            .remedy(format!("choose among the CPUs allowed here: {:?}", allowed()))
    })
}

/// The CPU for work that is measured by CPU time: the fastest one that the calling thread
/// may run on. Of equal ones it is the last, since the first ones handle most interrupts.
/// Every process with the same allowed CPUs gets the same one.
pub fn fastest_allowed() -> Option<usize> {
    allowed().into_iter().max_by_key(|cpu| (speed(*cpu), *cpu))
}

/// The speed of a CPU relative to the others of this host, without a unit. 0 if the kernel
/// does not report it (Documentation/ABI/testing/sysfs-devices-system-cpu).
fn speed(cpu: usize) -> u64 {
    let read = |file: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    read("cpu_capacity").or_else(|| read("cpufreq/cpuinfo_max_freq")).unwrap_or(0)
}

/// The calling thread is pinned to one CPU. Dropping it restores the CPUs that were allowed
/// before.
#[derive(Debug)]
pub struct PinnedThread {
    before: Vec<usize>,
    /// Allowed CPUs belong to a thread, so this value must stay in it.
    stays: PhantomData<*const ()>,
}

impl PinnedThread {
    /// Pins the calling thread to one CPU until the value is dropped.
    ///
    /// # Errors
    /// If the CPU does not exist or is not allowed.
    pub fn begin(cpu: usize) -> Result<Self, Fault> {
        let before = allowed();
        pin(cpu)?;
        Ok(PinnedThread { before, stays: PhantomData })
    }
}

impl Drop for PinnedThread {
    fn drop(&mut self) {
        // It fails only if none of these CPUs is allowed any more. The thread then stays
        // where it is.
        restrict(&self.before).ok();
    }
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// If the CPU does not exist or is not allowed.
pub fn pin(cpu: usize) -> Result<(), Fault> {
    restrict(&[cpu])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-1,4"), [0, 1, 4]);
        assert_eq!(parse_list("0"), [0]);
        assert_eq!(parse_list(""), [0_usize; 0]);
        assert_eq!(parse_list("x-1,3"), [3]);
    }

    #[test]
    fn a_pinned_thread_is_allowed_one_cpu() {
        std::thread::spawn(|| {
            let cpu = *allowed().last().expect("at least one CPU is allowed");
            pin(cpu).expect("an allowed CPU can be pinned to");
            assert_eq!(allowed(), [cpu]);
        })
        .join()
        .expect("the thread ends");
    }

    #[test]
    fn a_thread_is_pinned_until_the_guard_goes() {
        std::thread::spawn(|| {
            let before = allowed();
            let cpu = fastest_allowed().expect("at least one CPU is allowed");
            let guard = PinnedThread::begin(cpu).expect("an allowed CPU can be pinned to");
            assert_eq!(allowed(), [cpu]);
            drop(guard);
            assert_eq!(allowed(), before);
        })
        .join()
        .expect("the thread ends");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_a_fault_with_a_remedy() {
        let fault = pin(1023).expect_err("no CPU 1023");
        assert!(fault.remedy.is_some(), "{fault}");
    }
}
