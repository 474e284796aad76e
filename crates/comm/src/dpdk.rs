//! DPDK, through a small program in C (`endpoints/dpdk.c`).

use std::sync::OnceLock;

use crosstalk_core::need::Need;
use crosstalk_host::huge;

use crate::embedded::EmbeddedProgram;

/// The embedded program in C that uses DPDK.
pub static PROGRAM: EmbeddedProgram =
    EmbeddedProgram { what: "DPDK", bytes: include_bytes!(concat!(env!("OUT_DIR"), "/dpdk")) };

/// Bytes of memory of one process: huge pages if there are enough, else normal pages.
pub const MEMORY: u64 = 128 << 20;

/// The environment variable that lets the program use huge pages.
pub const HUGE: &str = "CROSSTALK_HUGE_PAGES";

/// Whether this machine can use DPDK.
pub fn need() -> Need {
    static OBSTACLE: OnceLock<Option<String>> = OnceLock::new();
    if let Some(why) = OBSTACLE.get_or_init(|| PROGRAM.obstacle()) {
        return Need::missing(
            "DPDK",
            format!("messages through it cannot be timed: {why}"),
            "apt-get install libdpdk-dev dpdk-dev pkg-config, then build it again",
        );
    }
    let pages = if huge::free_bytes() >= MEMORY { "with huge pages" } else { "without huge pages" };
    Need::found("DPDK", format!("built in, {pages}"))
}
