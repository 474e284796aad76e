//! The time that a core takes to hand a cache line to another one.
//!
//! Two threads, each pinned to a core, toggle one flag in turn: each waits until the other has
//! toggled it, and toggles it back by compare-and-swap. Half of a round is one hand-over.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `hand_over` | s | from one core to the other: the median of batches of rounds; labels `from`, `to` |
//! | `own_overhead` | s | what timing a batch adds to one hand-over |

mod measure;
mod spec;
mod workload;

pub use spec::Spec;
pub use workload::CORES;
