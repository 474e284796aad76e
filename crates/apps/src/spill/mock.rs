//! A disk that logs its accesses.

use crosstalk_comm::Access;
use crosstalk_core::Fault;

use super::disk::Disk;

/// A disk that records every access with its bytes, for tests.
#[derive(Default)]
pub struct AccessLog(pub Vec<(Access, u64)>);

impl AccessLog {
    /// Bytes that were moved, and the number of seeks.
    pub fn bytes_and_seeks(&self) -> (u64, usize) {
        let bytes = self.0.iter().map(|(_, bytes)| bytes).sum();
        (bytes, self.0.iter().filter(|(access, _)| *access == Access::Seek).count())
    }
}

impl Disk for AccessLog {
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
