//! A rank's part of the sort.

use std::ops::Range;

use crosstalk_comm::{Rank, ReduceOp};
use crosstalk_core::Fault;

use super::keys::make_keys;
use super::problem::{ITERATIONS, Problem, TESTED};

/// Bytes of a key in a message.
pub(super) const WIDTH: usize = 4;
/// The most buckets that a class has.
const MOST_BUCKETS: usize = 1 << 10;

/// A rank's keys, and what it knows of them after an iteration.
pub(super) struct Sorter {
    problem: Problem,
    id: usize,
    /// The keys that it begins each iteration with.
    keys: Vec<u32>,
    /// Indices of the test keys among those of all ranks.
    tests: [usize; TESTED],
    /// How many of its keys are in each bucket; then the test keys, zero at ranks that do not have them.
    own: Vec<i32>,
    /// The same, added up over all ranks.
    total: Vec<i32>,
    /// Its keys, bucket after bucket. On one rank they are what it has received, too, and are then there.
    grouped: Vec<u8>,
    /// The keys of its buckets, from each rank.
    pub(super) received: Vec<Vec<u8>>,
    /// The number of these keys up to each value, from `lowest` on.
    pub(super) up_to: Vec<u32>,
    /// The lowest value of its buckets.
    pub(super) lowest: u32,
    /// The number of keys at ranks with lower ones.
    before: u32,
}

impl Sorter {
    /// The part of `rank`. `tests` are indices of the test keys among those of all ranks.
    pub(super) fn new(problem: Problem, rank: &Rank, tests: [usize; TESTED]) -> Self {
        let count = (1 << problem.keys) / rank.size();
        let numbers = (1 << problem.buckets) + TESTED;
        Sorter {
            problem,
            id: rank.id(),
            keys: make_keys(rank.id(), count, problem.largest),
            tests,
            own: vec![0; numbers],
            total: vec![0; numbers],
            grouped: vec![0; WIDTH * count],
            received: vec![Vec::new(); rank.size()],
            up_to: Vec::new(),
            lowest: 0,
            before: 0,
        }
    }

    /// Ranks all keys once.
    pub(super) fn iterate(&mut self, iteration: usize, rank: &mut Rank) -> Result<(), Fault> {
        self.change_keys(iteration);
        self.group();
        self.total.copy_from_slice(&self.own);
        rank.world().allreduce(&mut self.total, ReduceOp::Sum)?;
        let ranges = divide(&self.total[..1 << self.problem.buckets], self.keys.len(), rank.size());
        self.exchange(&ranges, rank)?;
        self.count(&ranges[self.id]);
        Ok(())
    }

    /// The rank of test key `number` of this iteration, which is the number of lower keys; `None` at ranks that do not
    /// have its bucket.
    pub(super) fn rank_of_test_key(&self, number: usize) -> Option<u32> {
        let key = self.total[(1 << self.problem.buckets) + number] as u32;
        let index = key.checked_sub(self.lowest)? as usize;
        self.up_to.get(index)?;
        Some(self.before + index.checked_sub(1).map_or(0, |below| self.up_to[below]))
    }

    /// The keys of its buckets.
    pub(super) fn keys_received(&self) -> impl Iterator<Item = u32> {
        self.received.iter().flat_map(|part| part.as_chunks().0).map(|key| u32::from_le_bytes(*key))
    }

    /// Two keys of the first rank change in each iteration.
    fn change_keys(&mut self, iteration: usize) {
        if self.id == 0 {
            self.keys[iteration] = iteration as u32;
            self.keys[iteration + ITERATIONS] = (1 << self.problem.largest) - iteration as u32;
        }
    }

    /// Counts its keys by bucket, and groups them so.
    fn group(&mut self) {
        let (shift, buckets) = (self.shift(), 1 << self.problem.buckets);
        let sizes = bucket_sizes(&self.keys, shift);
        self.own[..buckets].iter_mut().zip(sizes).for_each(|(own, size)| *own = size as i32);
        let first = self.id * self.keys.len();
        for (own, test) in self.own[buckets..].iter_mut().zip(self.tests) {
            let key = test.checked_sub(first).and_then(|index| self.keys.get(index));
            *own = key.map_or(0, |key| *key as i32);
        }
        if self.grouped.is_empty() {
            self.grouped = std::mem::take(&mut self.received[0]);
        }
        group_keys(&self.keys, shift, &sizes, self.grouped.as_chunks_mut().0);
    }

    /// Sends each key to the rank of its bucket.
    fn exchange(&mut self, ranges: &[Range<usize>], rank: &mut Rank) -> Result<(), Fault> {
        let counts: Vec<i32> = ranges.iter().map(|range| self.own[range.clone()].iter().sum()).collect();
        // Messages have their length. Ranks still announce it, as in the reference, where it costs what it costs here.
        rank.world().alltoall(&counts)?;
        let mut parts = std::mem::take(&mut self.received);
        match parts.as_mut_slice() {
            [all] => std::mem::swap(all, &mut self.grouped),
            _ => rank.serialise(|| fill(&mut parts, &counts, &self.grouped)),
        }
        self.received = rank.world().alltoallv(parts)?;
        Ok(())
    }

    /// Counts the keys of its buckets up to each value.
    fn count(&mut self, range: &Range<usize>) {
        let shift = self.shift();
        self.lowest = (range.start << shift) as u32;
        self.before = self.total[..range.start].iter().sum::<i32>() as u32;
        self.up_to.clear();
        self.up_to.resize(range.len() << shift, 0);
        for part in &self.received {
            count_keys(part.as_chunks().0, self.lowest, &mut self.up_to);
        }
        let mut sum = 0;
        for count in &mut self.up_to {
            sum += *count;
            *count = sum;
        }
    }

    /// A key, shifted right by this, is its bucket.
    fn shift(&self) -> u32 {
        self.problem.largest - self.problem.buckets
    }
}

/// The number of keys in each bucket.
fn bucket_sizes(keys: &[u32], shift: u32) -> [u32; MOST_BUCKETS] {
    // Several tables: next to each other in time, equal buckets would wait for each other.
    const TABLES: usize = 4;
    let mut tables = [[0; MOST_BUCKETS]; TABLES];
    let (fours, rest) = keys.as_chunks::<TABLES>();
    for four in fours {
        for (table, key) in tables.iter_mut().zip(four) {
            table[(key >> shift) as usize % MOST_BUCKETS] += 1;
        }
    }
    let [mut sizes, others @ ..] = tables;
    rest.iter().for_each(|key| sizes[(key >> shift) as usize % MOST_BUCKETS] += 1);
    for other in others {
        sizes.iter_mut().zip(other).for_each(|(size, other)| *size += other);
    }
    sizes
}

/// Writes keys bucket after bucket, with these sizes.
fn group_keys(keys: &[u32], shift: u32, sizes: &[u32; MOST_BUCKETS], grouped: &mut [[u8; WIDTH]]) {
    let mut next = [0; MOST_BUCKETS];
    let mut first = 0;
    for (next, size) in next.iter_mut().zip(sizes) {
        *next = first;
        first += size;
    }
    for key in keys {
        let next = &mut next[(key >> shift) as usize % MOST_BUCKETS];
        grouped[*next as usize] = key.to_le_bytes();
        *next += 1;
    }
}

/// Adds each key to the count of its value.
fn count_keys(keys: &[[u8; WIDTH]], lowest: u32, counts: &mut [u32]) {
    for key in keys {
        counts[(u32::from_le_bytes(*key) - lowest) as usize] += 1;
    }
}

/// Divides buckets into a range for each rank: it ends as soon as it and those before have `share` keys for each rank.
/// Ranks that are left without buckets get none.
fn divide(sizes: &[i32], share: usize, ranks: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::with_capacity(ranks);
    let (mut first, mut keys) = (0, 0);
    for (bucket, size) in sizes.iter().enumerate() {
        keys += *size as usize;
        if keys >= (ranges.len() + 1) * share {
            ranges.push(first..bucket + 1);
            first = bucket + 1;
        }
    }
    ranges.resize(ranks, sizes.len()..sizes.len());
    ranges
}

/// Fills each rank's part with its keys. Parts keep their memory from one iteration to the next.
fn fill(parts: &mut [Vec<u8>], counts: &[i32], grouped: &[u8]) {
    let mut rest = grouped;
    for (part, count) in parts.iter_mut().zip(counts) {
        let (own, others) = rest.split_at(WIDTH * *count as usize);
        part.clear();
        part.extend_from_slice(own);
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_grouped_in_the_order_of_buckets_and_kept_in_order_within() {
        let keys = [70, 3, 129, 66, 1, 127, 64, 2];
        let sizes = bucket_sizes(&keys, 6);
        assert_eq!(sizes[..4], [3, 4, 1, 0]);
        let mut grouped = [[0; WIDTH]; 8];
        group_keys(&keys, 6, &sizes, &mut grouped);
        assert_eq!(grouped.map(u32::from_le_bytes), [3, 1, 2, 70, 66, 127, 64, 129]);
    }

    #[test]
    fn ranges_of_buckets_have_about_the_same_number_of_keys() {
        assert_eq!(divide(&[1, 3, 4, 4, 3, 1], 4, 4), [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(divide(&[5, 5, 5, 1], 4, 4), [0..1, 1..2, 2..3, 3..4]);
        // One bucket has the keys of all: a rank ends its range with it, and others follow bucket by bucket.
        assert_eq!(divide(&[0, 16, 0, 0], 4, 4), [0..2, 2..3, 3..4, 4..4]);
        assert_eq!(divide(&[16, 0], 16, 1).first(), Some(&(0..1)));
    }

    #[test]
    fn parts_follow_each_other_in_what_was_grouped() {
        let mut parts = vec![vec![9; 40], Vec::new(), vec![9]];
        fill(&mut parts, &[1, 0, 2], &[1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
        assert_eq!(parts, [vec![1; 4], vec![], vec![2, 2, 2, 2, 3, 3, 3, 3]]);
    }
}
