//! The time of a load that depends on the one before it, against the size of the working set and its
//! memory node.
//!
//! The working set is a ring of cache lines in random order (one cycle through all, Sattolo 1986).
//! Each line holds the place of the next, so that nothing can be prefetched. Each ring is new memory
//! on its node, in huge pages if the kernel has them, so that memory is timed and not the
//! translation of addresses.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `load_time` | s | one load: the median of batches; labels `size`, `node` |
//! | `huge_pages` | ratio | share of the memory in huge pages, where the kernel reports it |
//! | `own_overhead` | s | what timing a batch adds to one load |

mod measure;
mod ring;
mod spec;
mod workload;

pub use spec::Spec;
pub use workload::MEMORY;
