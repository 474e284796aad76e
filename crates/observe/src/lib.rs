//! Programs that the kernel runs for us: they see what it does meanwhile, from its
//! tracepoints ([`stages`]), and hand frames past its protocols ([`redirect`]).
//!
//! The programs that the kernel runs are in `bpf/`, in C, and are compiled when this
//! crate is (by clang); the kernel's types are found by name when they are loaded, so
//! that they suit any kernel that carries its types (`/sys/kernel/btf/vmlinux`).
//! Nothing outlives the process that attached it: programs and maps belong to its file
//! descriptors.

mod object;
pub mod redirect;
pub mod service;
pub mod stages;
