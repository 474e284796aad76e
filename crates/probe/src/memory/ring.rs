//! The working set: a ring of cache lines in random order.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::pages::UntouchedMemory;
use crosstalk_stats::rng::Rng;

/// Bytes of a cache line on every machine this runs on.
pub const LINE_BYTES: usize = 64;
/// Places in a line: the ring is made of `u32`s.
const PLACES: usize = LINE_BYTES / size_of::<u32>();
/// A ring of cache lines in memory: each holds the place of the next one.
pub struct Ring {
    /// The lines.
    pub memory: UntouchedMemory,
    /// How many there are.
    pub lines: usize,
}

impl Ring {
    /// A ring of `size` bytes in random order.
    ///
    /// # Errors
    /// Where there is not enough memory.
    pub fn new(size: Bytes, rng: &mut Rng) -> Result<Self, Fault> {
        let lines = size.0 as usize / LINE_BYTES;
        let mut memory = UntouchedMemory::new(lines * PLACES).map_err(|fault| fault.of_parameter("size"))?;
        let mut order: Vec<u32> = (0..lines as u32).collect();
        for last in (1..lines).rev() {
            order.swap(last, rng.below(last));
        }
        for (line, next) in order.into_iter().enumerate() {
            memory[line * PLACES] = next * PLACES as u32;
        }
        Ok(Ring { memory, lines })
    }

    /// Does `loads` loads from the place `at`, and returns the place that they lead to.
    #[inline(never)]
    pub fn chase(&self, at: u32, loads: usize) -> u32 {
        let ring = &self.memory[..];
        let mut at = at;
        for _ in 0..loads {
            at = ring[at as usize];
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn a_ring_leads_through_every_line_and_back(lines in 2_usize..500, seed in any::<u64>()) {
            let ring = Ring::new(Bytes((lines * LINE_BYTES) as u64), &mut Rng::seeded(seed)).expect("fits");
            prop_assert_eq!(ring.memory.as_ptr() as usize % LINE_BYTES, 0);
            let mut seen = vec![false; lines];
            let mut at = 0;
            for _ in 0..lines {
                let line = at as usize / PLACES;
                prop_assert!(!seen[line], "came back early");
                seen[line] = true;
                at = ring.chase(at, 1);
            }
            prop_assert_eq!(at, 0);
        }
    }
}
