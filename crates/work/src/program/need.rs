//! What running a program needs.

use std::hash::{BuildHasher, Hasher, RandomState};

use crosstalk_core::need::Need;
use rustix::process::{PidfdFlags, getpid, pidfd_open};

/// A random mark for a program's processes: 16 hexadecimal digits.
pub fn fresh_mark() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// What a workload that runs programs needs of a machine.
pub fn need() -> Need {
    match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(_) => Need::found("to watch a program's end (pidfd)", "the kernel's"),
        Err(e) => Need::missing(
            "to watch a program's end (pidfd)",
            format!("the kernel says: {e}; no program can be run"),
            "Linux 5.3 or later, and a container that allows pidfd_open",
        ),
    }
}
