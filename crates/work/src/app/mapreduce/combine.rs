//! The map side: values by key in a table; when it is full, a run on disk,
//! sorted by owner and key.

use crosstalk_core::Fault;
use hashbrown::HashMap;
use hashbrown::hash_map::{Entry, EntryRef};
use rustc_hash::FxBuildHasher;
use std::borrow::Borrow;
use std::collections::VecDeque;
use std::fs::File;
use std::hash::Hash;
use std::io::Write;
use std::ops::Range;

use super::budget::Budget;
use super::merge::{Merge, Run, Stream};
use super::record::{Key, Value};
use super::scratch::Scratch;

/// Runs that are merged at once; more are merged into longer runs first.
const FAN_IN: usize = 16;

/// Bytes of records that are written at once.
const BLOCK: usize = 64 << 10;

/// Values by key.
pub struct Combiner<K, V> {
    table: HashMap<K, V, FxBuildHasher>,
    held: usize,
    budget: Budget,
    parts: usize,
    runs: Runs,
}

impl<K: Key, V: Value> Combiner<K, V> {
    /// An empty one for `parts` owners.
    pub fn new(parts: usize, budget: Budget, scratch: &Scratch) -> Self {
        let runs = Runs { scratch: scratch.clone(), file: None, length: 0, of: VecDeque::new() };
        Combiner { table: HashMap::default(), held: 0, budget, parts, runs }
    }

    /// The value of a key.
    pub fn at(&mut self, key: K) -> &mut V {
        match self.table.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.held += entry.key().weight();
                entry.insert(V::default())
            }
        }
    }

    /// The value of a key that is only made where it is new.
    pub fn at_ref<'q, Q>(&mut self, key: &'q Q) -> &mut V
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q> + From<&'q Q>,
    {
        match self.table.entry_ref(key) {
            EntryRef::Occupied(entry) => entry.into_mut(),
            EntryRef::Vacant(entry) => {
                let key = K::from(key);
                self.held += key.weight();
                entry.insert_with_key(key, V::default())
            }
        }
    }

    /// Spills if the table is full. Values may be told in which document they
    /// were seen last: call this between documents only.
    pub fn settle(&mut self) -> Result<(), Fault> {
        if self.held <= self.budget.combiner() {
            return Ok(());
        }
        self.held = 0;
        let sorted = sorted(self.table.drain(), self.parts);
        self.runs.add(sorted.into_iter().map(|records| records.into_iter().map(Ok)))
    }

    /// All records, ready to be read owner by owner.
    pub fn finish(mut self) -> Result<Sorted<K, V>, Fault> {
        while self.runs.of.len() > FAN_IN {
            self.runs.join::<K, V>(self.parts, self.budget.window(FAN_IN))?;
        }
        let rest = sorted(self.table.drain(), self.parts);
        let streams = (self.runs.of.len() + 1) * self.parts;
        Ok(Sorted { rest, window: self.budget.window(streams), runs: self.runs })
    }
}

/// By owner, in the order of the keys.
fn sorted<K: Key, V>(records: impl Iterator<Item = (K, V)>, parts: usize) -> Vec<Vec<(K, V)>> {
    let mut owners: Vec<Vec<(K, V)>> = (0..parts).map(|_| Vec::new()).collect();
    records.for_each(|record| owners[record.0.owner(parts)].push(record));
    owners.iter_mut().for_each(|records| records.sort_unstable_by(|a, b| a.0.cmp(&b.0)));
    owners
}

/// Sorted runs in one file.
struct Runs {
    scratch: Scratch,
    file: Option<File>,
    length: u64,
    /// Run → owner → where its records are.
    of: VecDeque<Vec<Range<u64>>>,
}

impl Runs {
    /// Writes a run from each owner's records.
    fn add<K: Key, V: Value>(
        &mut self,
        owners: impl Iterator<Item = impl Iterator<Item = Result<(K, V), Fault>>>,
    ) -> Result<(), Fault> {
        let mut sections = Vec::new();
        let mut block = Vec::new();
        for records in owners {
            let begin = self.length;
            for record in records {
                let (key, value) = record?;
                key.write(&mut block);
                value.write(&mut block);
                if block.len() >= BLOCK {
                    self.write(&mut block)?;
                }
            }
            self.write(&mut block)?;
            sections.push(begin..self.length);
        }
        self.of.push_back(sections);
        Ok(())
    }

    fn write(&mut self, block: &mut Vec<u8>) -> Result<(), Fault> {
        if block.is_empty() {
            return Ok(());
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.scratch.file()?,
        };
        file.write_all(block).map_err(|e| self.scratch.fault(format!("cannot spill: {e}")))?;
        self.file = Some(file);
        self.length += block.len() as u64;
        self.scratch.count(block.len());
        block.clear();
        Ok(())
    }

    /// Merges the oldest runs into one.
    fn join<K: Key, V: Value>(&mut self, parts: usize, window: usize) -> Result<(), Fault> {
        let oldest: Vec<_> = self.of.drain(..FAN_IN).collect();
        let Some(file) = self.file.as_ref().map(File::try_clone) else { return Ok(()) };
        let file = file.map_err(|e| self.scratch.fault(format!("cannot spill: {e}")))?;
        self.add((0..parts).map(|owner| {
            let runs = oldest.iter().map(|run| Run::new(&file, run[owner].clone(), window));
            Merge::<K, V>::new(runs.map(Run::records).collect())
        }))
    }
}

/// A combiner's records, sorted.
pub struct Sorted<K, V> {
    rest: Vec<Vec<(K, V)>>,
    runs: Runs,
    window: usize,
}

impl<K: Key, V: Value> Sorted<K, V> {
    /// Each owner's records, by key. What was in memory is handed out.
    pub fn owners(&mut self) -> Vec<Merge<'_, K, V>> {
        let Sorted { rest, runs, window } = self;
        let merged = |(owner, records): (usize, &mut Vec<(K, V)>)| {
            let memory: Stream<K, V> = Box::new(std::mem::take(records).into_iter().map(Ok));
            let mut streams = vec![memory];
            if let Some(file) = &runs.file {
                let runs = runs.of.iter().map(|run| Run::new(file, run[owner].clone(), *window));
                streams.extend(runs.map(Run::records));
            }
            Merge::new(streams)
        };
        rest.iter_mut().enumerate().map(merged).collect()
    }
}
