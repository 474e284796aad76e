//! How a node's memory limit is divided among the buffers of a job.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

/// The shortest buffer: longer than any two records.
const SHORTEST: usize = 1 << 10;
/// The longest buffer that is moved at once: a longer one would be no faster, as only the first byte waits.
const LONGEST: usize = 1 << 20;
/// SortedRecords runs that are merged at once, where memory allows.
const FAN_IN: usize = 16;
/// The share of the remaining memory for windows on the disk, and for other buffers.
const SIXTEENTH: usize = 16;

/// The least memory for buffers on each of `parts` nodes: three streams for each part, each with the shortest
/// window.
pub fn least_memory(parts: usize) -> u64 {
    (3 * parts * SHORTEST * SIXTEENTH).max(256 << 10) as u64
}

/// A node's memory for a job: the limit, and what is held for longer than the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    limit: u64,
    held: u64,
    parts: usize,
    /// The most that was held so far.
    pub peak: u64,
}

impl Memory {
    /// A memory of `limit` bytes, on each of `parts` nodes.
    ///
    /// # Errors
    /// An attempt fault where that is too little for any buffers.
    pub fn new(limit: Bytes, parts: usize) -> Result<Self, Fault> {
        let mut memory = Memory { limit: limit.0, held: 0, parts, peak: 0 };
        memory.hold("nothing yet", 0)?;
        Ok(memory)
    }

    /// Holds `bytes` for `what`; the buffers get less.
    ///
    /// # Errors
    /// An attempt fault where too little is left for buffers.
    pub fn hold(&mut self, what: &str, bytes: u64) -> Result<(), Fault> {
        let (held, least) = (self.held + bytes, least_memory(self.parts));
        if self.limit < held.saturating_add(least) {
            return Err(Fault::attempt(format!(
                "a slave holds {what}, {held} B, and needs {least} B of buffers at least; its limit is {} B",
                self.limit
            ))
            .remedy(
                "raise `memory_limit` or the node's memory, or hold less: see `min_support` and `ngrams`",
            ));
        }
        (self.held, self.peak) = (held, self.peak.max(held));
        Ok(())
    }

    /// Releases what was held.
    pub fn release(&mut self, bytes: u64) {
        self.held -= bytes;
    }

    /// The budget of the remaining memory.
    pub fn budget(&self) -> Budget {
        Budget::new(self.limit - self.held, self.parts)
    }
}

/// How a job's memory is divided among its buffers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    left: usize,
    parts: usize,
}

/// The memory that a spool may use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// For the last strings.
    pub buffer: usize,
    /// For reading spilled strings.
    pub window: usize,
}

impl Budget {
    /// The budget of `left` bytes on each of `parts` nodes.
    pub fn new(left: u64, parts: usize) -> Self {
        Budget { left: usize::try_from(left).unwrap_or(usize::MAX), parts }
    }

    /// The number of nodes that run the job.
    pub fn parts(self) -> usize {
        self.parts
    }

    /// Bytes for the table that combines values by key on the map side.
    pub fn combiner_bytes(self) -> usize {
        self.left / 4
    }

    /// The memory of each of the three spools that a job may have open, of which it reads one.
    pub fn spool_memory(self) -> Room {
        Room { buffer: self.left / 8, window: self.window_bytes(1) }
    }

    /// Bytes of what is sent to each part in a round of shuffling; as much is received.
    pub fn block_bytes(self) -> usize {
        self.window_bytes(self.parts)
    }

    /// The memory for what was received from each part. It is read while no sorted run is.
    pub fn received_memory(self) -> Room {
        Room { buffer: self.left / 8 / self.parts, window: self.window_bytes(self.parts) }
    }

    /// The number of sorted runs that are merged at once.
    pub fn fan_in(self) -> usize {
        (self.left / SIXTEENTH / SHORTEST / self.parts).saturating_sub(1).clamp(2, FAN_IN)
    }

    /// Bytes for reading each of `streams` sorted runs at once. Writing one takes as much as reading a single
    /// one, when no spool is read.
    pub fn window_bytes(self, streams: usize) -> usize {
        (self.left / SIXTEENTH / streams.max(1)).clamp(SHORTEST, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_shares_together_stay_within_the_limit(parts in 1_usize..200, more in 0_u64..1 << 26) {
            let limit = least_memory(parts) + more;
            let budget = Memory::new(Bytes(limit), parts).expect("enough").budget();
            let spools = 3 * budget.spool_memory().buffer;
            let reading = (budget.fan_in() + 1) * parts * budget.window_bytes((budget.fan_in() + 1) * parts);
            let blocks = 2 * parts * budget.block_bytes();
            let arrived = parts * budget.received_memory().buffer;
            // Map: spools, one of them read; the table; a run is written.
            let map = spools + budget.spool_memory().window + budget.combiner_bytes() + budget.window_bytes(1);
            prop_assert!(map as u64 <= limit);
            // Shuffle: what is left in memory of the table, and runs, are read.
            let shuffle = spools + budget.combiner_bytes() + reading + blocks + arrived;
            prop_assert!(shuffle as u64 <= limit);
            // Reduce: what was received is read.
            let reduce = spools + arrived + parts * budget.received_memory().window;
            prop_assert!(reduce as u64 <= limit);
        }

        #[test]
        fn what_is_held_is_taken_from_the_buffers_and_given_back(held in 0_u64..1 << 20) {
            let mut memory = Memory::new(Bytes(2 << 20), 1).expect("enough");
            let before = memory.budget();
            match memory.hold("a table", held) {
                Ok(()) => {
                    prop_assert_eq!(memory.budget(), Budget::new((2 << 20) - held, 1));
                    memory.release(held);
                    prop_assert_eq!(memory.peak, held);
                }
                Err(_) => prop_assert!(held > (2 << 20) - least_memory(1)),
            }
            prop_assert_eq!(memory.budget(), before);
        }
    }

    #[test]
    fn a_limit_that_is_too_small_is_named_with_its_remedy() {
        let fault = Memory::new(Bytes(1000), 1).expect_err("too small");
        assert!(fault.message.ends_with("262144 B of buffers at least; its limit is 1000 B"), "{fault}");
        let mut memory = Memory::new(Bytes(300_000), 1).expect("enough");
        let fault = memory.hold("the dictionary", 50_000).expect_err("too much");
        assert!(
            fault.message.starts_with("a slave holds the dictionary, 50000 B, and needs 262144 B"),
            "{fault}"
        );
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("`memory_limit`")));
    }
}
