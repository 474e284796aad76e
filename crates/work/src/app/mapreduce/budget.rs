//! How a node's memory limit is shared out between what a job holds.

/// A share for each thing that grows with the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    limit: usize,
}

/// The smallest limit: below it, buffers would be shorter than some records.
pub const LEAST: u64 = 256 << 10;

impl Budget {
    /// Of `limit` bytes in all.
    pub fn new(limit: u64) -> Self {
        Budget { limit: usize::try_from(limit).unwrap_or(usize::MAX) }
    }

    /// For values by key on the map side.
    pub fn combiner(self) -> usize {
        self.limit / 4
    }

    /// For each of the three spools that a job may have open.
    pub fn spool(self) -> usize {
        self.limit / 8
    }

    /// For what goes out to each of `parts` in a round of shuffling.
    pub fn block(self, parts: usize) -> usize {
        (self.limit / 16 / parts).clamp(1 << 10, 1 << 20)
    }

    /// For what arrived from each of `parts`.
    pub fn arrived(self, parts: usize) -> usize {
        self.limit / 8 / parts
    }

    /// For reading each of `streams` sorted runs at once.
    pub fn window(self, streams: usize) -> usize {
        (self.limit / 16 / streams.max(1)).clamp(1 << 10, 1 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_together_stay_within_the_limit() {
        for parts in [1, 2, 6, 8] {
            let budget = Budget::new(8 << 20);
            let shuffling = parts * (2 * budget.block(parts) + budget.arrived(parts));
            let reading = 16 * budget.window(16);
            assert!(budget.combiner() + 3 * budget.spool() + shuffling + reading <= 8 << 20);
        }
    }
}
