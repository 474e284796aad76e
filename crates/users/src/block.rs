//! The blocks that the disk tests write and read, of 1 KiB as AIM7's. Each block carries the stamp of its file and
//! its own number at both ends, so that a reader recognises a wrong or damaged one.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

/// Bytes of a block.
pub const BLOCK: usize = 1024;

/// Bytes of a number.
const NUMBER: usize = size_of::<u64>();

/// The blocks of a file of this size, if `work` of it is used: at least 1.
pub fn count(file_size: Bytes, work: f64) -> usize {
    ((file_size.0 as f64 * work / BLOCK as f64).round() as usize).max(1)
}

/// A buffer that takes on the contents of blocks.
pub struct Block([u8; BLOCK]);

impl Block {
    /// A buffer with what all blocks have in common.
    pub fn new() -> Self {
        let mut bytes = [0; BLOCK];
        bytes.iter_mut().zip((b' '..=b'~').cycle()).for_each(|(byte, sign)| *byte = sign);
        Block(bytes)
    }

    /// The contents of the block of this index, in a file of this stamp.
    pub fn stamped(&mut self, stamp: u64, index: usize) -> &[u8; BLOCK] {
        let number = stamp.wrapping_add(index as u64).to_ne_bytes();
        self.0[..NUMBER].copy_from_slice(&number);
        self.0[BLOCK - NUMBER..].copy_from_slice(&number);
        &self.0
    }

    /// Passes if `found` is the block of this index.
    ///
    /// # Errors
    /// An attempt fault if it is not.
    pub fn expect(&mut self, stamp: u64, index: usize, found: &[u8; BLOCK]) -> Result<(), Fault> {
        if self.stamped(stamp, index) == found {
            return Ok(());
        }
        Err(Fault::attempt(format!("block {index} was read as it was never written"))
            .remedy("check the disk and its file system (dmesg)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_is_noticed() {
        let (mut block, mut other) = (Block::new(), Block::new());
        let right = *block.stamped(7, 3);
        assert!(other.expect(7, 3, &right).is_ok());
        assert!(other.expect(7, 4, &right).is_err());
        for at in [0, 7, 8, 500, BLOCK - 9, BLOCK - 1] {
            let mut damaged = right;
            damaged[at] ^= 1;
            assert!(other.expect(7, 3, &damaged).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_file_has_at_least_one_block() {
        assert_eq!(count(Bytes(10 << 10), 1.0), 10);
        assert_eq!(count(Bytes(10 << 10), 0.25), 3);
        assert_eq!(count(Bytes(10 << 10), 0.001), 1);
    }
}
