//! MapReduce over ranks: map and combine in memory, sort and spill past a
//! limit, shuffle between all, merge and reduce.
//!
//! After J. Dean, S. Ghemawat: *MapReduce*, OSDI 2004; runs are sorted, spilled
//! and merged as Hadoop's are. The files in the order of a job:
//!
//! | file | holds |
//! |---|---|
//! | `cluster` | what a job needs of the nodes that run it |
//! | `record`, `word` | keys and values, and how they travel |
//! | `budget` | how the memory limit is shared out |
//! | `spool` | a queue of which memory holds the end |
//! | `combine`, `list`, `radix` | the map side: a table for words, a sorted list for numbers |
//! | `runs` | what the map side hands on: sorted runs on disk, the rest in memory |
//! | `merge` | many sorted streams into one |
//! | `shuffle` | every key to its owner, and the reduce side |

pub mod budget;
pub mod cluster;
pub mod combine;
pub mod list;
mod merge;
mod radix;
pub mod record;
pub mod runs;
pub mod shuffle;
pub mod spool;
pub mod word;
