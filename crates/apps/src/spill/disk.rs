//! The node's disk.

use crosstalk_comm::{Access, Rank};
use crosstalk_core::Fault;

/// A node's disk that accounts for the time of every access.
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

/// A disk without an account, for programs whose time is the wall clock's.
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
