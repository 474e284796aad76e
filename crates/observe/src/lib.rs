//! What the kernel does meanwhile. It says itself how much work waits for what, and what its
//! memory does ([`observers`]); programs that it runs for us see the rest, from its
//! tracepoints ([`stages`]), and hand frames past its protocols ([`redirect`]).
//!
//! The programs that the kernel runs are in `bpf/`, in C. `tools/bpf` compiles them, and the
//! crate carries the objects, so that building it needs no clang. The kernel's types are found
//! by name when they are loaded: they suit any kernel that carries its types
//! (`/sys/kernel/btf/vmlinux`).
//! Nothing outlives the process that attached it: programs and maps belong to its file
//! descriptors.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod faults;
mod object;
mod pressure;
pub mod redirect;
pub mod service;
pub mod stages;

use crosstalk_core::scene::Observer;

/// What can watch an attempt, whatever runs.
pub fn observers() -> Vec<Box<dyn Observer>> {
    vec![Box::new(pressure::Pressure), Box::new(faults::Faults)]
}
