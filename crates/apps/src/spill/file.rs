//! A file on a node's disk: written at its end, read anywhere.

use crosstalk_core::Fault;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::disk::Disk;
use super::scratch::{Direction, Scratch};

/// A file on a node's disk for data that exceed its memory.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    scratch: Scratch,
    /// Its number among the node's files.
    number: u64,
    length: Cell<u64>,
}

impl SpillFile {
    /// An empty file in `scratch`.
    ///
    /// # Errors
    /// An attempt fault where no file can be made.
    pub fn new(scratch: &Scratch) -> Result<Self, Fault> {
        let (file, number) = scratch.file()?;
        Ok(SpillFile { file, scratch: scratch.clone(), number, length: Cell::new(0) })
    }

    /// The file's length in bytes.
    pub fn length(&self) -> u64 {
        self.length.get()
    }

    /// Adds `bytes` at the end.
    ///
    /// # Errors
    /// An attempt fault where they cannot be written: no space is left.
    pub fn append(&self, disk: &mut dyn Disk, bytes: &[u8]) -> Result<(), Fault> {
        self.append_with(disk, bytes.len() as u64, |file, at| file.write_all_at(bytes, at))
    }

    /// Fills `into` from byte `at` on.
    ///
    /// # Errors
    /// An attempt fault where it cannot be read.
    pub fn read(&self, disk: &mut dyn Disk, at: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.read_with(disk, at, into.len() as u64, |file, at| file.read_exact_at(into, at))
    }

    /// Lets `work` write `bytes` from a byte on, in one access.
    pub(super) fn append_with(
        &self,
        disk: &mut dyn Disk,
        bytes: u64,
        work: impl FnMut(&File, u64) -> io::Result<()>,
    ) -> Result<(), Fault> {
        self.access(disk, Direction::Write, self.length(), bytes, work)?;
        self.length.set(self.length() + bytes);
        Ok(())
    }

    /// Lets `work` read `bytes` from a byte on, in one access.
    pub(super) fn read_with(
        &self,
        disk: &mut dyn Disk,
        at: u64,
        bytes: u64,
        work: impl FnMut(&File, u64) -> io::Result<()>,
    ) -> Result<(), Fault> {
        self.access(disk, Direction::Read, at, bytes, work)
    }

    fn access(
        &self,
        disk: &mut dyn Disk,
        direction: Direction,
        at: u64,
        bytes: u64,
        mut work: impl FnMut(&File, u64) -> io::Result<()>,
    ) -> Result<(), Fault> {
        let what = if direction == Direction::Write { "spill" } else { "read back what was spilled" };
        let access = self.scratch.begin(self.number, at);
        disk.access(access, bytes, &mut || {
            work(&self.file, at).map_err(|error| self.scratch.fault(what, &error))
        })?;
        self.scratch.ended(access, direction, self.number, at, bytes);
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::spill::mock::AccessLog;
    use crosstalk_comm::Access::{Seek, Sequential};

    /// A file on a full disk (full(4)).
    pub fn full() -> SpillFile {
        let file = File::options().read(true).write(true).open("/dev/full").expect("Linux has it");
        SpillFile { file, scratch: Scratch::temporary(), number: 0, length: Cell::new(0) }
    }

    #[test]
    fn one_head_serves_all_files() {
        let (scratch, mut disk) = (Scratch::temporary(), AccessLog::default());
        let [a, b] = [(); 2].map(|()| SpillFile::new(&scratch).expect("a file"));
        a.append(&mut disk, b"abc").expect("room");
        a.append(&mut disk, b"de").expect("room");
        b.append(&mut disk, b"f").expect("room");
        a.append(&mut disk, b"gh").expect("room");
        let mut found = [0; 4];
        a.read(&mut disk, 1, &mut found).expect("reads");
        assert_eq!(&found, b"bcde");
        a.read(&mut disk, 5, &mut found[..2]).expect("reads");
        assert_eq!(&found[..2], b"gh");
        assert_eq!(disk.0, [(Seek, 3), (Sequential, 2), (Seek, 1), (Seek, 2), (Seek, 4), (Sequential, 2)]);
        let moved = scratch.traffic();
        assert_eq!((moved.written, moved.writes, moved.read, moved.seeks), (8, 4, 6, 4));
        assert_eq!((a.length(), b.length()), (7, 1));
    }

    #[test]
    fn a_full_disk_is_a_fault_with_its_remedy() {
        let file = full();
        let fault = file.append(&mut AccessLog::default(), &[1]).expect_err("no space");
        assert_eq!(fault.kind, crosstalk_core::FaultKind::Attempt);
        assert!(fault.message.starts_with("cannot spill: No space left on device"), "{fault}");
        assert!(fault.remedy.as_deref().is_some_and(|remedy| remedy.contains("TMPDIR")), "{fault}");
        assert_eq!((file.length(), file.scratch.traffic().written), (0, 0));
    }
}
