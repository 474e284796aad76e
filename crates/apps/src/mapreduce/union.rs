//! Joins sorted streams without common keys into one, many records at a time.
//!
//! Records are decoded stream by stream and sorted together. That profits from their order (a merge sort of
//! runs), and takes less time a record than a heap of the streams' next keys.

use crosstalk_core::Fault;
use std::collections::VecDeque;

use super::merge::Stream;
use crate::spill::Disk;

/// The records of several sorted streams, in order.
pub struct Union<'a, K, V> {
    sources: Vec<Source<'a, K, V>>,
    /// The next records of all streams, sorted.
    ready: VecDeque<(K, V)>,
    /// Records that are read of a stream at a time.
    batch: usize,
}

struct Source<'a, K, V> {
    stream: Stream<'a, K, V>,
    pending: VecDeque<(K, V)>,
    ended: bool,
}

impl<'a, K: Ord, V> Union<'a, K, V> {
    /// Joins these streams, each in the order of its keys, of which no two are equal. Reads `batch` records of
    /// each at a time.
    pub fn new(streams: Vec<Stream<'a, K, V>>, batch: usize) -> Self {
        let source = |stream| Source { stream, pending: VecDeque::new(), ended: false };
        Union {
            sources: streams.into_iter().map(source).collect(),
            ready: VecDeque::new(),
            batch: batch.max(1),
        }
    }

    /// The next record; `None` after the last.
    pub fn next(&mut self, disk: &mut dyn Disk) -> Option<Result<(K, V), Fault>> {
        if let [only] = self.sources.as_mut_slice() {
            return (only.stream)(disk);
        }
        if self.ready.is_empty()
            && let Err(fault) = self.refill(disk)
        {
            return Some(Err(fault));
        }
        self.ready.pop_front().map(Ok)
    }

    /// Reads on, and moves all records that precede whatever is not read yet.
    fn refill(&mut self, disk: &mut dyn Disk) -> Result<(), Fault> {
        for source in &mut self.sources {
            while !source.ended && source.pending.len() < self.batch {
                match (source.stream)(disk) {
                    Some(record) => source.pending.push_back(record?),
                    None => source.ended = true,
                }
            }
        }
        let last = |source: &Source<'a, K, V>| source.pending.len() - 1;
        let open = self.sources.iter().filter(|source| !source.ended);
        let bound = open.map(|source| &source.pending[last(source)].0).min();
        let before = |source: &Source<'a, K, V>| match bound {
            Some(bound) => source.pending.partition_point(|(key, _)| key <= bound),
            None => source.pending.len(),
        };
        let counts: Vec<usize> = self.sources.iter().map(before).collect();
        for (source, count) in self.sources.iter_mut().zip(counts) {
            self.ready.extend(source.pending.drain(..count));
        }
        self.ready.make_contiguous().sort_by(|a, b| a.0.cmp(&b.0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::runs::held;
    use crate::spill::Unmetered;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_records_come_in_order_whatever_the_batch(
            keys in proptest::collection::btree_map(any::<u16>(), 0..5_usize, 0..200), batch in 1_usize..40,
        ) {
            let of = |stream| keys.iter().filter(move |(_, at)| **at == stream).map(|(key, at)| (*key, *at)).collect();
            let mut union = Union::new((0..5).map(|stream| held(of(stream))).collect(), batch);
            let found: Vec<(u16, usize)> =
                std::iter::from_fn(|| union.next(&mut Unmetered)).map(|record| record.expect("reads")).collect();
            prop_assert!(found.into_iter().eq(keys));
            prop_assert!(union.next(&mut Unmetered).is_none());
        }
    }

    #[test]
    fn a_stream_that_fails_fails_the_whole() {
        let torn: Stream<u8, u8> = Box::new(|_| Some(Err(Fault::attempt("torn"))));
        let mut union = Union::new(vec![held(vec![(1, 1)]), torn], 4);
        assert!(union.next(&mut Unmetered).is_some_and(|record| record.is_err()));
    }
}
