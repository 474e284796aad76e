//! The time of MPI functions: one call of all ranks, against the size of its messages.
//!
//! The functions are those of the Intel MPI Benchmarks, but a call's time is not that of a loop over its number of calls: there
//! ranks drift apart, and calls overlap. Here every call begins at one time at all ranks, and takes until the last one
//! has returned from it (S. Hunold and A. Carpen-Amarie, "Reproducible MPI Benchmarking Is Still Not As Easy As You
//! Think", IEEE TPDS 27(12), 2016).
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `time` | s | from the common begin of a call to its end at the last rank; of pingpong half of it. In real time the median |
//! | `call_time` | s | the same of every call, in real time; in turn, of `pingpong` alone |
//! | `late_time` | s | where fewer than three calls began together: from the last rank's begin to the last rank's end |
//! | `transfer_rate` | B/s | bytes that a rank has sent and received in that time; of functions between neighbours |
//! | `late` | % | calls that some rank began more than 2 µs late: they are left out |
//! | `clock_error` | s | bound on the difference between two ranks' clocks when they were compared; 0 where they share one |

mod calls;
mod clocks;
mod emulated;
mod function;
mod loops;
mod own_core;
mod spec;
mod windowed;
mod windows;
mod workload;

pub use calls::bytes_held;
pub use function::Function;
pub use spec::{Spec, sweep};
pub use workload::{COLLECTIVE, run};
