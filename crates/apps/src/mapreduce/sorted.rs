//! A sorted list of records, written once and read in order as often as needed.

use crosstalk_core::Fault;
use std::marker::PhantomData;

use super::budget::Room;
use super::merge::{Stream, spooled_records};
use super::record::{Key, Value};
use super::spool::Spool;
use crate::spill::{Disk, Scratch};

/// Writes a [`SortedList`], a block at a time.
pub struct ListWriter<K, V> {
    list: SortedList<K, V>,
    block: Vec<u8>,
    /// About the bytes of a block.
    size: usize,
}

/// Records in the order of their keys, in blocks of whole ones: the last ones in memory, the rest on disk.
pub struct SortedList<K, V> {
    spool: Spool,
    blocks: u64,
    records: u64,
    kinds: PhantomData<(K, V)>,
}

impl<K: Key, V: Value> ListWriter<K, V> {
    /// An empty list of so much memory, in blocks of about `size` bytes.
    pub fn new(scratch: &Scratch, room: Room, size: usize) -> Self {
        let list = SortedList { spool: Spool::new(scratch, room), blocks: 0, records: 0, kinds: PhantomData };
        ListWriter { list, block: Vec::new(), size }
    }

    /// Appends a record, whose key is above all before.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn push(&mut self, disk: &mut dyn Disk, key: &K, value: &V) -> Result<(), Fault> {
        key.write(&mut self.block);
        value.write(&mut self.block);
        self.list.records += 1;
        if self.block.len() >= self.size { self.end_block(disk) } else { Ok(()) }
    }

    /// The whole list.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn finish(mut self, disk: &mut dyn Disk) -> Result<SortedList<K, V>, Fault> {
        if !self.block.is_empty() {
            self.end_block(disk)?;
        }
        Ok(self.list)
    }

    fn end_block(&mut self, disk: &mut dyn Disk) -> Result<(), Fault> {
        self.list.spool.push(disk, &self.block)?;
        self.list.blocks += 1;
        self.block.clear();
        Ok(())
    }
}

impl<K: Key, V: Value> SortedList<K, V> {
    /// The number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The spool, whose strings are the blocks.
    pub(super) fn spool(&self) -> &Spool {
        &self.spool
    }

    /// The spool, to be kept.
    pub(super) fn into_spool(self) -> Spool {
        self.spool
    }

    /// The records, in order.
    pub fn stream<'a>(&'a self) -> Stream<'a, K, V>
    where
        K: 'a,
        V: 'a,
    {
        spooled_records(self.spool.reader())
    }
}
