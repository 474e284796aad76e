//! One Linux machine: facts, namespaces, links, clocks, memory, PCI devices, the undo ledger.
//!
//! Everything here uses the kernel directly (system calls, netlink, `/proc`), without
//! `ip`, `tc`, `ethtool` or `unshare`. This is one of the few crates with `unsafe`; each
//! block states why it is sound.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod carrier;
pub mod clock;
pub mod cpu;
pub mod disk;
pub mod ethtool;
pub mod facts;
pub mod gather;
pub mod huge;
pub mod kernel;
pub mod launcher;
pub mod ledger;
pub mod limits;
pub mod listening;
pub mod load;
pub mod lockers;
pub mod locks;
pub mod mounts;
pub mod namespace;
pub mod netlink;
pub mod pace;
pub mod packet;
pub mod pages;
pub mod pci;
pub mod process;
pub mod product;
pub mod program_break;
pub mod refusal;
pub mod regular;
pub mod shared_segment;
pub mod slice;
pub mod starts;
pub mod streams;
pub mod sysctl;
pub mod tcp;
pub mod ticks;
pub mod undisturbed;
pub mod user;
pub mod vector;
pub mod wait_timeout;

mod errno;

pub use launcher::Launcher;
pub use ledger::{Ledger, reaper_main};
