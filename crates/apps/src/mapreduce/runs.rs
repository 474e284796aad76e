//! The map side's output: sorted runs on disk, and the rest in memory.

use crosstalk_core::Fault;
use std::collections::VecDeque;
use std::ops::Range;

use super::budget::Budget;
use super::merge::{Merge, Run, Stream};
use super::record::{Key, Value};
use crate::spill::{Disk, Scratch, SpillFile};

/// Sorted runs in one file.
pub(super) struct Runs {
    budget: Budget,
    scratch: Scratch,
    file: Option<SpillFile>,
    /// Run → owner → where its records are.
    of: VecDeque<Vec<Range<u64>>>,
}

/// Records that are in memory.
pub fn held<'a, K: 'a, V: 'a>(records: Vec<(K, V)>) -> Stream<'a, K, V> {
    let mut records = records.into_iter();
    Box::new(move |_| records.next().map(Ok))
}

impl Runs {
    /// No runs.
    pub(super) fn new(budget: Budget, scratch: &Scratch) -> Self {
        Runs { budget, scratch: scratch.clone(), file: None, of: VecDeque::new() }
    }

    /// Writes a run from each owner's records.
    pub(super) fn add<'a, K: Key + 'a, V: Value + 'a>(
        &mut self,
        disk: &mut dyn Disk,
        owners: impl Iterator<Item = Stream<'a, K, V>>,
    ) -> Result<(), Fault> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::new(&self.scratch)?),
        };
        let block = self.budget.window_bytes(1);
        let run = owners.map(|records| write(disk, file, block, records));
        self.of.push_back(run.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Merges the oldest runs into one.
    fn join<K: Key, V: Value>(&mut self, disk: &mut dyn Disk) -> Result<(), Fault> {
        let Some(file) = &self.file else { return Ok(()) };
        let count = self.budget.fan_in();
        let (window, block) = (self.budget.window_bytes(count), self.budget.window_bytes(1));
        let oldest: Vec<_> = self.of.drain(..count).collect();
        let joined = (0..self.budget.parts()).map(|owner| {
            let runs = oldest.iter().map(|run| Run::new(file, run[owner].clone(), window));
            let mut merge = Merge::<K, V>::new(runs.map(Run::records).collect());
            write(disk, file, block, |disk| merge.next(disk))
        });
        let joined = joined.collect::<Result<_, _>>()?;
        self.of.push_back(joined);
        Ok(())
    }
}

/// Appends records, a block at a time; returns where they are.
fn write<K: Key, V: Value>(
    disk: &mut dyn Disk,
    file: &SpillFile,
    size: usize,
    mut records: impl FnMut(&mut dyn Disk) -> Option<Result<(K, V), Fault>>,
) -> Result<Range<u64>, Fault> {
    let (begin, mut block) = (file.length(), Vec::new());
    while let Some(record) = records(disk) {
        let (key, value) = record?;
        key.write(&mut block);
        value.write(&mut block);
        if block.len() >= size {
            file.append(disk, &block)?;
            block.clear();
        }
    }
    if !block.is_empty() {
        file.append(disk, &block)?;
    }
    Ok(begin..file.length())
}

/// All records of the map side, sorted.
pub struct SortedRecords<K, V> {
    rest: Vec<Vec<(K, V)>>,
    runs: Runs,
}

impl<K: Key, V: Value> SortedRecords<K, V> {
    /// The records of `runs` and of those in memory, owner by owner. Merges runs until few are left.
    pub(super) fn new(disk: &mut dyn Disk, rest: Vec<Vec<(K, V)>>, mut runs: Runs) -> Result<Self, Fault> {
        while runs.of.len() > runs.budget.fan_in() {
            runs.join::<K, V>(disk)?;
        }
        Ok(SortedRecords { rest, runs })
    }

    /// Each owner's records, by key; moves those in memory out.
    pub fn by_owner(&mut self) -> Vec<Merge<'_, K, V>> {
        let SortedRecords { rest, runs } = self;
        let window = runs.budget.window_bytes((runs.of.len() + 1) * rest.len());
        let merged = |(owner, records): (usize, &mut Vec<(K, V)>)| {
            let mut streams = vec![held(std::mem::take(records))];
            if let Some(file) = &runs.file {
                let runs = runs.of.iter().map(|run| Run::new(file, run[owner].clone(), window));
                streams.extend(runs.map(Run::records));
            }
            Merge::new(streams)
        };
        rest.iter_mut().enumerate().map(merged).collect()
    }
}
