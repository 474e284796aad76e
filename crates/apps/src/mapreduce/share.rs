//! Sends each part's sorted list to every part, in rounds of bounded size. Every part has all records then.

use crosstalk_core::Fault;
use std::marker::PhantomData;

use super::budget::Budget;
use super::cluster::Cluster;
use super::record::{Key, Value, append_number, take_number};
use super::sorted::{Blocks, SortedList};
use super::union::Union;
use crate::spill::Scratch;

/// The sorted lists of all parts.
pub struct Shared<K, V> {
    lists: Vec<Blocks>,
    batch: usize,
    totals: Totals,
    records: PhantomData<(K, V)>,
}

/// What a part counted, or all parts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// What the map side emitted.
    pub emitted: u64,
    /// What arrived at the reduce side.
    pub arrived: u64,
    /// Records of the lists.
    pub records: u64,
}

impl Totals {
    fn write(self, out: &mut Vec<u8>) {
        [self.emitted, self.arrived, self.records].into_iter().for_each(|total| append_number(total, out));
    }

    /// Adds those at the front of a message. Sums wrap, as they are compared only.
    fn add_from(&mut self, from: &mut &[u8]) -> Option<()> {
        for total in [&mut self.emitted, &mut self.arrived, &mut self.records] {
            *total = total.wrapping_add(take_number(from)?);
        }
        Some(())
    }
}

impl<K: Key, V: Value> Shared<K, V> {
    /// Sends `list` to all parts, and receives theirs. Also returns the bytes that were sent to other parts.
    ///
    /// # Errors
    /// An attempt fault where the disk fails, or other parts are gone.
    pub fn new(
        list: SortedList<K, V>,
        (emitted, arrived): (u64, u64),
        budget: Budget,
        scratch: &Scratch,
        cluster: &mut impl Cluster,
    ) -> Result<(Self, u64), Fault> {
        let (part, parts) = (cluster.part(), cluster.parts());
        let mut lists: Vec<_> = (0..parts).map(|_| Blocks::new(scratch, budget.shared_memory())).collect();
        let mine = Totals { emitted, arrived, records: list.records() };
        let mut totals = mine;
        let mut reader = list.blocks().reader();
        // A list alone is sent to nobody.
        let mut left = if parts > 1 { list.blocks().count } else { 0 };
        let (mut sent, mut begins, mut pending) = (0, true, true);
        while pending {
            let block = cluster.serialise(|disk| {
                let mut block = Vec::new();
                if begins {
                    mine.write(&mut block);
                }
                if left > 0 {
                    block.extend_from_slice(reader.read(disk)?.unwrap_or_default());
                    left -= 1;
                }
                Ok::<_, Fault>(block)
            })?;
            sent += (block.len() * (parts - 1)) as u64;
            let mut blocks = vec![block; parts];
            blocks[part].clear();
            let received = cluster.round(blocks, left > 0)?;
            cluster.serialise(|disk| {
                let others = lists.iter_mut().zip(received.buffers).enumerate();
                for (_, (list, mut block)) in others.filter(|(from, _)| *from != part) {
                    if begins {
                        let from = &mut block.as_slice();
                        let torn = || Fault::attempt("the head of a shared list is incomplete");
                        totals.add_from(from).ok_or_else(torn)?;
                        let head = block.len() - from.len();
                        block.drain(..head);
                    }
                    list.push(disk, block)?;
                }
                Ok::<_, Fault>(())
            })?;
            (begins, pending) = (false, received.more);
        }
        lists[part] = list.into_blocks();
        cluster.serialise(|disk| lists[part].set_memory(disk, budget.shared_memory()))?;
        Ok((Shared { lists, batch: budget.batch(), totals, records: PhantomData }, sent))
    }

    /// What all parts counted.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// All records, in order, with those of the list `beside`, which has no key of theirs.
    pub fn union<'a>(&'a self, beside: Option<&'a SortedList<K, V>>) -> Union<'a, K, V>
    where
        K: 'a,
        V: 'a,
    {
        let streams = self.lists.iter().map(Blocks::records).chain(beside.map(SortedList::stream));
        Union::new(streams.collect(), self.batch)
    }
}

#[cfg(test)]
mod tests;
