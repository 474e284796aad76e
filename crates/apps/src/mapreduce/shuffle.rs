//! Sends every key to its owner, in rounds of bounded size; and the reduce side.

use crosstalk_core::Fault;

use super::budget::Budget;
use super::cluster::Cluster;
use super::merge::{Merge, spooled_records};
use super::record::{Key, Value};
use super::runs::SortedRecords;
use super::spool::Spool;
use crate::spill::{Disk, Scratch};

/// Sends the records of `finish` to their owners; `reduce` gets the keys that this part owns, ascending, each
/// once with the sum of its values. Returns the bytes that were sent to other parts.
pub fn shuffle<K: Key, V: Value>(
    finish: impl FnOnce(&mut dyn Disk) -> Result<SortedRecords<K, V>, Fault>,
    budget: Budget,
    scratch: &Scratch,
    cluster: &mut impl Cluster,
    mut reduce: impl FnMut(&mut dyn Disk, K, V) -> Result<(), Fault>,
) -> Result<u64, Fault> {
    let (part, parts) = (cluster.part(), cluster.parts());
    let mut sorted = cluster.parallel(finish)?;
    let mut owners = sorted.by_owner();
    let mut spools: Vec<_> = (0..parts).map(|_| Spool::new(scratch, budget.received_memory())).collect();
    let mut sent = 0;
    let mut pending = true;
    while pending {
        let mut more = false;
        let blocks = cluster.serialise(|disk| {
            let fill = |owner: &mut Merge<K, V>| {
                let (block, left) = block(disk, owner, budget.block_bytes())?;
                more |= left;
                Ok(block)
            };
            owners.iter_mut().map(fill).collect::<Result<Vec<_>, Fault>>()
        })?;
        sent +=
            blocks.iter().enumerate().filter(|(to, _)| *to != part).map(|(_, b)| b.len() as u64).sum::<u64>();
        let arrived = cluster.round(blocks, more)?;
        cluster.serialise(|disk| {
            spools.iter_mut().zip(&arrived.buffers).try_for_each(|(spool, buffer)| spool.push(disk, buffer))
        })?;
        pending = arrived.more;
    }
    drop(owners);
    drop(sorted);
    cluster.parallel(|disk| {
        let mut merge = Merge::new(spools.iter().map(|spool| spooled_records(spool.reader())).collect());
        while let Some(record) = merge.next(disk) {
            let (key, value) = record?;
            reduce(disk, key, value)?;
        }
        Ok::<_, Fault>(())
    })?;
    Ok(sent)
}

/// Records of about `size` bytes, and whether there may be more.
fn block<K: Key, V: Value>(
    disk: &mut dyn Disk,
    records: &mut Merge<K, V>,
    size: usize,
) -> Result<(Vec<u8>, bool), Fault> {
    let mut block = Vec::new();
    while block.len() < size {
        let Some(record) = records.next(disk) else { return Ok((block, false)) };
        let (key, value) = record?;
        key.write(&mut block);
        value.write(&mut block);
    }
    Ok((block, true))
}

#[cfg(test)]
mod tests;
