//! What a node's memory does not hold, on its disk: in files without a name
//! from the moment they are made, which the kernel frees when they are closed,
//! so that nothing is left behind however the node ends.
//!
//! | file | holds |
//! |---|---|
//! | `scratch` | where files are, where the disk's head stands, and what was moved |
//! | `file` | a file, whose every access the node's [`Disk`] accounts for |
//! | `numbers` | a list of numbers in such a file |

use crosstalk_comm::{Access, Rank};
use crosstalk_core::Fault;

mod file;
mod numbers;
mod scratch;

pub use file::SpillFile;
pub use numbers::Numbers;
pub use scratch::{Moved, Scratch};

/// A node's disk: who accounts for what is moved to it and back.
pub trait Disk {
    /// Does `work`, which moves `bytes`.
    ///
    /// # Errors
    /// An attempt fault where there is no disk; or `work`'s.
    fn access(
        &mut self,
        access: Access,
        bytes: u64,
        work: &mut dyn FnMut() -> Result<(), Fault>,
    ) -> Result<(), Fault>;
}

impl Disk for Rank<'_> {
    fn access(
        &mut self,
        access: Access,
        bytes: u64,
        work: &mut dyn FnMut() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.spill(access, bytes, work)
    }
}

/// A disk that nobody accounts for: a program's own, told by the wall clock.
pub struct Unmetered;

impl Disk for Unmetered {
    fn access(
        &mut self,
        _: Access,
        _: u64,
        work: &mut dyn FnMut() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        work()
    }
}

#[cfg(test)]
pub mod mock {
    //! A disk that tells what was asked of it.

    use super::{Access, Disk, Fault};

    /// Every access with its bytes.
    #[derive(Default)]
    pub struct Told(pub Vec<(Access, u64)>);

    impl Told {
        /// Bytes moved, and how often the head moved.
        pub fn moved(&self) -> (u64, usize) {
            let bytes = self.0.iter().map(|(_, bytes)| bytes).sum();
            (bytes, self.0.iter().filter(|(access, _)| *access == Access::Seek).count())
        }
    }

    impl Disk for Told {
        fn access(
            &mut self,
            access: Access,
            bytes: u64,
            work: &mut dyn FnMut() -> Result<(), Fault>,
        ) -> Result<(), Fault> {
            self.0.push((access, bytes));
            work()
        }
    }
}
