//! DPDK, by a small program in C (`ends/dpdk.c`).

use std::sync::OnceLock;

use crosstalk_core::need::Need;
use crosstalk_host::huge;

use crate::carried::Carried;

/// The program.
pub static PROGRAM: Carried =
    Carried { what: "DPDK", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/dpdk")) };

/// Bytes of huge pages that a process of it takes; of normal ones where there are fewer.
pub const MEMORY: u64 = 128 << 20;

/// An environment variable that tells the program to use huge pages.
pub const HUGE: &str = "CROSSTALK_HUGE_PAGES";

/// What it needs of a machine.
pub fn need() -> Need {
    static OBSTACLE: OnceLock<Option<String>> = OnceLock::new();
    if let Some(why) = OBSTACLE.get_or_init(|| PROGRAM.obstacle()) {
        return Need::missing(
            "DPDK",
            format!("messages through it cannot be timed: {why}"),
            "apt-get install libdpdk-dev dpdk-dev pkg-config, then build it again",
        );
    }
    let pages = if huge::free() >= MEMORY { "with huge pages" } else { "without huge pages" };
    Need::found("DPDK", format!("built in, {pages}"))
}
