//! The rule of a disk: an access that moves the head waits for seek and
//! rotation, one that goes on where the last one ended does not, and every byte
//! takes its time. So a run of B bytes takes latency + B / rate, in however
//! many blocks it is read. Reading ahead while the CPU computes is not modelled:
//! they take turns.

use crosstalk_core::system::Disk;
use crosstalk_core::units::Seconds;

use crate::time::VirtualTime;

/// Bits a byte.
const BITS: f64 = 8.0;

/// Where an access to a disk begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Elsewhere: the head moves.
    Seek,
    /// Where the last one ended.
    Onward,
}

/// What moving `bytes` to or from `disk` takes.
pub fn disk_time(disk: &Disk, access: Access, bytes: u64) -> VirtualTime {
    let latency = match access {
        Access::Seek => disk.latency.into(),
        Access::Onward => VirtualTime::ZERO,
    };
    latency + VirtualTime::times(bytes, Seconds(BITS / disk.rate.0))
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
        assert_eq!(disk_time(&DISK, Access::Onward, 1_000_000), VirtualTime::from_seconds(0.01));
        assert_eq!(disk_time(&DISK, Access::Onward, 0), VirtualTime::ZERO);
    }

    proptest! {
        #[test]
        fn blocks_do_not_matter(blocks in proptest::collection::vec(1_u64..1 << 24, 1..50)) {
            let whole = disk_time(&DISK, Access::Seek, blocks.iter().sum());
            let mut access = Access::Seek;
            let mut sum = VirtualTime::ZERO;
            for block in &blocks {
                sum += disk_time(&DISK, access, *block);
                access = Access::Onward;
            }
            prop_assert!(sum.0.abs_diff(whole.0) <= blocks.len() as u64);
        }
    }
}
