//! Data on a node's disk that its memory does not hold. The files have no name from the moment they are made,
//! so the kernel frees them when they are closed: nothing is left, however the node ends.
//!
//! | file | holds |
//! |---|---|
//! | `scratch` | the directory, the position of the disk's head, and the traffic |
//! | `disk` | the node's disk, which accounts for every access |
//! | `file` | a file, whose every access the node's [`Disk`] accounts for |
//! | `numbers` | a list of numbers in such a file |

mod disk;
mod file;
#[cfg(test)]
pub mod mock;
mod numbers;
mod scratch;

pub use disk::{Disk, Unmetered};
pub use file::SpillFile;
pub use numbers::Numbers;
pub use scratch::{Scratch, Traffic};
