//! What the programs themselves cost.

use aya::Ebpf;
use aya::programs::BtfTracePoint;
use aya::sys::{Stats, enable_stats};
use crosstalk_core::Fault;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use crate::object::failed;

/// Runs of all programs, and the time they took, while that was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Runs {
    /// How many.
    pub count: u64,
    /// How long, in all.
    pub time: Duration,
}

/// The kernel counts runs as long as this lives, which costs a little itself: two readings
/// of a clock a run.
pub struct Counting {
    _counts: OwnedFd,
}

impl Counting {
    /// # Errors
    /// An environment fault: the kernel refuses (it needs Linux 5.8 and CAP_SYS_ADMIN).
    pub fn begin() -> Result<Counting, Fault> {
        let counts = enable_stats(Stats::RunTime).map_err(|e| failed("let the kernel count its time", &e))?;
        Ok(Counting { _counts: counts })
    }
}

/// The loaded programs.
fn each(programs: &Ebpf) -> impl Iterator<Item = &BtfTracePoint> {
    programs.programs().filter_map(|(_, program)| program.try_into().ok())
}

/// What was counted so far.
pub(super) fn runs(programs: &Ebpf) -> Runs {
    let infos = each(programs).filter_map(|program| program.info().ok());
    infos.fold(Runs::default(), |sum, info| Runs {
        count: sum.count + info.run_count(),
        time: sum.time + info.run_time(),
    })
}

/// Runs that the kernel left out, since the same program was interrupted on that CPU.
pub(super) fn missed(programs: &Ebpf) -> u64 {
    let told = each(programs).filter_map(|program| {
        let descriptor = program.fd().ok()?.as_fd().as_raw_fd();
        std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()
    });
    told.filter_map(|info| parse_missed(&info)).sum()
}

/// `recursion_misses` of a program's file descriptor (`bpf_prog_show_fdinfo`).
fn parse_missed(info: &str) -> Option<u64> {
    info.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_runs_are_read_where_they_are_told() {
        assert_eq!(parse_missed("prog_type:\t26\nrecursion_misses:\t12\nverified_insns:\t3\n"), Some(12));
        assert_eq!(parse_missed("prog_type:\t26\n"), None);
        assert_eq!(parse_missed("recursion_misses:\tmany"), None);
    }
}
