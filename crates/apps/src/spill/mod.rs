//! What a node's memory does not hold, on its disk: in files without a name
//! from the moment they are made, which the kernel frees when they are closed,
//! so that nothing is left behind however the node ends.
//!
//! | file | holds |
//! |---|---|
//! | `scratch` | where files are, where the disk's head stands, and what was moved |
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
pub use scratch::{Moved, Scratch};
