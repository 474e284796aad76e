//! The NAS Parallel Benchmarks, written from NASA's reports over `comm`: Bailey et al., "The NAS Parallel Benchmarks",
//! NAS report RNR-94-007 (1994); Bailey et al., "The NAS Parallel Benchmarks 2.0", NAS-95-020 (1995); Van der Wijngaart,
//! "NAS Parallel Benchmarks 2.4", NAS-02-007 (2002), for classes C and the sizes of W.
//!
//! A folder is a kernel. Each has a [`Kernel`], which says on how many ranks it runs, how many operations it counts, and
//! what it does.
//!
//! | file | holds |
//! |---|---|
//! | `kernel` | what a kernel is |
//! | `table` | all kernels, by name |
//! | `class` | the sizes of problems |
//! | `random` | the benchmarks' random numbers |
//! | `share` | how things are divided among ranks |
//! | `check` | results beside the official ones |
//! | `spec`, `workload` | the workload `npb` |
//! | `report` | what it reports of a run, and of a replay |
//! | `ep`, `is`, `cg`, `mg`, `ft`, `lu`, `sp`, `bt` | the kernels |
//! | `flow` | what LU, SP and BT share |
//! | `adi` | what SP and BT share |
//! | `hpl` | the High-Performance Linpack benchmark |
#![forbid(unsafe_code)]
#![allow(clippy::excessive_precision, reason = "official values keep all of their digits")]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod adi;
mod bt;
mod cg;
mod check;
mod class;
mod ep;
mod flow;
mod ft;
pub mod hpl;
mod is;
mod kernel;
mod lu;
mod mg;
mod random;
mod report;
mod share;
mod sp;
mod spec;
mod table;
mod workload;

use crosstalk_core::scene::Workload;

pub use check::Check;
pub use class::Class;
pub use kernel::{Kernel, Ranks, Timed};
pub use spec::Spec;
pub use table::{KERNELS, find};
pub use workload::{NPB, run};

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(NPB), Box::new(hpl::HPL)]
}
