//! A segment of the model: the weights of neighbouring features, and what they add to a document's scores.

use crosstalk_core::Fault;
use std::ops::Range;

use super::category::NAMES;
use super::cell::Cell;
use crate::exchange::{PAIR, read_floats, read_pairs};
use crate::mapreduce::union::Union;
use crate::spill::Disk;

/// The units in a weight of 1.
pub const UNITS_PER_WEIGHT: f64 = (1_u64 << 40) as f64;

/// Reads the sums of weights by feature and label, ascending, a segment of the model at a time.
pub struct CellReader<'a> {
    cells: Union<'a, Cell, u64>,
    /// The next cell, once it was read.
    pending: Option<(Cell, u64)>,
    /// Cells that are not read yet.
    left: u64,
    /// The next feature, and the number of all.
    next: u32,
    features: u32,
    /// Label → units so far.
    pub of_label: [u128; NAMES.len()],
}

/// The model of neighbouring features.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Segment {
    /// The number of the first feature.
    first: u32,
    /// Feature → ln(α + N_i).
    pub base: Vec<f64>,
    /// Feature → where its cells begin; one more at the end.
    pub offsets: Vec<usize>,
    /// Label and ln(α + N_i − N_ci) − ln(α + N_i), where N_ci is not 0: few.
    pub cells: Vec<(u8, f64)>,
    /// Whether no feature follows.
    pub last: bool,
}

/// Sums over features, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sums {
    /// Σ_i x_i.
    length: f64,
    /// Σ_i x_i ln(α + N_i).
    shared: f64,
    /// Label → Σ_i x_i (ln(α + N_i − N_ci) − ln(α + N_i)).
    own: [f64; NAMES.len()],
}

/// Bytes of a feature or a cell.
const ENTRY: usize = 16;

impl<'a> CellReader<'a> {
    /// Reads `count` cells of so many `features`.
    pub fn new(cells: Union<'a, Cell, u64>, count: u64, features: u32) -> Self {
        CellReader { cells, pending: None, left: count, next: 0, features, of_label: [0; NAMES.len()] }
    }

    /// Whether all features were read.
    pub fn ended(&self) -> bool {
        self.next == self.features
    }

    /// Reads the next cell, if it is one of `feature`.
    fn take(&mut self, disk: &mut dyn Disk, feature: u32) -> Result<Option<(Cell, u64)>, Fault> {
        if self.pending.is_none() {
            self.pending = self.cells.next(disk).transpose()?;
            self.left = self.left.saturating_sub(1);
        }
        Ok(self.pending.take_if(|(cell, _)| cell.feature() == feature))
    }

    /// The next features, as many as fit into `room` bytes, smoothed by `alpha`.
    ///
    /// # Errors
    /// An attempt fault where the cells cannot be read.
    pub fn segment(&mut self, disk: &mut dyn Disk, alpha: f64, room: usize) -> Result<Segment, Fault> {
        // Memory that is not touched costs nothing.
        let (features, cells) = ((self.features - self.next) as usize, self.left as usize + 1);
        let mut segment = Segment {
            first: self.next,
            base: Vec::with_capacity(features.min(room / ENTRY)),
            offsets: Vec::with_capacity(features.min(room / ENTRY) + 1),
            cells: Vec::with_capacity(cells.min(room / ENTRY)),
            last: false,
        };
        let mut sums = Vec::new();
        while !self.ended() {
            let taken = (segment.base.len() + segment.cells.len()) * ENTRY;
            if taken + (1 + NAMES.len()) * ENTRY > room && !segment.base.is_empty() {
                break;
            }
            sums.clear();
            while let Some((cell, units)) = self.take(disk, self.next)? {
                sums.push((cell.label(), units));
            }
            segment.push(&sums, alpha);
            sums.iter().for_each(|(label, units)| self.of_label[usize::from(*label)] += u128::from(*units));
            self.next += 1;
        }
        if self.ended() && (self.pending.is_some() || self.left > 0) {
            return Err(Fault::attempt("a weight is of no feature"));
        }
        segment.offsets.push(segment.cells.len());
        segment.last = self.ended();
        Ok(segment)
    }
}

impl Segment {
    /// Appends a feature with its sums by label.
    fn push(&mut self, sums: &[(u8, u64)], alpha: f64) {
        let all: u64 = sums.iter().map(|(_, units)| units).sum();
        let base = (alpha + all as f64 / UNITS_PER_WEIGHT).ln();
        self.offsets.push(self.cells.len());
        self.base.push(base);
        for (label, units) in sums {
            let rest = (alpha + (all - units) as f64 / UNITS_PER_WEIGHT).ln();
            self.cells.push((*label, rest - base));
        }
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> u64 {
        ((self.base.len() + self.cells.len()) * ENTRY) as u64
    }

    /// The numbers of its features.
    pub fn features(&self) -> Range<u32> {
        self.first..self.first + self.base.len() as u32
    }

    /// Adds the features of this segment with their weights, ascending, to the sums of those before.
    pub fn add(&self, weights: impl Iterator<Item = (u32, f64)>, sums: &mut Sums) {
        for (feature, weight) in weights {
            let feature = (feature - self.first) as usize;
            sums.length += weight;
            sums.shared += weight * self.base[feature];
            for (label, delta) in &self.cells[self.offsets[feature]..self.offsets[feature + 1]] {
                sums.own[usize::from(*label)] += weight * delta;
            }
        }
    }
}

impl Sums {
    /// Σ_i x_i w_ci of a label, whose ln Σ_j (α + N_j − N_cj) is `log_total`; not divided.
    pub fn total(&self, label: usize, log_total: f64) -> f64 {
        self.length * log_total - self.shared - self.own[label]
    }

    /// Appends the sums.
    pub fn write(&self, out: &mut Vec<u8>) {
        let all = [self.length, self.shared].into_iter().chain(self.own);
        all.for_each(|sum| out.extend_from_slice(&sum.to_le_bytes()));
    }

    /// Reads the sums that were written; from nothing, those of no feature.
    pub fn read(from: &[u8]) -> Self {
        let mut numbers = read_floats(from);
        let mut next = || numbers.next().unwrap_or_default();
        Sums { length: next(), shared: next(), own: std::array::from_fn(|_| next()) }
    }
}

/// The pairs of a vector, ascending, whose features are in a range.
pub fn pairs_within(vector: &[u8], features: Range<u32>) -> impl Iterator<Item = (u32, f64)> + '_ {
    let pairs = vector.as_chunks::<PAIR>().0;
    let place = |least: u32| {
        pairs.partition_point(|pair| read_pairs(pair).next().is_some_and(|(feature, _)| feature < least))
    };
    read_pairs(pairs[place(features.start)..place(features.end)].as_flattened())
}
