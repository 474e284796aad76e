//! How a node's memory limit is divided among the buffers of a job.

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

/// The shortest buffer: longer than any two records.
const SHORTEST: usize = 1 << 10;
/// The longest buffer that is moved at once: a longer one would be no faster, as only the first byte waits.
const LONGEST: usize = 1 << 20;
/// Sorted runs that are merged at once, where memory allows.
const FAN_IN: usize = 16;
/// The share of the remaining memory for windows on the disk, and for other buffers.
const SIXTEENTH: usize = 16;

/// About the bytes of a decoded record: read, and being sorted.
const RECORD: usize = 128;

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
        let (limit, least) = (limit.0, least_memory(parts));
        if limit < least {
            return Err(Fault::attempt(format!(
                "a slave needs {least} B of buffers at least; its limit is {limit} B"
            ))
            .remedy("raise `memory_limit` or the node's memory"));
        }
        Ok(Memory { limit, held: 0, parts, peak: 0 })
    }

    /// Holds `bytes` of a segment, which takes at most [`Budget::segment_bytes`]; the buffers get less.
    pub fn hold(&mut self, bytes: u64) {
        self.held += bytes;
        self.peak = self.peak.max(self.held);
    }

    /// Releases what was held.
    pub fn release(&mut self, bytes: u64) {
        self.held -= bytes;
    }

    /// The budget of the remaining memory.
    pub fn budget(&self) -> Budget {
        Budget::new(self.limit.saturating_sub(self.held), self.parts)
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

    /// The memory of each of the spools that a job may have open: at most four, of which it reads two.
    pub fn spool_memory(self) -> Room {
        Room { buffer: self.left / 8, window: self.window_bytes(1) }
    }

    /// Bytes of the part of a table that is in memory at once: beside it are what it is read from, and buffers
    /// of what is left.
    pub fn segment_bytes(self) -> usize {
        self.left / 4
    }

    /// The memory for the list of each part that is shared, except its last block.
    pub fn shared_memory(self) -> Room {
        Room { buffer: self.left / SIXTEENTH / self.parts, window: self.window_bytes(self.parts) }
    }

    /// The memory for a list that is read beside the shared ones, except its last block.
    pub fn beside_memory(self) -> Room {
        Room { buffer: self.left / SIXTEENTH / 2, window: self.window_bytes(self.parts) }
    }

    /// Records that are read at a time of what was received from each part, and of the list beside it: in all of
    /// them about a thirty-second of the memory.
    pub fn batch(self) -> usize {
        (self.left / SIXTEENTH / 2 / (self.parts + 1) / RECORD).clamp(8, 256)
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
        fn a_segment_and_what_is_beside_it_stay_within_the_limit(parts in 1_usize..200, more in 0_u64..1 << 26) {
            let limit = least_memory(parts) + more;
            let mut memory = Memory::new(Bytes(limit), parts).expect("enough");
            let before = memory.budget();
            // Until the last segment is read: what was shared, and the list beside it.
            let shared = before.shared_memory().buffer + before.shared_memory().window + before.block_bytes();
            let beside = before.beside_memory().buffer + before.block_bytes();
            let batches = (parts + 1) * before.batch() * RECORD;
            let read = parts * shared + beside + before.beside_memory().window + batches;
            memory.hold(before.segment_bytes() as u64);
            let after = memory.budget();
            // Documents, and what was found for them so far, are read; what is found is written.
            let pass = 3 * after.spool_memory().buffer + 2 * after.spool_memory().window;
            prop_assert!((before.segment_bytes() + read + pass) as u64 <= limit);
            // Beside the last segment: pairs are listed, or vectors are written in two parts.
            let listed = after.combiner_bytes() + after.window_bytes(1);
            let last = pass + listed.max(after.spool_memory().buffer) + beside;
            prop_assert!((before.segment_bytes() + last) as u64 <= limit);
            // Test documents are labelled beside the vectors of the others. Only shared lists are read then.
            let decided = parts * shared + batches + pass + after.spool_memory().buffer;
            prop_assert!((before.segment_bytes() + decided) as u64 <= limit);
            memory.release(before.segment_bytes() as u64);
            prop_assert_eq!(memory.budget(), before);
            prop_assert_eq!(memory.peak, before.segment_bytes() as u64);
        }
    }

    #[test]
    fn a_limit_that_is_too_small_is_named_with_its_remedy() {
        let fault = Memory::new(Bytes(1000), 1).expect_err("too small");
        assert_eq!(fault.message, "a slave needs 262144 B of buffers at least; its limit is 1000 B");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("`memory_limit`")));
    }
}
