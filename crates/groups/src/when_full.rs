//! What is to be done when memory is full: a group's rule.

use serde::{Deserialize, Serialize};

use crate::profile::Profile;

/// What is done about a group when its memory is full, or that of a group that it is in, or the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFull {
    /// It may be ended as a whole.
    End,
    /// It is reported; the kernel chooses a process.
    Warn,
    /// The kernel chooses a process.
    Kernel,
}

impl WhenFull {
    /// The rule of a profile's groups by default.
    pub fn of(profile: &Profile) -> WhenFull {
        match profile {
            Profile::Guaranteed { .. } => WhenFull::Kernel,
            Profile::Burstable { .. } | Profile::BestEffort { .. } => WhenFull::End,
        }
    }
}
