//! The key of a sum of weights: a feature of one label's documents.

use super::category::NAMES;
use crate::mapreduce::list::Numeric;
use crate::mapreduce::record::{Key, append_number, owner_of, take_number};

/// A feature of one label's documents, in the order of features, then of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u64);

impl Cell {
    /// The cell of a feature and a label.
    pub fn new(feature: u32, label: u8) -> Self {
        Cell(u64::from(feature) << 8 | u64::from(label))
    }

    /// The number of its feature.
    pub fn feature(self) -> u32 {
        (self.0 >> 8) as u32
    }

    /// Its label.
    pub fn label(self) -> u8 {
        self.0 as u8
    }
}

impl Key for Cell {
    /// A feature's cells have one owner.
    fn owner(&self, parts: usize) -> usize {
        owner_of(u64::from(self.feature()), parts)
    }

    fn write(&self, out: &mut Vec<u8>) {
        append_number(self.0, out);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        take_number(from).map(Cell).filter(|cell| usize::from(cell.label()) < NAMES.len())
    }
}

impl Numeric for Cell {
    fn number(&self) -> u64 {
        self.0
    }

    fn of_number(number: u64) -> Self {
        Cell(number)
    }
}
