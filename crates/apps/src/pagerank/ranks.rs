//! One part's ranks: the shares that it sends, receives and sums.
//!
//! Between iterations a vertex is represented by its *share*: its rank over its out-degree, which each of its
//! outgoing edges carries.

use crosstalk_core::Fault;
use crosstalk_host::gather::Places;
use crosstalk_host::pages::vec_in_huge_pages;
use std::iter::repeat_n;
use std::ops::Range;

use super::mass::Mass;
use super::name::Name;
use super::shard::Shard;
use crate::exchange::read_floats;
use crate::random::mix;

/// Bytes of a share in a message.
const SHARE: usize = size_of::<f64>();

/// The sums that show whether rank was lost or created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Balance {
    /// Over all vertices.
    pub all: Mass,
    /// Over the vertices that have an outgoing edge: the rank that flows on.
    pub flowing: Mass,
}

impl Balance {
    fn count(&mut self, rank: f64, out_degree: u32) {
        let mass = Mass::of_rank(rank);
        self.all += mass;
        // A choice of a number, not a branch, which would be unpredictable.
        self.flowing += if out_degree > 0 { mass } else { Mass::default() };
    }

    /// Adds the balance of another part.
    pub fn add(&mut self, other: &Balance) {
        self.all += other.all;
        self.flowing += other.flowing;
    }
}

/// The ranks of the vertices of one part, and what an iteration computes with them.
pub struct Ranks<'a> {
    shard: &'a Shard,
    /// The shard's edges.
    columns: Places<'a>,
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
    /// Ranks of 1. All memory of the iterations is written to here: the kernel allocates pages at the first
    /// access, which must happen before a clock starts.
    pub fn new(shard: &'a Shard, reset: f64) -> Self {
        Ranks {
            shard,
            columns: shard.columns(),
            reset,
            shares: in_huge_pages(shard.out_degree.iter().map(|degree| share(1.0, *degree))),
            slots: in_huge_pages(repeat_n(1.0, shard.slots())),
            ranks: in_huge_pages(repeat_n(1.0, shard.vertices())),
            spare: shard.messages().map(|rows| vec![1; rows.len() * size_of::<f64>()]).collect(),
        }
    }

    /// The shard of the ranks.
    pub(super) fn shard(&self) -> &'a Shard {
        self.shard
    }

    /// The sums before the first iteration.
    pub fn balance(&self) -> Balance {
        let mut balance = Balance::default();
        self.shard.out_degree.iter().for_each(|degree| balance.count(1.0, *degree));
        balance
    }

    /// Packs the shares that each other part needs of this one into messages. This part's own shares go into
    /// its slots at once.
    pub fn pack_shares(&mut self) -> Vec<Vec<u8>> {
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

    /// Unpacks the shares that the other parts sent.
    pub fn unpack_shares(&mut self, arrived: Vec<Vec<u8>>) -> Result<(), Fault> {
        for (part, (buffer, range)) in arrived.iter().zip(&self.shard.slots).enumerate() {
            if part == self.shard.part {
                continue;
            }
            let shares = read_floats(buffer);
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
    pub fn iterate(&mut self, last: bool) -> Balance {
        self.gather(self.shard.held(), self.columns, last)
    }

    /// The same for other rows, whose edges are `columns`.
    pub(super) fn gather(&mut self, rows: Range<usize>, columns: Places, last: bool) -> Balance {
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
    pub fn iter_named(&self) -> impl Iterator<Item = (Name<'a>, f64)> + '_ {
        self.iter().map(|(place, rank)| (self.shard.names.name_at(place), rank))
    }

    /// The rank of the vertex at `place`, after the last iteration.
    pub fn rank(&self, place: u32) -> Option<f64> {
        self.ranks.get(self.shard.rows.rank(place)? as usize).copied()
    }

    /// The share that the vertex at `place` had in the last iteration.
    pub fn last_share(&self, place: u32) -> Option<f64> {
        self.shares.get(self.shard.rows.rank(place)? as usize).copied()
    }
}

/// These numbers, in huge pages: they are read in random order, and the processor keeps the addresses of few pages at hand.
fn in_huge_pages(numbers: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let mut all = vec_in_huge_pages(numbers.len());
    all.extend(numbers);
    all
}

/// The share of each outgoing edge; 0 without such edges.
fn share(rank: f64, out_degree: u32) -> f64 {
    rank / f64::from(out_degree.max(1))
}

/// A checksum: two answers have the same one if and only if (but for one chance in 2^64) every vertex has the
/// same rank in both, bit by bit. The parts' checksums add up, wrapping, to the whole's.
pub fn checksum<'a>(ranks: impl Iterator<Item = (Name<'a>, f64)>) -> u64 {
    ranks.fold(0, |sum, (name, rank)| sum.wrapping_add(mix(name.key() ^ mix(rank.to_bits()))))
}

/// The `count` highest ranks, descending; of equal ones the lowest labels.
pub fn highest_ranks(ranks: impl Iterator<Item = (u32, f64)>, count: usize) -> Vec<(u32, f64)> {
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
mod tests;
