//! MapReduce over ranks: map and combine in memory, sort and spill past a
//! limit, shuffle between all, merge and reduce.
//!
//! After J. Dean, S. Ghemawat: *MapReduce*, OSDI 2004; runs are sorted, spilled
//! and merged as Hadoop's are. The files in the order of a job:
//!
//! | file | holds |
//! |---|---|
//! | `cluster` | the nodes that run a job |
//! | `record`, `word` | keys and values, and their encoding |
//! | `budget` | how the memory limit is divided |
//! | `spool` | a queue whose end is in memory, the rest on disk |
//! | `combine`, `list`, `radix` | the map side: a table for words, a sorted list for numbers |
//! | `runs` | the map side's output: sorted runs on disk, the rest in memory |
//! | `merge` | merges sorted streams |
//! | `shuffle` | sends every key to its owner; the reduce side |
//! | `sorted`, `share` | a sorted list, and how every part gets those of all |
//! | `union` | joins these lists |

pub mod budget;
pub mod cluster;
pub mod combine;
pub mod list;
pub mod merge;
mod radix;
pub mod record;
pub mod runs;
pub mod share;
pub mod shuffle;
pub mod sorted;
pub mod spool;
pub mod union;
pub mod word;
