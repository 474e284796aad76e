//! Merges sorted streams into one, and adds up the values of equal keys.

use crosstalk_core::Fault;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::record::{Key, Value};
use super::spool::Reader;
use crate::spill::{Disk, SpillFile};

/// A stream of records in the order of their keys.
pub type Stream<'a, K, V> = Box<dyn FnMut(&mut dyn Disk) -> Option<Result<(K, V), Fault>> + 'a>;

/// Merges sorted streams of records into one.
pub struct Merge<'a, K, V> {
    streams: Vec<Stream<'a, K, V>>,
    /// The next key of every stream that has one.
    heads: BinaryHeap<Reverse<(K, usize)>>,
    values: Vec<V>,
    failed: Option<Fault>,
    begun: bool,
}

impl<'a, K: Key, V: Value> Merge<'a, K, V> {
    /// Merges these streams; each is in the order of its keys, and has each key once.
    pub fn new(streams: Vec<Stream<'a, K, V>>) -> Self {
        Merge {
            values: streams.iter().map(|_| V::default()).collect(),
            heads: BinaryHeap::with_capacity(streams.len()),
            streams,
            failed: None,
            begun: false,
        }
    }

    fn advance(&mut self, disk: &mut dyn Disk, index: usize) {
        match (self.streams[index])(disk) {
            Some(Ok((key, value))) => {
                self.values[index] = value;
                self.heads.push(Reverse((key, index)));
            }
            Some(Err(fault)) => self.failed = Some(fault),
            None => {}
        }
    }

    /// The next record; `None` after the last.
    pub fn next(&mut self, disk: &mut dyn Disk) -> Option<Result<(K, V), Fault>> {
        // A stream has each key once: one alone needs no merging.
        if let [only] = self.streams.as_mut_slice() {
            return only(disk);
        }
        if !std::mem::replace(&mut self.begun, true) {
            (0..self.streams.len()).for_each(|index| self.advance(disk, index));
        }
        if let Some(fault) = self.failed.take() {
            return Some(Err(fault));
        }
        let (key, mut sum) = self.first(disk)?;
        while let Some(Reverse((next, _))) = self.heads.peek()
            && *next == key
            && let Some((_, value)) = self.first(disk)
        {
            sum.add(&value);
        }
        Some(Ok((key, sum)))
    }

    /// Takes the first record of all streams, and puts its stream's next one in its place: that sorts once,
    /// where removing and inserting would sort twice.
    fn first(&mut self, disk: &mut dyn Disk) -> Option<(K, V)> {
        let mut head = self.heads.peek_mut()?;
        let index = head.0.1;
        match (self.streams[index])(disk) {
            Some(Ok((next, value))) => {
                let key = std::mem::replace(&mut head.0.0, next);
                Some((key, std::mem::replace(&mut self.values[index], value)))
            }
            ended => {
                self.failed = ended.and_then(Result::err).or(self.failed.take());
                let Reverse((key, _)) = PeekMut::pop(head);
                Some((key, std::mem::take(&mut self.values[index])))
            }
        }
    }
}

/// A sorted run of records on disk.
pub struct Run<'a> {
    file: &'a SpillFile,
    /// The bytes that are not read yet.
    left: Range<u64>,
    window: Vec<u8>,
    /// Where the next record begins in the window.
    at: usize,
    /// Bytes to read at once.
    size: usize,
}

/// The longest record, in bytes, rounded up.
const RECORD: usize = 512;

impl<'a> Run<'a> {
    /// The records in these bytes of the file.
    pub fn new(file: &'a SpillFile, left: Range<u64>, size: usize) -> Self {
        Run { file, left, window: Vec::new(), at: 0, size: size.max(2 * RECORD) }
    }

    fn fill(&mut self, disk: &mut dyn Disk) -> Result<(), Fault> {
        self.window.drain(..self.at);
        self.at = 0;
        let kept = self.window.len();
        let more = ((self.left.end - self.left.start) as usize).min(self.size - kept);
        self.window.resize(kept + more, 0);
        self.file.read(disk, self.left.start, &mut self.window[kept..])?;
        self.left.start += more as u64;
        Ok(())
    }

    /// The records of the run, in order.
    pub fn records<K: Key + 'a, V: Value + 'a>(mut self) -> Stream<'a, K, V> {
        Box::new(move |disk| {
            if self.window.len() - self.at < RECORD
                && !self.left.is_empty()
                && let Err(fault) = self.fill(disk)
            {
                return Some(Err(fault));
            }
            let mut from = &self.window[self.at..];
            if from.is_empty() {
                return None;
            }
            let record = record(&mut from);
            self.at = self.window.len() - from.len();
            Some(record)
        })
    }
}

/// The records in a spool, each of whose strings holds whole ones.
pub fn spooled_records<'a, K: Key + 'a, V: Value + 'a>(mut reader: Reader<'a>) -> Stream<'a, K, V> {
    let mut at = 0;
    Box::new(move |disk| {
        while at == reader.string().len() {
            at = 0;
            match reader.read(disk) {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(fault) => return Some(Err(fault)),
            }
        }
        let mut from = &reader.string()[at..];
        let record = record(&mut from);
        at = reader.string().len() - from.len();
        Some(record)
    })
}

/// Takes a record from the front; all, where it is incomplete.
pub(super) fn record<K: Key, V: Value>(from: &mut &[u8]) -> Result<(K, V), Fault> {
    let record = K::read(from).and_then(|key| Some((key, V::read(from)?)));
    record.ok_or_else(|| {
        *from = &[];
        Fault::attempt("a record of a sorted run was cut short")
    })
}

#[cfg(test)]
mod tests;
