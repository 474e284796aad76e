//! The map side for keys that are numbers: a list of all occurrences, sorted when it is full or finished. If
//! most keys are new, a table would wait for memory at each; a radix sort accesses memory sequentially.

use crosstalk_core::Fault;
use std::marker::PhantomData;

use super::budget::Budget;
use super::radix::{self, Pair};
use super::record::{Key, Number, Tally, Value};
use super::runs::{Runs, SortedRecords, held};
use crate::spill::{Disk, Scratch};

/// A key that is a number, and is ordered as numbers are.
pub trait Numeric: Key {
    /// The number.
    fn number(&self) -> u64;
    /// The key with this number.
    fn of_number(number: u64) -> Self;
}

impl Numeric for Number {
    fn number(&self) -> u64 {
        self.0
    }

    fn of_number(number: u64) -> Self {
        Number(number)
    }
}

/// A value that is computed from a key's occurrences.
pub trait Aggregate: Value {
    /// The value of the occurrences of one key, in their order.
    fn gather(occurrences: &[Pair]) -> Self;
}

/// The sum of the occurrences' numbers.
impl Aggregate for u64 {
    fn gather(occurrences: &[Pair]) -> Self {
        occurrences.iter().map(|(_, units)| units).sum()
    }
}

/// An occurrence is the number of its document; documents ascend.
impl Aggregate for Tally {
    fn gather(occurrences: &[Pair]) -> Self {
        let documents = occurrences.chunk_by(|a, b| a.1 == b.1).count();
        Tally::new(occurrences.len() as u64, documents as u64)
    }
}

/// Bytes that an occurrence takes: in the list, in the sort's spare room, and
/// as a record.
const WEIGHT: usize = 2 * size_of::<Pair>() + 40;

/// A list of the occurrences of keys, which is sorted and spills when it is full.
pub struct OccurrenceList<K, V> {
    pairs: Vec<Pair>,
    spare: Vec<Pair>,
    budget: Budget,
    runs: Runs,
    records: PhantomData<(K, V)>,
}

impl<K: Numeric, V: Aggregate> OccurrenceList<K, V> {
    /// An empty list.
    pub fn new(budget: Budget, scratch: &Scratch) -> Self {
        OccurrenceList {
            pairs: Vec::new(),
            spare: Vec::new(),
            budget,
            runs: Runs::new(budget, scratch),
            records: PhantomData,
        }
    }

    /// Adds an occurrence: of a document, or of so many units.
    pub fn add(&mut self, key: K, number: u64) {
        self.pairs.push((key.number(), number));
    }

    /// Spills if the list is full: call this between documents only, so that
    /// none is counted twice.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn spill_if_full(&mut self, disk: &mut dyn Disk) -> Result<(), Fault> {
        if self.pairs.len() * WEIGHT <= self.budget.combiner_bytes() {
            return Ok(());
        }
        let records = self.records();
        self.runs.add(disk, records.into_iter().map(held))
    }

    /// All records, ready to be read owner by owner.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn finish(mut self, disk: &mut dyn Disk) -> Result<SortedRecords<K, V>, Fault> {
        let rest = self.records();
        SortedRecords::new(disk, rest, self.runs)
    }

    /// Each owner's records by key; the list is empty then.
    fn records(&mut self) -> Vec<Vec<(K, V)>> {
        let parts = self.budget.parts();
        radix::sort(&mut self.pairs, &mut self.spare);
        // Memory that is not touched costs nothing.
        let room = self.pairs.len() / parts;
        let mut owners: Vec<Vec<(K, V)>> = (0..parts).map(|_| Vec::with_capacity(room)).collect();
        for occurrences in self.pairs.chunk_by(|a, b| a.0 == b.0) {
            let key = K::of_number(occurrences[0].0);
            owners[key.owner(parts)].push((key, V::gather(occurrences)));
        }
        self.pairs.clear();
        owners
    }
}
