//! Slots: numbers of the sources whose shares are gathered, in a cache-friendly order.
//!
//! Sources with many edges come first, in groups by the magnitude of their
//! out-degree (degree-based grouping: P. Faldu, J. Diamond, B. Grot, "A Closer
//! Look at Lightweight Graph Reordering", IISWC 2019), and rows are sorted:
//! hubs then share cache lines, and a long row walks through memory in one
//! direction. The order within a row follows from the graph alone, so that its
//! sum rounds the same whatever the number of parts.

use crosstalk_core::Fault;
use std::ops::Range;

use super::partition::Partition;
use super::ranked_bits::RankedBits;
use crate::exchange::{Exchange, read_numbers};

/// Groups of sources: the bits of their out-degree, up to this many, from the
/// most to the least.
const GROUPS: usize = 16;

/// The position of the group in a source's key, above its label.
const GROUP_SHIFT: u32 = 28;

/// The label in a source's key.
const LABEL: u32 = (1 << GROUP_SHIFT) - 1;

/// The keys that sort sources: their group, then their label.
pub struct SourceKeys {
    /// Label → group.
    groups: Vec<u8>,
}

impl SourceKeys {
    /// Every part sends its vertices' out-degrees to all.
    pub fn agree_on_keys(
        rows: &RankedBits,
        out_degree: &[u32],
        labels: u32,
        exchange: &mut dyn Exchange,
    ) -> Result<Self, Fault> {
        let partition = Partition::new(exchange.parts());
        let mut own = vec![0; partition.count_places(exchange.part(), labels)];
        for (place, degree) in rows.iter().zip(out_degree) {
            let bits = (u32::BITS - degree.leading_zeros()) as usize;
            own[place as usize] = (GROUPS - 1).saturating_sub(bits) as u8;
        }
        let mut groups = vec![0; labels as usize];
        for (part, arrived) in exchange.exchange(vec![own; exchange.parts()])?.iter().enumerate() {
            for (place, group) in (0..).zip(arrived) {
                match groups.get_mut(partition.label(part, place) as usize) {
                    Some(entry) => *entry = *group,
                    None => return Err(Fault::attempt("a part reports more vertices than it has")),
                }
            }
        }
        Ok(SourceKeys { groups })
    }

    fn group(&self, label: u32) -> u8 {
        self.groups[label as usize]
    }

    /// The key of a source's label: sources sort by it.
    pub fn key_of(&self, label: u32) -> u32 {
        u32::from(self.group(label)) << GROUP_SHIFT | label
    }
}

/// Replaces source keys by slots: ordered by owner, then by key. Returns each part's slots, and the places
/// needed of it.
pub fn assign_slots(
    columns: &mut [u32],
    keys: &SourceKeys,
    parts: usize,
) -> (Vec<Range<usize>>, Vec<Vec<u32>>) {
    let partition = Partition::new(parts);
    // Label → 1 if it is used here, and later its slot.
    let mut table = vec![0_u32; keys.groups.len()];
    columns.iter().for_each(|key| table[(key & LABEL) as usize] = 1);
    let used = |entry: &u32| *entry > 0;

    let mut sizes = vec![[0_usize; GROUPS]; parts];
    for (label, _) in (0..).zip(&table).filter(|(_, entry)| used(entry)) {
        sizes[partition.owner(label)][usize::from(keys.group(label))] += 1;
    }
    let (mut slots, mut wanted, mut next) = (Vec::new(), Vec::new(), Vec::new());
    let mut end = 0;
    for sizes in sizes {
        let begin = end;
        next.push(sizes.map(|size| {
            end += size;
            (end - size) as u32
        }));
        slots.push(begin..end);
        wanted.push(vec![0; end - begin]);
    }
    for (label, entry) in (0..).zip(&mut table).filter(|(_, entry)| used(entry)) {
        let owner = partition.owner(label);
        let slot = &mut next[owner][usize::from(keys.group(label))];
        wanted[owner][*slot as usize - slots[owner].start] = partition.place(label);
        *entry = *slot;
        *slot += 1;
    }
    columns.iter_mut().for_each(|key| *key = table[(*key & LABEL) as usize]);
    (slots, wanted)
}

/// Sends every part the places needed of it, and returns the rows of this one that each part needs.
pub fn request_places(
    wanted: Vec<Vec<u32>>,
    rows: &RankedBits,
    exchange: &mut dyn Exchange,
) -> Result<Vec<Vec<u32>>, Fault> {
    let outgoing =
        wanted.into_iter().map(|places| places.into_iter().flat_map(u32::to_le_bytes).collect()).collect();
    exchange
        .exchange(outgoing)?
        .into_iter()
        .map(|arrived| {
            read_numbers(&arrived)
                .map(|place| {
                    rows.rank(place).ok_or_else(|| Fault::attempt("a vertex is wanted that has no edge"))
                })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::mock::on_threads;
    use crate::pagerank::ranked_bits::Bits;

    /// Four vertices with edges on two parts: out-degrees 1, 0, 40 and 3.
    fn keys(exchange: &mut dyn Exchange) -> (RankedBits, SourceKeys) {
        let out_degree = [1, 0, 40, 3];
        let own: Vec<u32> = (exchange.part()..4).step_by(2).map(|label| out_degree[label]).collect();
        let mut rows = Bits::new(own.len());
        (0..own.len() as u32).for_each(|place| rows.insert(place));
        let rows = rows.finish();
        let keys = SourceKeys::agree_on_keys(&rows, &own, 4, exchange).expect("agreed");
        (rows, keys)
    }

    #[test]
    fn sources_with_more_edges_come_first() {
        for order in on_threads(2, |exchange| {
            let keys = keys(exchange).1;
            let mut labels = [0, 1, 2, 3];
            labels.sort_by_key(|label| keys.key_of(*label));
            labels
        }) {
            assert_eq!(order, [2, 3, 0, 1]);
        }
    }

    #[test]
    fn every_part_supplies_the_rows_that_others_have_slots_for() {
        let found = on_threads(2, |exchange| {
            let (rows, keys) = keys(exchange);
            let mut columns = [0, 2, 3, 2].map(|label| keys.key_of(label));
            let (slots, wanted) = assign_slots(&mut columns, &keys, 2);
            (columns, slots, request_places(wanted, &rows, exchange).expect("ordered"))
        });
        for (columns, slots, supplies) in found {
            // Labels 2 and 0 are part 0's, in this order; 3 is part 1's.
            assert_eq!(slots, [0..2, 2..3]);
            assert_eq!(columns, [1, 0, 2, 0]);
            let part_0 = supplies[0] == [1, 0] && supplies[1] == [1, 0];
            let part_1 = supplies[0] == [1] && supplies[1] == [1];
            assert!(part_0 || part_1, "{supplies:?}");
        }
    }
}
