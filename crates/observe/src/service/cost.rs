//! What the BPF programs cost.

use aya::Ebpf;
use aya::programs::BtfTracePoint;
use aya::sys::{Stats, enable_stats};
use crosstalk_core::Fault;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use crate::object::failed_fault;

/// The calls of all programs while [`RunTimeCounting`] is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramRuns {
    /// How many calls.
    pub count: u64,
    /// How long they took together.
    pub time: Duration,
}

/// The kernel counts and times the calls of BPF programs until this is dropped. That costs two
/// clock readings per call.
pub struct RunTimeCounting {
    _counts: OwnedFd,
}

impl RunTimeCounting {
    /// Switches counting on.
    ///
    /// # Errors
    /// An environment fault: the kernel refuses (it needs Linux 5.8 and CAP_SYS_ADMIN).
    pub fn begin() -> Result<RunTimeCounting, Fault> {
        let counts =
            enable_stats(Stats::RunTime).map_err(|e| failed_fault("count the programs' time", &e))?;
        Ok(RunTimeCounting { _counts: counts })
    }
}

/// The loaded programs.
fn each(programs: &Ebpf) -> impl Iterator<Item = &BtfTracePoint> {
    programs.programs().filter_map(|(_, program)| program.try_into().ok())
}

/// The calls so far.
pub(super) fn runs(programs: &Ebpf) -> ProgramRuns {
    let infos = each(programs).filter_map(|program| program.info().ok());
    infos.fold(ProgramRuns::default(), |sum, info| ProgramRuns {
        count: sum.count + info.run_count(),
        time: sum.time + info.run_time(),
    })
}

/// Calls that the kernel skipped, because the same program was running on that CPU already.
pub(super) fn missed(programs: &Ebpf) -> u64 {
    let infos = each(programs).filter_map(|program| {
        let descriptor = program.fd().ok()?.as_fd().as_raw_fd();
        std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()
    });
    infos.filter_map(|info| parse_missed(&info)).sum()
}

/// `recursion_misses` of a program's file descriptor (`bpf_prog_show_fdinfo`).
fn parse_missed(info: &str) -> Option<u64> {
    info.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_runs_are_read_if_the_kernel_reports_them() {
        assert_eq!(parse_missed("prog_type:\t26\nrecursion_misses:\t12\nverified_insns:\t3\n"), Some(12));
        assert_eq!(parse_missed("prog_type:\t26\n"), None);
        assert_eq!(parse_missed("recursion_misses:\tmany"), None);
    }
}
