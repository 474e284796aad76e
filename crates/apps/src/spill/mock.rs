//! A disk that tells what was asked of it.

use crosstalk_comm::Access;
use crosstalk_core::Fault;

use super::disk::Disk;

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
