//! What a node's memory does not hold: numbers in a file on its disk, without a
//! name from the moment it is made, so that nothing is left behind however the
//! node ends.

use crosstalk_comm::{Access, Rank};
use crosstalk_core::Fault;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bytes a number.
const NUMBER: usize = size_of::<u32>();

/// Numbers that are turned into bytes, or back, at a time.
const PIECE: usize = 16 << 10;

/// A node's disk: who accounts for what is moved to it and back.
pub trait Disk {
    /// Does `work`, which moves `bytes`.
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

/// Numbers on a disk.
pub struct Spilled {
    file: File,
    /// How many there are.
    length: u64,
    /// The number that the disk's head stands before, once it stands anywhere.
    head: Option<u64>,
    /// Bytes of a piece.
    piece: Vec<u8>,
}

impl Spilled {
    /// None yet, in the directory for temporary files.
    ///
    /// # Errors
    /// An attempt fault where no file can be made.
    pub fn new() -> Result<Self, Fault> {
        tempfile::tempfile().map(Spilled::on).map_err(|e| failed("make a file to spill to", &e))
    }

    fn on(file: File) -> Self {
        Spilled { file, length: 0, head: None, piece: vec![0; PIECE * NUMBER] }
    }

    /// Adds `numbers` at the end.
    ///
    /// # Errors
    /// An attempt fault where they cannot be written: no space is left.
    pub fn append(&mut self, disk: &mut dyn Disk, numbers: &[u32]) -> Result<(), Fault> {
        let at = self.length;
        self.access(disk, at, numbers.len(), |file, piece| {
            for some in numbers.chunks(PIECE) {
                let bytes = &mut piece[..some.len() * NUMBER];
                for (bytes, number) in bytes.as_chunks_mut::<NUMBER>().0.iter_mut().zip(some) {
                    *bytes = number.to_le_bytes();
                }
                file.write_all(bytes).map_err(|e| failed("spill", &e))?;
            }
            Ok(())
        })?;
        self.length += numbers.len() as u64;
        Ok(())
    }

    /// Reads as many numbers as `into` holds, from number `at` on.
    ///
    /// # Errors
    /// An attempt fault where they cannot be read.
    pub fn read(&mut self, disk: &mut dyn Disk, at: u64, into: &mut [u32]) -> Result<(), Fault> {
        self.access(disk, at, into.len(), |file, piece| {
            for some in into.chunks_mut(PIECE) {
                let bytes = &mut piece[..some.len() * NUMBER];
                file.read_exact(bytes).map_err(|e| failed("read back what was spilled", &e))?;
                for (number, bytes) in some.iter_mut().zip(bytes.as_chunks::<NUMBER>().0) {
                    *number = u32::from_le_bytes(*bytes);
                }
            }
            Ok(())
        })
    }

    /// Moves `count` numbers from number `at` on.
    fn access(
        &mut self,
        disk: &mut dyn Disk,
        at: u64,
        count: usize,
        mut work: impl FnMut(&mut File, &mut [u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (onward, start) = (self.head == Some(at), at * NUMBER as u64);
        let access = if onward { Access::Onward } else { Access::Seek };
        self.head = None;
        disk.access(access, (count * NUMBER) as u64, &mut || {
            if !onward {
                self.file.seek(SeekFrom::Start(start)).map_err(|e| failed("find what was spilled", &e))?;
            }
            work(&mut self.file, &mut self.piece)
        })?;
        self.head = Some(at + count as u64);
        Ok(())
    }
}

fn failed(what: &str, error: &io::Error) -> Fault {
    let fault =
        Fault::attempt(format!("cannot {what}: {error}")).at(std::env::temp_dir().display().to_string());
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            fault.remedy("free space there, or let TMPDIR name another directory")
        }
        _ => fault.remedy("let TMPDIR name a directory that can be written to"),
    }
}

#[cfg(test)]
pub mod mock {
    //! A disk that tells what was asked of it.

    use super::{Access, Disk, Fault};

    /// Every access with its bytes.
    #[derive(Default)]
    pub struct Told(pub Vec<(Access, u64)>);

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

#[cfg(test)]
mod tests {
    use super::mock::Told;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        #[test]
        fn what_is_spilled_comes_back(
            runs in proptest::collection::vec(0_usize..3 * PIECE, 1..4), from in 0.0..1.0_f64,
        ) {
            let numbers: Vec<u32> = (0..runs.iter().sum::<usize>() as u32).map(|n| n.wrapping_mul(77_777)).collect();
            let (mut spilled, mut disk) = (Spilled::new().expect("a file"), Told::default());
            let mut rest = &numbers[..];
            for run in runs {
                let (now, later) = rest.split_at(run);
                spilled.append(&mut disk, now).expect("room");
                rest = later;
            }
            let begin = (from * numbers.len() as f64) as usize;
            let mut found = vec![0; numbers.len() - begin];
            spilled.read(&mut disk, begin as u64, &mut found).expect("reads");
            prop_assert_eq!(&found, &numbers[begin..]);
        }
    }

    #[test]
    fn the_head_moves_only_where_the_last_access_did_not_end() {
        let (mut spilled, mut disk) = (Spilled::new().expect("a file"), Told::default());
        spilled.append(&mut disk, &[1, 2]).expect("room");
        spilled.append(&mut disk, &[3]).expect("room");
        let mut one = [0];
        for at in [0, 1, 0] {
            spilled.read(&mut disk, at, &mut one).expect("reads");
            assert_eq!(u64::from(one[0]), at + 1);
        }
        use Access::{Onward, Seek};
        assert_eq!(disk.0, [(Seek, 8), (Onward, 4), (Seek, 4), (Onward, 4), (Seek, 4)]);
    }

    #[test]
    fn a_full_disk_is_a_fault_with_its_remedy() {
        // Whatever is written to it, Linux says that no space is left (full(4)).
        let full = File::options().read(true).write(true).open("/dev/full").expect("Linux has it");
        let fault = Spilled::on(full).append(&mut Told::default(), &[1]).expect_err("no space");
        assert_eq!(fault.kind, crosstalk_core::FaultKind::Attempt);
        assert!(fault.message.starts_with("cannot spill: No space left on device"), "{fault}");
        assert!(fault.remedy.as_deref().is_some_and(|remedy| remedy.contains("TMPDIR")), "{fault}");
    }

    #[test]
    fn what_was_never_spilled_cannot_be_read() {
        let mut spilled = Spilled::new().expect("a file");
        let fault = spilled.read(&mut Told::default(), 5, &mut [0]).expect_err("nothing there");
        assert!(fault.message.starts_with("cannot read back what was spilled"), "{fault}");
    }
}
