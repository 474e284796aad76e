//! DPDK, by a small program in C (`dpdk/end.c`, which says how it is called): its types
//! are macros and inlined functions that other languages see nothing of.
//!
//! The program is part of this one, and is run from memory: nothing has to be
//! installed beside DPDK's own libraries.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;

use crosstalk_core::need::Need;

/// The compiled program; empty where DPDK's headers were not there.
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dpdk-end"));

/// Bytes of huge pages that it takes; of normal ones where there are fewer.
const MEMORY: u64 = 128 << 20;

/// Tells the program to use huge pages.
const HUGE: &str = "CROSSTALK_HUGE_PAGES";

/// What it needs of a machine.
pub fn need() -> Need {
    if PROGRAM.is_empty() {
        return Need::missing(
            "DPDK",
            "messages through it cannot be timed: this program was built without it",
            "apt-get install libdpdk-dev dpdk-dev pkg-config, then build it again",
        );
    }
    let pages = if has_huge_pages() { "with huge pages" } else { "without huge pages" };
    Need::found("DPDK", format!("built in, {pages}"))
}

/// The program, for as long as this value lives.
#[derive(Debug)]
pub struct Program {
    file: OwnedFd,
}

impl Program {
    /// Puts it into memory.
    ///
    /// # Errors
    /// What the kernel says (memfd_create(2)); unsupported where there is no such program.
    pub fn new() -> io::Result<Self> {
        if PROGRAM.is_empty() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this program was built without DPDK"));
        }
        // SAFETY: the name is a C string, and the call makes a new file descriptor.
        let file = unsafe { libc::memfd_create(c"crosstalk-dpdk".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        File::from(file.try_clone()?).write_all(PROGRAM)?;
        Ok(Program { file })
    }

    /// The command that starts it, without its words.
    pub fn command(&self) -> Command {
        let mut command = Command::new(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()));
        match has_huge_pages() {
            true => command.env(HUGE, "1"),
            false => command.env_remove(HUGE),
        };
        command
    }
}

/// Whether so many huge pages are free as it takes.
fn has_huge_pages() -> bool {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let number = |name: &str| -> Option<u64> {
        let line = told.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    match (number("HugePages_Free:"), number("Hugepagesize:")) {
        (Some(free), Some(kibibytes)) => free * (kibibytes << 10) >= MEMORY,
        _ => false,
    }
}
