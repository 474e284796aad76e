//! Which CPUs a thread may run on (sched_setaffinity(2)).

use crosstalk_core::Fault;
use std::marker::PhantomData;
use std::{io, mem};

use crate::errno::check;

/// The CPUs that the calling thread may run on, ascending. Empty if the kernel
/// does not say (more than 1,024 CPUs).
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

/// Processors or memory nodes as the kernel lists them: `0-1,4` as 0, 1, 4 (cpuset(7), "List format").
pub fn listed(text: &str) -> Vec<usize> {
    /// More than any kernel is built for.
    const MOST: usize = 1 << 16;
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse::<usize>().ok()?..=to.trim().parse::<usize>().ok()?.min(MOST))
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// Lets the calling thread run on these CPUs only; threads that it starts later
/// inherit that.
///
/// # Errors
/// When none of the CPUs is there or allowed.
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

/// The CPU on which what is measured by CPU time runs: the fastest of those that
/// the calling thread may run on; of equals the last, since the first handle most
/// of the interrupts. Every process with the same CPUs allowed finds the same one.
pub fn fastest() -> Option<usize> {
    allowed().into_iter().max_by_key(|cpu| (speed(*cpu), *cpu))
}

/// How fast a CPU is beside the others of this host, in no unit; 0 where the
/// kernel does not say (Documentation/ABI/testing/sysfs-devices-system-cpu).
fn speed(cpu: usize) -> u64 {
    let told = |file: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    told("cpu_capacity").or_else(|| told("cpufreq/cpuinfo_max_freq")).unwrap_or(0)
}

/// The calling thread pinned to one CPU; it may run where it might before with
/// the drop.
#[derive(Debug)]
pub struct Pinned {
    before: Vec<usize>,
    /// The CPUs allowed are a thread's own: the guard stays in it.
    stays: PhantomData<*const ()>,
}

impl Pinned {
    /// Pins the calling thread.
    ///
    /// # Errors
    /// When the CPU is not there or not allowed.
    pub fn begin(cpu: usize) -> Result<Self, Fault> {
        let before = allowed();
        pin(cpu)?;
        Ok(Pinned { before, stays: PhantomData })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Refused only where the host's administrator has taken all of them
        // away meanwhile; the thread then stays where it is.
        restrict(&self.before).ok();
    }
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// When the CPU is not there or not allowed.
pub fn pin(cpu: usize) -> Result<(), Fault> {
    restrict(&[cpu])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_kernel_writes_them() {
        assert_eq!(listed("0-1,4"), [0, 1, 4]);
        assert_eq!(listed("0"), [0]);
        assert_eq!(listed(""), [0_usize; 0]);
        assert_eq!(listed("x-1,3"), [3]);
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
            let cpu = fastest().expect("at least one CPU is allowed");
            let guard = Pinned::begin(cpu).expect("an allowed CPU can be pinned to");
            assert_eq!(allowed(), [cpu]);
            drop(guard);
            assert_eq!(allowed(), before);
        })
        .join()
        .expect("the thread ends");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_a_fault_with_a_remedy() {
        let fault = pin(1023).expect_err("no CPU 1023");
        assert!(fault.remedy.is_some(), "{fault}");
    }
}
