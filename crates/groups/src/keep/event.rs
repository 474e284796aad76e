//! What an evictor reports.

use crosstalk_core::units::Bytes;
use serde::{Deserialize, Serialize};

use super::victim::Reason;
use crate::name::GroupName;

/// Memory that is full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullMemory {
    /// The group whose it is; `None`: the machine's.
    pub of: Option<GroupName>,
    /// How much that is.
    pub limit: Bytes,
    /// Of the machine's: less than this is available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<Bytes>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A group was ended.
    Ended {
        /// Which one.
        group: GroupName,
        /// Why it was chosen.
        reason: Reason,
        /// Which memory was full.
        full: FullMemory,
        /// What the group had, file pages left out.
        memory: Bytes,
        /// How many processes were ended.
        processes: usize,
        /// Some of them, by name and id.
        named: Vec<String>,
    },
    /// Processes of an ended group do not end.
    Stays {
        /// Which group.
        group: GroupName,
        /// How many.
        processes: usize,
    },
    /// Memory is full, and no group may be ended by rule. If nothing is left, the kernel chooses a process.
    Nobody {
        /// Which memory.
        full: FullMemory,
    },
    /// A group that is only to be reported is nearly full.
    Nearly {
        /// Which memory.
        full: FullMemory,
        /// What it has, file pages left out.
        memory: Bytes,
    },
    /// The kernel chose processes.
    Killed {
        /// Of which group.
        group: GroupName,
        /// How many.
        processes: u64,
    },
}
