//! The routes of factor vectors: a slave gets those of the columns in its ratings, each once, and no others.
//! MLlib's out-block.
//!
//! A received vector has a *slot*: slots are ordered by owner, then by id.

use crosstalk_core::Fault;

use super::factors::Factors;
use super::node::Node;
use super::rows::Rows;
use crate::exchange::read_numbers;

/// The number of exchanges that [`VectorRoute::agree`] makes.
pub const EXCHANGES: usize = 2;

/// Marks an id that has no slot.
const NONE: u32 = u32::MAX;

/// The owner of a row: the id's remainder, as in Spark's hash partitioner.
pub fn owner_of(id: u32, parts: usize) -> usize {
    id as usize % parts
}

/// Which factor vectors of one side go from each slave to each other one.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorRoute {
    /// Slave → the rows of this one that it needs, in the order of its slots.
    supplies: Vec<Vec<u32>>,
    /// Slave → the number of its rows that are needed here.
    wanted: Vec<usize>,
}

/// Ids below this have a table, whatever their gaps: it is small.
const FEW: usize = 1 << 20;

/// The most table entries per id.
const GAPS: usize = 4;

/// Id → slot; its memory grows with the number of ids, not with the largest one.
pub enum SlotsById {
    /// By id.
    Table(Vec<u32>),
    /// Ids, ascending, and the slot of each.
    List(Vec<u32>, Vec<u32>),
}

impl SlotsById {
    /// An entry without a slot for each of these ids; and each id once, ascending.
    fn of_ids(ids: &[u32]) -> (Self, Vec<u32>) {
        let bound = ids.iter().max().map_or(0, |most| *most as usize + 1);
        if bound > FEW.max(GAPS * ids.len()) {
            let mut once = ids.to_vec();
            once.sort_unstable();
            once.dedup();
            once.shrink_to_fit();
            return (SlotsById::List(once.clone(), vec![NONE; once.len()]), once);
        }
        let mut table = vec![NONE; bound];
        ids.iter().for_each(|id| table[*id as usize] = 0);
        let once = (0..).zip(&table).filter(|(_, mark)| **mark != NONE).map(|(id, _)| id).collect();
        (SlotsById::Table(table), once)
    }

    fn set(&mut self, id: u32, slot: u32) {
        match self {
            SlotsById::Table(table) => table[id as usize] = slot,
            SlotsById::List(ids, slots) => {
                if let Ok(place) = ids.binary_search(&id) {
                    slots[place] = slot;
                }
            }
        }
    }

    /// The slot of a needed id, if its owner has it.
    pub fn slot_of(&self, id: u32) -> Option<u32> {
        let slot = match self {
            SlotsById::Table(table) => table.get(id as usize),
            SlotsById::List(ids, slots) => ids.binary_search(&id).ok().map(|place| &slots[place]),
        };
        slot.copied().filter(|slot| *slot != NONE)
    }
}

impl VectorRoute {
    /// Agrees with all slaves on the rows that each needs: here, those with an id in `ids`. `own`: the rows
    /// of the same side that this slave owns.
    pub fn agree(ids: &[u32], own: &Rows, node: &mut impl Node) -> Result<(Self, SlotsById), Fault> {
        let parts = node.parts();
        let (mut slots, needed_ids) = node.compute(|| distinct(ids, parts));
        let outgoing = node.serialise(|| needed_ids.iter().map(|ids| to_bytes(ids)).collect());
        let questions = node.exchange(outgoing)?;
        let (supplies, answers) = node.compute(|| questions.iter().map(|ids| present(ids, own)).unzip());
        let answers = node.exchange(answers)?;
        let (mut wanted, mut next) = (Vec::new(), 0);
        for (needed, answer) in needed_ids.iter().zip(&answers) {
            if needed.len() != answer.len() {
                return Err(Fault::attempt("a slave answers for other rows than were requested"));
            }
            let before = next;
            for (id, is_there) in needed.iter().zip(answer) {
                slots.set(*id, if *is_there == 1 { next } else { NONE });
                next += u32::from(*is_there);
            }
            wanted.push((next - before) as usize);
        }
        Ok((VectorRoute { supplies, wanted }, slots))
    }

    /// Brings the vectors of other slaves here along this route, and sends them those of this slave that
    /// they need.
    pub fn fetch_vectors(&self, own: &Factors, node: &mut impl Node) -> Result<Factors, Fault> {
        let outgoing = node.serialise(|| self.pack_vectors(own));
        let arrived = node.exchange(outgoing)?;
        node.serialise(|| self.unpack_vectors(arrived, own.rank()))
    }

    /// The messages with the vectors that each slave needs of this one.
    pub fn pack_vectors(&self, own: &Factors) -> Vec<Vec<u8>> {
        let bytes = own.rank() * 4;
        let pack = |rows: &Vec<u32>| {
            let mut buffer = vec![0; rows.len() * bytes];
            for (row, vector) in rows.iter().zip(buffer.chunks_exact_mut(bytes)) {
                for (x, bytes) in own.row(*row as usize).iter().zip(vector.as_chunks_mut::<4>().0) {
                    *bytes = x.to_le_bytes();
                }
            }
            buffer
        };
        self.supplies.iter().map(pack).collect()
    }

    /// The received vectors, by slot; frees the messages.
    pub fn unpack_vectors(&self, arrived: Vec<Vec<u8>>, rank: usize) -> Result<Factors, Fault> {
        let mut factors = Factors::zeros(self.wanted.iter().sum(), rank);
        let mut slot = 0;
        for (buffer, wanted) in arrived.iter().zip(&self.wanted) {
            if buffer.len() != wanted * rank * 4 {
                let found = buffer.len();
                let message = format!("expected {wanted} vectors of {rank} numbers, found {found} bytes");
                return Err(Fault::attempt(message));
            }
            for vector in buffer.chunks_exact(rank * 4) {
                for (x, bytes) in factors.row_mut(slot).iter_mut().zip(vector.as_chunks::<4>().0) {
                    *x = f32::from_le_bytes(*bytes);
                }
                slot += 1;
            }
        }
        Ok(factors)
    }
}

/// An entry for the slots of all ids, and each id once, by owner, ascending.
fn distinct(ids: &[u32], parts: usize) -> (SlotsById, Vec<Vec<u32>>) {
    let (slots, once) = SlotsById::of_ids(ids);
    let mut needed = vec![Vec::new(); parts];
    once.into_iter().for_each(|id| needed[owner_of(id, parts)].push(id));
    (slots, needed)
}

/// The rows with the ascending ids in `question`; and for each id whether there is a row.
fn present(question: &[u8], own: &Rows) -> (Vec<u32>, Vec<u8>) {
    let (mut rows, mut answer, mut row) = (Vec::new(), Vec::new(), 0);
    for id in read_numbers(question) {
        row += own.ids[row..].iter().take_while(|own| **own < id).count();
        let here = own.ids.get(row) == Some(&id);
        answer.push(u8::from(here));
        if here {
            rows.push(row as u32);
        }
    }
    (rows, answer)
}

fn to_bytes(ids: &[u32]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::als::node::UntimedNode;
    use crate::exchange::mock::on_threads;

    #[test]
    fn vectors_travel_to_where_they_are_needed_and_nowhere_else() {
        // Rows 1, 2, 3 and 6 exist; slave 0 needs 1, 2 and 5, slave 1 needs 6. Then the same with
        // large gaps between the ids.
        for far in [0, 2_000_000_000] {
            let wanted: [&[u32]; 2] = [&[5 + far, 2, 1, 2], &[6 + far]];
            let found = on_threads(2, |exchange| {
                let mut node = UntimedNode(exchange);
                let part = node.part();
                let own = Rows { ids: [vec![2, 6 + far], vec![1, 3 + far]][part].clone(), ..Rows::default() };
                let (route, slots) = VectorRoute::agree(wanted[part], &own, &mut node).expect("laid");
                assert_eq!(matches!(slots, SlotsById::List(..)), far > 0);
                let mut factors = Factors::zeros(2, 3);
                own.ids
                    .iter()
                    .enumerate()
                    .for_each(|(row, id)| factors.set_row(row, &[(*id % 10) as f32; 3]));
                let sent: usize = route.pack_vectors(&factors).iter().map(Vec::len).sum();
                let arrived = route.fetch_vectors(&factors, &mut node).expect("brought");
                let first = |id| slots.slot_of(id).map(|slot| arrived.row(slot as usize)[0]);
                (sent, arrived.rows(), [1, 2, 5 + far, 6 + far].map(first))
            });
            assert_eq!(found[0], (24, 2, [Some(1.0), Some(2.0), None, None]));
            assert_eq!(found[1], (12, 1, [None, None, None, Some(6.0)]));
        }
    }

    #[test]
    fn a_message_of_another_length_is_a_fault() {
        let route = VectorRoute { supplies: vec![Vec::new()], wanted: vec![2] };
        assert!(route.unpack_vectors(vec![vec![0; 20]], 3).is_err());
        assert!(route.unpack_vectors(vec![vec![0; 24]], 3).is_ok());
    }
}
