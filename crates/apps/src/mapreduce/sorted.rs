//! A sorted list of records, written once and read in order as often as needed.

use crosstalk_core::Fault;
use std::marker::PhantomData;

use super::budget::Room;
use super::merge::{Stream, record};
use super::record::{Key, Value};
use super::spool::{Reader, Spool};
use crate::spill::{Disk, Scratch};

/// A queue of blocks of whole records. The last one is as it came, those before it are in a spool: one alone is
/// never copied.
pub(super) struct Blocks {
    spool: Spool,
    last: Vec<u8>,
    /// How many there are.
    pub count: u64,
}

impl Blocks {
    /// No blocks, in so much memory beside the last one.
    pub fn new(scratch: &Scratch, room: Room) -> Self {
        Blocks { spool: Spool::new(scratch, room), last: Vec::new(), count: 0 }
    }

    /// Appends a block.
    pub fn push(&mut self, disk: &mut dyn Disk, block: Vec<u8>) -> Result<(), Fault> {
        if block.is_empty() {
            return Ok(());
        }
        if self.count > 0 {
            self.spool.push(disk, &self.last)?;
        }
        self.count += 1;
        self.last = block;
        Ok(())
    }

    /// Changes the memory of all but the last block.
    pub fn set_memory(&mut self, disk: &mut dyn Disk, room: Room) -> Result<(), Fault> {
        self.spool.set_memory(disk, room)
    }

    /// A reader from the first block on.
    pub fn reader(&self) -> BlockReader<'_> {
        BlockReader { reader: self.spool.reader(), last: &self.last, left: self.count }
    }

    /// The records of all blocks.
    pub fn records<'a, K: Key + 'a, V: Value + 'a>(&'a self) -> Stream<'a, K, V> {
        let (mut reader, mut block) = (self.reader(), 0..0);
        Box::new(move |disk| {
            if block.is_empty() {
                match reader.read(disk) {
                    Ok(Some(read)) => block = 0..read.len(),
                    Ok(None) => return None,
                    Err(fault) => return Some(Err(fault)),
                }
            }
            let mut from = &reader.block()[block.clone()];
            let record = record(&mut from);
            block.start = block.end - from.len();
            Some(record)
        })
    }
}

/// Reads [`Blocks`] in order.
pub(super) struct BlockReader<'a> {
    reader: Reader<'a>,
    last: &'a [u8],
    /// Blocks that are not read yet.
    left: u64,
}

impl BlockReader<'_> {
    /// The next block; `None` after the last.
    pub fn read(&mut self, disk: &mut dyn Disk) -> Result<Option<&[u8]>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        if self.left > 0 {
            self.reader.read(disk)?;
        }
        Ok(Some(self.block()))
    }

    /// The block that was read last.
    fn block(&self) -> &[u8] {
        if self.left > 0 { self.reader.string() } else { self.last }
    }
}

/// Writes a [`SortedList`], a block at a time.
pub struct ListWriter<K, V> {
    list: SortedList<K, V>,
    block: Vec<u8>,
    /// About the bytes of a block.
    size: usize,
}

/// Records in the order of their keys.
pub struct SortedList<K, V> {
    blocks: Blocks,
    records: u64,
    kinds: PhantomData<(K, V)>,
}

impl<K: Key, V: Value> ListWriter<K, V> {
    /// An empty list of so much memory, in blocks of about `size` bytes.
    pub fn new(scratch: &Scratch, room: Room, size: usize) -> Self {
        let list = SortedList { blocks: Blocks::new(scratch, room), records: 0, kinds: PhantomData };
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
        if self.block.len() >= self.size {
            self.list.blocks.push(disk, std::mem::take(&mut self.block))?;
        }
        Ok(())
    }

    /// The whole list.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn finish(mut self, disk: &mut dyn Disk) -> Result<SortedList<K, V>, Fault> {
        // Kept as it is: what growing added to it is not.
        self.block.shrink_to_fit();
        self.list.blocks.push(disk, self.block)?;
        Ok(self.list)
    }
}

impl<K: Key, V: Value> SortedList<K, V> {
    /// The number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The blocks.
    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// The blocks, to be kept.
    pub(super) fn into_blocks(self) -> Blocks {
        self.blocks
    }

    /// The records, in order.
    pub fn stream<'a>(&'a self) -> Stream<'a, K, V>
    where
        K: 'a,
        V: 'a,
    {
        self.blocks.records()
    }
}
