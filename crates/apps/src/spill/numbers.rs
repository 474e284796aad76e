//! Numbers on a node's disk.

use crosstalk_core::Fault;
use std::os::unix::fs::FileExt;

use super::disk::Disk;
use super::file::SpillFile;
use super::scratch::Scratch;

/// Bytes per number.
const NUMBER: usize = size_of::<u32>();

/// Numbers that are converted at a time.
const PIECE: usize = 16 << 10;

/// A list of numbers in a file on a disk.
pub struct Numbers {
    file: SpillFile,
    /// Bytes of a piece.
    piece: Vec<u8>,
}

impl Numbers {
    /// An empty list.
    ///
    /// # Errors
    /// An attempt fault where no file can be made.
    pub fn new(scratch: &Scratch) -> Result<Self, Fault> {
        SpillFile::new(scratch).map(Numbers::on)
    }

    fn on(file: SpillFile) -> Self {
        Numbers { file, piece: vec![0; PIECE * NUMBER] }
    }

    /// Adds `numbers` at the end.
    ///
    /// # Errors
    /// An attempt fault where they cannot be written: no space is left.
    pub fn append(&mut self, disk: &mut dyn Disk, numbers: &[u32]) -> Result<(), Fault> {
        let piece = &mut self.piece;
        self.file.append_with(disk, size_of_val(numbers) as u64, |file, mut at| {
            for some in numbers.chunks(PIECE) {
                let bytes = &mut piece[..size_of_val(some)];
                for (bytes, number) in bytes.as_chunks_mut::<NUMBER>().0.iter_mut().zip(some) {
                    *bytes = number.to_le_bytes();
                }
                file.write_all_at(bytes, at)?;
                at += bytes.len() as u64;
            }
            Ok(())
        })
    }

    /// Reads as many numbers as `into` holds, from number `at` on.
    ///
    /// # Errors
    /// An attempt fault where they cannot be read.
    pub fn read(&mut self, disk: &mut dyn Disk, at: u64, into: &mut [u32]) -> Result<(), Fault> {
        let (piece, bytes) = (&mut self.piece, size_of_val(into) as u64);
        self.file.read_with(disk, at * NUMBER as u64, bytes, |file, mut at| {
            for some in into.chunks_mut(PIECE) {
                let bytes = &mut piece[..size_of_val(some)];
                file.read_exact_at(bytes, at)?;
                at += bytes.len() as u64;
                for (number, bytes) in some.iter_mut().zip(bytes.as_chunks::<NUMBER>().0) {
                    *number = u32::from_le_bytes(*bytes);
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::file::tests::full;
    use crate::spill::mock::AccessLog;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        #[test]
        fn what_is_spilled_comes_back(
            runs in proptest::collection::vec(0_usize..3 * PIECE, 1..4), from in 0.0..1.0_f64,
        ) {
            let numbers: Vec<u32> = (0..runs.iter().sum::<usize>() as u32).map(|n| n.wrapping_mul(77_777)).collect();
            let (mut spilled, mut disk) = (Numbers::new(&Scratch::temporary()).expect("a file"), AccessLog::default());
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
        let (mut spilled, mut disk) =
            (Numbers::new(&Scratch::temporary()).expect("a file"), AccessLog::default());
        spilled.append(&mut disk, &[1, 2]).expect("room");
        spilled.append(&mut disk, &[3]).expect("room");
        let mut one = [0];
        for at in [0, 1, 0] {
            spilled.read(&mut disk, at, &mut one).expect("reads");
            assert_eq!(u64::from(one[0]), at + 1);
        }
        use crosstalk_comm::Access::{Seek, Sequential};
        assert_eq!(disk.0, [(Seek, 8), (Sequential, 4), (Seek, 4), (Sequential, 4), (Seek, 4)]);
    }

    #[test]
    fn a_full_disk_is_a_fault() {
        let fault = Numbers::on(full()).append(&mut AccessLog::default(), &[1]).expect_err("no space");
        assert!(fault.message.starts_with("cannot spill: No space left on device"), "{fault}");
    }

    #[test]
    fn what_was_never_spilled_cannot_be_read() {
        let mut spilled = Numbers::new(&Scratch::temporary()).expect("a file");
        let fault = spilled.read(&mut AccessLog::default(), 5, &mut [0]).expect_err("nothing there");
        assert!(fault.message.starts_with("cannot read back what was spilled"), "{fault}");
    }
}
