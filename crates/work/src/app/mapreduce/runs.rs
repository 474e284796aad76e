//! What the map side hands on: sorted runs on disk, and what is left in memory.

use crosstalk_core::Fault;
use std::collections::VecDeque;
use std::fs::File;
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

/// Sorted runs in one file.
pub(super) struct Runs {
    scratch: Scratch,
    file: Option<File>,
    length: u64,
    /// Run → owner → where its records are.
    of: VecDeque<Vec<Range<u64>>>,
}

impl Runs {
    /// None yet.
    pub(super) fn new(scratch: &Scratch) -> Self {
        Runs { scratch: scratch.clone(), file: None, length: 0, of: VecDeque::new() }
    }

    /// Writes a run from each owner's records.
    pub(super) fn add<K: Key, V: Value>(
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

/// All records of the map side, sorted.
pub struct Sorted<K, V> {
    rest: Vec<Vec<(K, V)>>,
    runs: Runs,
    window: usize,
}

impl<K: Key, V: Value> Sorted<K, V> {
    /// Of runs and of what is in memory, owner by owner. Merges runs until few
    /// are left.
    pub(super) fn new(rest: Vec<Vec<(K, V)>>, mut runs: Runs, budget: Budget) -> Result<Self, Fault> {
        let parts = rest.len();
        while runs.of.len() > FAN_IN {
            runs.join::<K, V>(parts, budget.window(FAN_IN))?;
        }
        let streams = (runs.of.len() + 1) * parts;
        Ok(Sorted { rest, window: budget.window(streams), runs })
    }

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
