//! What several commands say about groups.

use crate::name::GroupName;

/// EBUSY of errno(3): of a group of v2, that it holds groups.
pub(crate) const BUSY: i32 = 16;

/// So many processes.
pub fn processes(count: usize) -> String {
    if count == 1 { "1 process".into() } else { format!("{count} processes") }
}

/// Of a group that something else has removed.
pub(crate) fn vanished(name: &GroupName) -> String {
    format!("group `{name}` has vanished: its directory was removed by something else")
}

/// What to do about a group that has vanished.
pub(crate) fn anew(name: &GroupName) -> String {
    format!("make it anew: crosstalk groups remove {name} && crosstalk groups create {name}")
}

/// Of a group that takes no process ([`BUSY`]).
pub(crate) fn holds_groups(name: &GroupName) -> String {
    format!("group `{name}` holds groups: in v2 it cannot hold processes, too")
}
