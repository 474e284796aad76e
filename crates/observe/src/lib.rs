//! What the kernel does meanwhile, seen from its tracepoints.
//!
//! The programs that the kernel runs are in `bpf/`, in C, and are compiled when this
//! crate is (by clang); the kernel's types are found by name when they are loaded, so
//! that they suit any kernel that carries its types (`/sys/kernel/btf/vmlinux`).
//! Nothing outlives the process that attached it: programs and maps belong to its file
//! descriptors.

mod object;
pub mod service;
pub mod stages;
