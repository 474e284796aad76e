//! The NAS Parallel Benchmarks, written from NASA's reports over `comm`: Bailey et al., "The NAS Parallel Benchmarks",
//! NAS report RNR-94-007 (1994); Bailey et al., "The NAS Parallel Benchmarks 2.0", NAS-95-020 (1995); Van der Wijngaart,
//! "NAS Parallel Benchmarks 2.4", NAS-02-007 (2002), for classes C and the sizes of W.
//!
//! A folder is a kernel. Each has a [`Kernel`], which says on how many ranks it runs, how many operations it counts, and
//! what it does.
//!
//! | file | holds |
//! |---|---|
//! | `kernel` | what a kernel is, and the table of all |
//! | `class` | the sizes of problems |
//! | `random` | the benchmarks' random numbers |
//! | `check` | results beside the official ones |
//! | `spec`, `workload` | the workload `npb` |
//! | `report` | what it reports of a run, and of a replay |
//! | `flow`, `adi` | what simulated applications share |
//! | `ep`, … | the kernels |
#![forbid(unsafe_code)]
#![allow(clippy::excessive_precision, reason = "official values keep all of their digits")]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod adi;
mod bt;
mod check;
mod class;
mod ep;
mod flow;
mod kernel;
mod random;
mod report;
mod sp;
mod spec;
mod workload;

use crosstalk_core::scene::Workload;

pub use check::Check;
pub use class::Class;
pub use kernel::{Kernel, Ranks, Timed};
pub use spec::Spec;
pub use workload::{NPB, run};

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(NPB)]
}
