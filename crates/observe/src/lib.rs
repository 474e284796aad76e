//! Observers of the kernel. [`observers`] read its own counters: pressure and page faults.
//! BPF programs at its tracepoints time messages ([`stages`]), requests ([`service`]) and what tasks
//! of control groups wait for ([`waits`]).
//! One more program redirects frames to AF_XDP sockets ([`redirect`]).
//!
//! The BPF programs are in `bpf/`, in C. `tools/bpf` compiles them, and the crate contains the
//! objects: building it needs no clang. The kernel's types are found by name when an object is
//! loaded. It suits any kernel that has its types in `/sys/kernel/btf/vmlinux`.
//! Programs and maps belong to file descriptors of the process that attached them. The kernel
//! removes them when it ends.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod faults;
mod object;
mod pressure;
pub mod redirect;
pub mod service;
pub mod stages;
pub mod waits;

use crosstalk_core::scene::Observer;

/// The observers that suit every attempt, whatever runs in it.
pub fn observers() -> Vec<Box<dyn Observer>> {
    vec![Box::new(pressure::Pressure), Box::new(faults::PageFaults)]
}
