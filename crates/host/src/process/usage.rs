//! What processes have used: CPU time, page faults and reads of devices (getrusage(2), wait4(2)).

use std::time::Duration;

/// What a process has used, with all of its descendants that have ended and were waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Bytes that were read from devices.
    pub read: u64,
}

/// Bytes of a block of `ru_inblock`.
const BLOCK: u64 = 512;

impl Usage {
    /// Of this process and its ended descendants, until now.
    pub fn so_far() -> Self {
        let of = |who| {
            let mut usage = nothing();
            // SAFETY: `usage` is a valid rusage, which the call only writes to. With these two constants it
            // cannot fail.
            unsafe { libc::getrusage(who, &mut usage) };
            Usage::from(usage)
        };
        let (own, ended) = (of(libc::RUSAGE_SELF), of(libc::RUSAGE_CHILDREN));
        Usage {
            user: own.user + ended.user,
            system: own.system + ended.system,
            minor_faults: own.minor_faults + ended.minor_faults,
            major_faults: own.major_faults + ended.major_faults,
            read: own.read + ended.read,
        }
    }

    /// What was used since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Usage {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            read: self.read.saturating_sub(earlier.read),
        }
    }
}

impl From<libc::rusage> for Usage {
    fn from(usage: libc::rusage) -> Self {
        let time = |time: libc::timeval| {
            Duration::new(time.tv_sec as u64, 0) + Duration::from_micros(time.tv_usec as u64)
        };
        Usage {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            read: usage.ru_inblock as u64 * BLOCK,
        }
    }
}

/// A rusage in which everything is zero.
pub(super) fn nothing() -> libc::rusage {
    // SAFETY: rusage is plain integers, for which all-zero bytes are valid.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_ended_child_counts() {
        let before = Usage::so_far();
        assert!(Command::new("true").status().expect("starts").success());
        let used = Usage::so_far().since(before);
        assert!(used.minor_faults > 10, "a program maps its pages: {used:?}");
    }
}
