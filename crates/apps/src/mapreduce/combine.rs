//! The map side for words: values by word in a table; when it is full, a run on
//! disk, sorted by owner and word.

use crosstalk_core::Fault;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

use super::budget::Budget;
use super::record::{Key, Value};
use super::runs::{Runs, SortedRecords, held};
use super::word::Word;
use crate::spill::{Disk, Scratch};

/// The most bytes of an entry, except a long word's text: a word, a tally and a byte, in a table that is at
/// least seven sixteenths full after it grew.
const WEIGHT: usize = 112;

/// A table that combines values by word, and spills when it is full.
pub struct Combiner<V> {
    table: HashMap<Word, V, FxBuildHasher>,
    held: usize,
    budget: Budget,
    runs: Runs,
}

impl<V: Value> Combiner<V> {
    /// An empty table.
    pub fn new(budget: Budget, scratch: &Scratch) -> Self {
        Combiner { table: HashMap::default(), held: 0, budget, runs: Runs::new(budget, scratch) }
    }

    /// The value of a word.
    pub fn value_of(&mut self, word: Word) -> &mut V {
        match self.table.entry(word) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.held += entry.key().heap_bytes() + WEIGHT;
                entry.insert(V::default())
            }
        }
    }

    /// Spills if the table is full. Call it between documents only: a value may hold the last document in
    /// which it was seen.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn spill_if_full(&mut self, disk: &mut dyn Disk) -> Result<(), Fault> {
        if self.held <= self.budget.combiner_bytes() {
            return Ok(());
        }
        self.held = 0;
        let records = records(self.table.drain(), self.budget.parts());
        self.runs.add(disk, records.into_iter().map(held))
    }

    /// All records, ready to be read owner by owner.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn finish(mut self, disk: &mut dyn Disk) -> Result<SortedRecords<Word, V>, Fault> {
        SortedRecords::new(disk, records(self.table.drain(), self.budget.parts()), self.runs)
    }
}

/// By owner, in the order of the words.
fn records<V>(entries: impl Iterator<Item = (Word, V)>, parts: usize) -> Vec<Vec<(Word, V)>> {
    let mut owners: Vec<Vec<(Word, V)>> = (0..parts).map(|_| Vec::new()).collect();
    entries.for_each(|entry| owners[entry.0.owner(parts)].push(entry));
    owners.iter_mut().for_each(|records| records.sort_unstable_by(|a, b| a.0.cmp(&b.0)));
    owners
}
