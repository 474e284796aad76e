//! The cost of a disk access. A seek waits for the head and the rotation; a
//! sequential access does not. Every byte takes its time. Reading B consecutive
//! bytes takes latency + B / rate, in any number of blocks. Reading ahead while
//! the CPU computes is not modelled.

use crosstalk_core::system::Disk;
use crosstalk_core::units::Seconds;

use crate::time::VirtualTime;

/// Bits per byte.
const BITS: f64 = 8.0;

/// Where a disk access begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Elsewhere: the head moves.
    Seek,
    /// Where the last access ended.
    Sequential,
}

/// How long it takes to move `bytes` to or from `disk`.
pub fn disk_time(disk: &Disk, access: Access, bytes: u64) -> VirtualTime {
    let latency = match access {
        Access::Seek => disk.latency.into(),
        Access::Sequential => VirtualTime::ZERO,
    };
    latency + VirtualTime::product(bytes, Seconds(BITS / disk.rate.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::BitRate;
    use proptest::prelude::*;

    const DISK: Disk = Disk { rate: BitRate(8e8), latency: Seconds(0.01) };

    #[test]
    fn a_run_takes_one_latency_and_its_bytes() {
        // 100 MB/s: 10 ns a byte.
        assert_eq!(disk_time(&DISK, Access::Seek, 1_000_000), VirtualTime::from_seconds(0.02));
        assert_eq!(disk_time(&DISK, Access::Sequential, 1_000_000), VirtualTime::from_seconds(0.01));
        assert_eq!(disk_time(&DISK, Access::Sequential, 0), VirtualTime::ZERO);
    }

    proptest! {
        #[test]
        fn blocks_do_not_matter(blocks in proptest::collection::vec(1_u64..1 << 24, 1..50)) {
            let whole = disk_time(&DISK, Access::Seek, blocks.iter().sum());
            let mut access = Access::Seek;
            let mut sum = VirtualTime::ZERO;
            for block in &blocks {
                sum += disk_time(&DISK, access, *block);
                access = Access::Sequential;
            }
            prop_assert!(sum.0.abs_diff(whole.0) <= blocks.len() as u64);
        }
    }
}
