//! Complementary Naive Bayes: the model, and its decisions.
//!
//! Rennie, Shih, Teevan, Karger: *Tackling the Poor Assumptions of Naive Bayes
//! Text Classifiers*, ICML 2003, as scikit-learn's `ComplementNB` has it: with
//! N_i the weight of feature i in all training documents and N_ci in those of
//! label c,
//!
//! θ_ci = (α + N_i − N_ci) / Σ_j (α + N_j − N_cj),  w_ci = −ln θ_ci,
//!
//! and, with `norm`, w_ci divided by Σ_j w_cj. A document with weights x gets
//! the label with the highest Σ_i x_i w_ci, of equal ones the first.
//!
//! Sums are over features in their order, whether the model is in memory as a whole or a segment at a time: so
//! decisions and the checksum are the same, bit by bit.

use crosstalk_core::Fault;

use super::category::NAMES;
use super::cell::Cell;
use super::segment::{CellReader, Segment, Sums, UNITS_PER_WEIGHT};
use crate::mapreduce::share::Shared;
use crate::spill::Disk;

/// What a model is made for.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The number of features.
    pub features: u32,
    /// The labels that it can give, ascending.
    pub labels: Vec<u8>,
    /// Smoothing.
    pub alpha: f64,
    /// Whether each label's weights are made to add up to 1.
    pub norm: bool,
}

/// A trained naive Bayes model.
pub struct Model {
    shape: Shape,
    /// The sums of weights by feature and label.
    cells: Shared<Cell, u64>,
    /// Bytes of a segment at most.
    room: usize,
    /// The only segment, if all features fit into one.
    whole: Option<Segment>,
    /// Label → ln Σ_j (α + N_j − N_cj).
    log_total: [f64; NAMES.len()],
    /// Label → the divisor of its scores.
    divisor: [f64; NAMES.len()],
}

/// The segments of a model, one after the other.
pub struct Walk<'a> {
    model: &'a Model,
    cells: CellReader<'a>,
    segment: Segment,
    begun: bool,
}

impl Model {
    /// A model from the sums of units by feature and label, which has segments of at most `room` bytes in memory.
    ///
    /// # Errors
    /// An attempt fault where the sums cannot be read.
    pub fn new(
        disk: &mut dyn Disk,
        cells: Shared<Cell, u64>,
        shape: Shape,
        room: usize,
    ) -> Result<Self, Fault> {
        let mut model = Model {
            shape,
            cells,
            room,
            whole: None,
            log_total: [0.0; NAMES.len()],
            divisor: [1.0; NAMES.len()],
        };
        let (features, alpha) = (model.shape.features, model.shape.alpha);
        let (mut cells, mut sums) = (model.cells(), Sums::default());
        let whole = loop {
            let segment = cells.segment(disk, alpha, room)?;
            if model.shape.norm {
                segment.add(segment.features().map(|feature| (feature, 1.0)), &mut sums);
            }
            if segment.last {
                break Some(segment).filter(|segment| segment.features() == (0..features));
            }
        };
        let of_label = cells.of_label;
        let all: u128 = of_label.iter().sum();
        let log_total = of_label
            .map(|units| (alpha * f64::from(features) + (all - units) as f64 / UNITS_PER_WEIGHT).ln());
        drop(cells);
        if model.shape.norm {
            model.divisor = std::array::from_fn(|label| sums.total(label, log_total[label]));
        }
        (model.whole, model.log_total) = (whole, log_total);
        Ok(model)
    }

    fn cells(&self) -> CellReader<'_> {
        CellReader::new(self.cells.union(None), self.cells.totals().records, self.shape.features)
    }

    /// All segments, in the order of their features: at least one.
    pub fn walk(&self) -> Walk<'_> {
        Walk { model: self, cells: self.cells(), segment: Segment::default(), begun: false }
    }

    /// The label of a document with these sums over all segments.
    pub fn label_of(&self, sums: &Sums) -> u8 {
        let score = |label: u8| {
            let label = usize::from(label);
            sums.total(label, self.log_total[label]) / self.divisor[label]
        };
        let mut best = self.shape.labels[0];
        for label in &self.shape.labels {
            if score(*label) > score(best) {
                best = *label;
            }
        }
        best
    }

    /// A checksum: equal for equal models, bit by bit, whatever their segments.
    ///
    /// # Errors
    /// An attempt fault where the sums cannot be read.
    pub fn checksum(&self, disk: &mut dyn Disk) -> Result<u64, Fault> {
        let mut sum = 0_u64;
        let mut add = |word: u64| sum = (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut walk = self.walk();
        while let Some(segment) = walk.next(disk)? {
            segment.base.iter().for_each(|base| add(base.to_bits()));
        }
        self.log_total.iter().chain(&self.divisor).for_each(|number| add(number.to_bits()));
        // Where the features' cells begin, of all segments.
        let (mut before, mut walk) = (0, self.walk());
        while let Some(segment) = walk.next(disk)? {
            let begins = &segment.offsets[..segment.base.len()];
            begins.iter().for_each(|offset| add(before + *offset as u64));
            before += segment.cells.len() as u64;
        }
        add(before);
        let mut walk = self.walk();
        while let Some(segment) = walk.next(disk)? {
            segment.cells.iter().for_each(|(label, delta)| {
                add(u64::from(*label));
                add(delta.to_bits());
            });
        }
        Ok(sum)
    }
}

impl Walk<'_> {
    /// The next segment; `None` after the last.
    ///
    /// # Errors
    /// An attempt fault where the sums cannot be read.
    pub fn next(&mut self, disk: &mut dyn Disk) -> Result<Option<&Segment>, Fault> {
        let begun = std::mem::replace(&mut self.begun, true);
        if let Some(whole) = &self.model.whole {
            return Ok((!begun).then_some(whole));
        }
        if self.cells.ended() {
            return Ok(None);
        }
        // Its memory is needed for the next.
        self.segment = Segment::default();
        self.segment = self.cells.segment(disk, self.model.shape.alpha, self.model.room)?;
        Ok(Some(&self.segment))
    }
}

#[cfg(test)]
mod tests;
