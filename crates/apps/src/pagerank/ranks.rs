//! One part's ranks: what it gives to others, takes from them, and gathers.
//!
//! Between iterations a vertex is known by its *share*: its rank over its
//! out-degree, which is what every edge out of it carries.

use crosstalk_core::Fault;
use std::ops::Range;

use super::mass::Mass;
use super::name::Name;
use super::shard::Shard;
use crate::exchange::floats;
use crate::random::mix;

/// Bytes of a share in a message.
const SHARE: usize = size_of::<f64>();

/// The sums that tell whether rank was lost or made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// Over all vertices.
    pub all: Mass,
    /// Over the vertices that have an edge out: what flows on.
    pub flowing: Mass,
}

impl Balance {
    fn count(&mut self, rank: f64, out_degree: u32) {
        let mass = Mass::of(rank);
        self.all += mass;
        if out_degree > 0 {
            self.flowing += mass;
        }
    }

    /// Adds another part's.
    pub fn add(&mut self, other: &Balance) {
        self.all += other.all;
        self.flowing += other.flowing;
    }
}

/// The ranks of one part.
pub struct Ranks<'a> {
    shard: &'a Shard,
    reset: f64,
    /// Row → share.
    shares: Vec<f64>,
    /// Slot → share of its source.
    slots: Vec<f64>,
    /// Row → rank, 1 until the last iteration sets it.
    ranks: Vec<f64>,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
}

impl<'a> Ranks<'a> {
    /// Every rank is 1. All memory that the iterations use is written to here,
    /// because the kernel hands out pages at the first touch, and that is to be
    /// over before a clock starts.
    pub fn new(shard: &'a Shard, reset: f64) -> Self {
        Ranks {
            shard,
            reset,
            shares: shard.out_degree.iter().map(|degree| share(1.0, *degree)).collect(),
            slots: vec![1.0; shard.slots()],
            ranks: vec![1.0; shard.vertices()],
            spare: shard.messages().map(|rows| vec![1; rows.len() * size_of::<f64>()]).collect(),
        }
    }

    /// Where the ranks are.
    pub(super) fn shard(&self) -> &'a Shard {
        self.shard
    }

    /// The sums before the first iteration.
    pub fn balance(&self) -> Balance {
        let mut balance = Balance::default();
        self.shard.out_degree.iter().for_each(|degree| balance.count(1.0, *degree));
        balance
    }

    /// The shares that each other part wants of this one, as messages by part.
    /// Its own shares go into its slots at once.
    pub fn pack(&mut self) -> Vec<Vec<u8>> {
        let own = self.shard.part;
        let slots = &mut self.slots[self.shard.slots[own].clone()];
        for (slot, row) in slots.iter_mut().zip(&self.shard.supplies[own]) {
            *slot = self.shares[*row as usize];
        }
        let mut buffers = std::mem::take(&mut self.spare);
        for (buffer, rows) in buffers.iter_mut().zip(self.shard.messages()) {
            // Sized first, so that the loop looks up no capacity.
            buffer.resize(rows.len() * SHARE, 0);
            for (bytes, row) in buffer.as_chunks_mut::<SHARE>().0.iter_mut().zip(rows) {
                *bytes = self.shares[*row as usize].to_le_bytes();
            }
        }
        buffers
    }

    /// Takes the shares that the other parts packed for this one, by part.
    pub fn unpack(&mut self, arrived: Vec<Vec<u8>>) -> Result<(), Fault> {
        for (part, (buffer, range)) in arrived.iter().zip(&self.shard.slots).enumerate() {
            if part == self.shard.part {
                continue;
            }
            let shares = floats(buffer);
            if shares.len() != range.len() {
                return Err(Fault::attempt(format!(
                    "expected the shares of {} vertices of part {part}, found {}",
                    range.len(),
                    shares.len()
                )));
            }
            self.slots[range.clone()].iter_mut().zip(shares).for_each(|(slot, share)| *slot = share);
        }
        self.spare = arrived;
        Ok(())
    }

    /// One iteration of the rows whose edges are in memory, with what was packed
    /// and unpacked before. The last one leaves the shares as they were and sets
    /// the ranks.
    pub fn step(&mut self, last: bool) -> Balance {
        self.gather(self.shard.held(), self.shard.columns(), last)
    }

    /// The same of other rows, whose edges are `columns`.
    pub(super) fn gather(&mut self, rows: Range<usize>, columns: &[u32], last: bool) -> Balance {
        let mut balance = Balance::default();
        let degrees = &self.shard.out_degree[rows.clone()];
        let found = self.shard.gather(rows.clone(), columns, &self.slots, self.reset);
        let into = if last { &mut self.ranks[rows] } else { &mut self.shares[rows] };
        for ((entry, degree), rank) in into.iter_mut().zip(degrees).zip(found) {
            *entry = if last { rank } else { share(rank, *degree) };
            balance.count(rank, *degree);
        }
        balance
    }

    /// Multiplies every rank by `factor`.
    pub fn scale(&mut self, factor: f64) {
        self.ranks.iter_mut().for_each(|rank| *rank *= factor);
    }

    /// Place and rank of every vertex, after the last iteration.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.shard.rows.iter().zip(self.ranks.iter().copied())
    }

    /// Name and rank of every vertex, after the last iteration.
    pub fn named(&self) -> impl Iterator<Item = (Name<'a>, f64)> + '_ {
        self.iter().map(|(place, rank)| (self.shard.names.name(place), rank))
    }

    /// The rank of the vertex at `place`, after the last iteration.
    pub fn rank(&self, place: u32) -> Option<f64> {
        self.ranks.get(self.shard.rows.rank(place)? as usize).copied()
    }

    /// The share that the vertex at `place` gave in the last iteration.
    pub fn given(&self, place: u32) -> Option<f64> {
        self.shares.get(self.shard.rows.rank(place)? as usize).copied()
    }
}

/// What each of a vertex's edges carries; a vertex without edges out gives none.
fn share(rank: f64, out_degree: u32) -> f64 {
    rank / f64::from(out_degree.max(1))
}

/// A number that two answers share if and only if (but for one chance in 2^64)
/// every vertex has the same rank in both, bit by bit. Parts' numbers add up,
/// wrapping, to the whole's.
pub fn checksum<'a>(ranks: impl Iterator<Item = (Name<'a>, f64)>) -> u64 {
    ranks.fold(0, |sum, (name, rank)| sum.wrapping_add(mix(name.key() ^ mix(rank.to_bits()))))
}

/// The `count` highest ranks, descending; of equal ones the lowest labels.
pub fn top(ranks: impl Iterator<Item = (u32, f64)>, count: usize) -> Vec<(u32, f64)> {
    let mut best: Vec<(u32, f64)> = Vec::with_capacity(count + 1);
    for (label, rank) in ranks {
        if best.len() == count && best.last().is_some_and(|(_, least)| rank <= *least) {
            continue;
        }
        let place = best.partition_point(|(l, r)| *r > rank || *r == rank && *l < label);
        best.insert(place, (label, rank));
        best.truncate(count);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Exchange, mock::on_threads};
    use crate::pagerank::build::build;
    use crate::pagerank::edge::Edge;
    use crate::pagerank::partition::Partition;
    use crate::pagerank::reference;
    use crate::pagerank::source::{Extent, Source};
    use proptest::prelude::*;
    use std::io::Write;
    use tempfile::NamedTempFile;

    /// The ranks as `parts` parts find them, by label, and the last balance.
    fn distributed(
        source: &Source,
        extent: Extent,
        parts: usize,
        iterations: usize,
    ) -> (Vec<(u32, f64)>, Vec<Balance>) {
        let found = on_threads(parts, |exchange| {
            let partition = Partition::new(parts);
            let (shard, _) = build(source, extent, 9, exchange).expect("builds");
            let mut ranks = Ranks::new(&shard, 0.15);
            let mut balances = vec![ranks.balance()];
            for iteration in 1..=iterations {
                let packed = ranks.pack();
                let arrived = exchange.exchange(packed).expect("exchanged");
                ranks.unpack(arrived).expect("unpacked");
                balances.push(ranks.step(iteration == iterations));
            }
            let named: Vec<_> =
                ranks.iter().map(|(place, r)| (partition.label(exchange.part(), place), r)).collect();
            (named, balances)
        });
        let mut ranks = Vec::new();
        let mut balances = vec![Balance::default(); iterations + 1];
        for (part, partial) in found {
            ranks.extend(part);
            balances.iter_mut().zip(&partial).for_each(|(sum, b)| sum.add(b));
        }
        ranks.sort_by_key(|(label, _)| *label);
        (ranks, balances)
    }

    fn written(edges: &[Edge]) -> NamedTempFile {
        let mut file = NamedTempFile::new().expect("a temporary file");
        for edge in edges {
            writeln!(file, "{} {}", edge.source, edge.target).expect("written");
        }
        file
    }

    fn edges(pairs: &[(u32, u32)]) -> Vec<Edge> {
        pairs.iter().map(|&(source, target)| Edge { source, target }).collect()
    }

    fn of_file(pairs: &[(u32, u32)], parts: usize, iterations: usize) -> Vec<(u32, f64)> {
        let file = written(&edges(pairs));
        let source = Source::File(file.path().to_path_buf());
        distributed(&source, source.extent().expect("known"), parts, iterations).0
    }

    fn sum_of(ranks: &[(u32, f64)]) -> u64 {
        checksum(ranks.iter().map(|(label, rank)| (Name::Number(u64::from(*label)), *rank)))
    }

    #[test]
    fn a_ring_keeps_its_ranks() {
        for (_, rank) in of_file(&[(0, 1), (1, 2), (2, 3), (3, 0)], 3, 5) {
            assert!((rank - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn a_star_by_hand() {
        // Three leaves point at 9, which points nowhere: leaves get the reset
        // alone, and what 9 had is lost.
        let star = [(1, 9), (2, 9), (3, 9)];
        let once = of_file(&star, 2, 1);
        assert_eq!(once, [(1, 0.15), (2, 0.15), (3, 0.15), (9, 0.15 + 0.85 * 3.0)]);
        let twice = of_file(&star, 2, 2);
        assert!((twice[3].1 - (0.15 + 0.85 * 0.45)).abs() < 1e-15);
    }

    #[test]
    fn duplicate_edges_and_self_loops_count_one_by_one() {
        // 0 points twice at 1 and once at itself: a third of its rank an edge.
        let ranks = of_file(&[(0, 1), (0, 1), (0, 0)], 1, 1);
        assert!((ranks[0].1 - (0.15 + 0.85 / 3.0)).abs() < 1e-15);
        assert!((ranks[1].1 - (0.15 + 0.85 * 2.0 / 3.0)).abs() < 1e-15);
    }

    #[test]
    fn the_answer_is_the_same_bit_by_bit_for_any_number_of_parts() {
        let source = Source::Rmat(crate::pagerank::rmat::Rmat::new(11, 90, 4));
        let extent = source.extent().expect("known");
        let (alone, balances) = distributed(&source, extent, 1, 4);
        for parts in [2, 3, 6] {
            let (ranks, sums) = distributed(&source, extent, parts, 4);
            assert_eq!(ranks, alone);
            assert_eq!(sums, balances);
            assert_eq!(sum_of(&ranks), sum_of(&alone));
        }
        let mut spoiled = alone.clone();
        spoiled[7].1 = f64::from_bits(spoiled[7].1.to_bits() ^ 1);
        assert_ne!(sum_of(&spoiled), sum_of(&alone));
    }

    #[test]
    fn the_top_are_the_highest_in_order() {
        let ranks = [(0, 1.0), (1, 3.0), (2, 2.0), (3, 3.0), (4, 0.5)];
        assert_eq!(top(ranks.into_iter(), 3), [(1, 3.0), (3, 3.0), (2, 2.0)]);
        assert_eq!(top(ranks.into_iter(), 9).len(), 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn any_graph_agrees_with_the_reference_and_balances(
            pairs in proptest::collection::vec((0_u32..40, 0_u32..40), 1..200),
            parts in 1_usize..5,
            iterations in 1_usize..6,
        ) {
            let list = edges(&pairs);
            let file = written(&list);
            let source = Source::File(file.path().to_path_buf());
            let (ranks, balances) = distributed(&source, source.extent().expect("known"), parts, iterations);
            let expected = reference::ranks(&list, iterations, 0.15);
            prop_assert_eq!(ranks.len(), expected.len());
            for ((label, rank), (expected_label, expected)) in ranks.iter().zip(&expected) {
                prop_assert_eq!(label, expected_label);
                prop_assert!((rank - expected).abs() < 1e-12 * expected);
            }
            for pair in balances.windows(2) {
                let expected = 0.15 * ranks.len() as f64 + 0.85 * pair[0].flowing.total();
                prop_assert!((pair[1].all.total() - expected).abs() < 1e-9 * expected);
            }
        }
    }
}
