//! Why a group takes no process: one text for each reason, whoever wants to put one there.

use crosstalk_core::Fault;

use crate::name::GroupName;

/// EBUSY of errno(3): of a group of v2, that it holds groups.
pub const BUSY: i32 = 16;

/// Its directories are gone.
pub fn vanished(name: &GroupName) -> Fault {
    Fault::environment(format!("group `{name}` has vanished: its directory was removed by something else"))
        .remedy(format!("make it anew: crosstalk groups remove {name} && crosstalk groups create {name}"))
}

/// The kernel answers [`BUSY`].
pub fn holds_groups(name: &GroupName) -> Fault {
    Fault::environment(format!("group `{name}` holds groups: in v2 it cannot hold processes, too"))
        .remedy("name a group in it; which there are: crosstalk groups list")
}
