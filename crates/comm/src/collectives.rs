//! Collective operations. They execute the steps of `crosstalk_model::collective`.
//! All ranks must call the same operations in the same order.

use crosstalk_core::Fault;
use crosstalk_model::rounds::{self as collective, Action, Round};

use crate::clock::TimeUse;
use crate::header::{Collective, Kind};
use crate::link::Message;
use crate::rank::Rank;

/// The operation by which a reduction combines numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceOp {
    /// a + b.
    Sum,
    /// The smaller, by IEEE 754's total order.
    Min,
    /// The larger, by IEEE 754's total order.
    Max,
}

type Pieces = Vec<Vec<u8>>;

impl Rank<'_> {
    /// Waits until all ranks have called it.
    pub fn barrier(&mut self) -> Result<(), Fault> {
        self.operation(|rank| {
            let rounds = collective::barrier(rank.id(), rank.size());
            rank.execute(Collective::Barrier, &rounds, &mut vec![Vec::new()], None)
        })
    }

    /// Every rank gets the root's `data`.
    pub fn bcast(&mut self, root: usize, data: &mut Vec<u8>) -> Result<(), Fault> {
        self.check_rank(root)?;
        self.operation(|rank| {
            let rounds = collective::bcast(rank.id(), rank.size(), root);
            let mut pieces = vec![std::mem::take(data)];
            rank.execute(Collective::Broadcast, &rounds, &mut pieces, None)?;
            *data = pieces.swap_remove(0);
            Ok(())
        })
    }

    /// Combines all ranks' `data` element by element, and stores the result in the root's
    /// `data`. All must have the same length.
    pub fn reduce(&mut self, root: usize, data: &mut [f64], op: ReduceOp) -> Result<(), Fault> {
        self.check_rank(root)?;
        self.operation(|rank| {
            let rounds = collective::reduce(rank.id(), rank.size(), root);
            let mut pieces = vec![to_bytes(data)];
            rank.execute(Collective::Reduce, &rounds, &mut pieces, Some(op))?;
            if rank.id() == root {
                from_bytes(data, &pieces[0]);
            }
            Ok(())
        })
    }

    /// Combines all ranks' `data` element by element, and stores the result in every rank's
    /// `data`, equal bit by bit. All must have the same length.
    pub fn allreduce(&mut self, data: &mut [f64], op: ReduceOp) -> Result<(), Fault> {
        self.operation(|rank| {
            let (count, rounds) = collective::allreduce(rank.id(), rank.size(), size_of_val(data) as u64);
            let length = data.len();
            let bounds = |piece: usize| piece * length / count..(piece + 1) * length / count;
            let mut pieces: Pieces = (0..count).map(|piece| to_bytes(&data[bounds(piece)])).collect();
            rank.execute(Collective::Allreduce, &rounds, &mut pieces, Some(op))?;
            for (piece, bytes) in pieces.iter().enumerate() {
                from_bytes(&mut data[bounds(piece)], bytes);
            }
            Ok(())
        })
    }

    /// Returns every rank's `data` to the root, by rank, and `None` to the others.
    pub fn gather(&mut self, root: usize, data: &[u8]) -> Result<Option<Vec<Vec<u8>>>, Fault> {
        self.check_rank(root)?;
        self.operation(|rank| {
            let rounds = collective::gather(rank.id(), rank.size(), root);
            let mut pieces = rank.own_piece(data);
            rank.execute(Collective::Gather, &rounds, &mut pieces, None)?;
            Ok((rank.id() == root).then_some(pieces))
        })
    }

    /// Every rank gets its part of the root's `data`, which has one part for each
    /// rank. The `data` of other ranks is ignored.
    pub fn scatter(&mut self, root: usize, data: Vec<Vec<u8>>) -> Result<Vec<u8>, Fault> {
        self.check_rank(root)?;
        self.operation(|rank| {
            let rounds = collective::scatter(rank.id(), rank.size(), root);
            let mut pieces = if rank.id() == root { rank.one_each(data)? } else { rank.own_piece(&[]) };
            rank.execute(Collective::Scatter, &rounds, &mut pieces, None)?;
            Ok(pieces.swap_remove(rank.id()))
        })
    }

    /// Every rank gets every rank's `data`, by rank.
    pub fn allgather(&mut self, data: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        self.operation(|rank| {
            let rounds = collective::allgather(rank.id(), rank.size());
            let mut pieces = rank.own_piece(data);
            rank.execute(Collective::Allgather, &rounds, &mut pieces, None)?;
            Ok(pieces)
        })
    }

    /// Every rank sends each rank one part, and gets one part from each, by rank. All
    /// parts must have the same length.
    pub fn alltoall(&mut self, data: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        let bytes = data.first().map_or(0, Vec::len);
        if data.iter().any(|part| part.len() != bytes) {
            return Err(Fault::attempt("alltoall expects parts of equal length, found different ones")
                .remedy("use alltoallv"));
        }
        self.operation(|rank| {
            let rounds = collective::alltoall(rank.id(), rank.size(), bytes as u64);
            rank.exchange(data, &rounds)
        })
    }

    /// Every rank sends each rank one part, and gets one part from each, by rank. Parts
    /// may have any length.
    pub fn alltoallv(&mut self, data: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        self.operation(|rank| {
            let rounds = collective::alltoall_linear(rank.id(), rank.size());
            rank.exchange(data, &rounds)
        })
    }

    fn exchange(&mut self, data: Vec<Vec<u8>>, rounds: &[Round]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut pieces = self.one_each(data)?;
        pieces.resize_with(2 * self.size(), Vec::new);
        pieces[self.size() + self.id()] = std::mem::take(&mut pieces[self.id()]);
        self.execute(Collective::Alltoall, rounds, &mut pieces, None)?;
        Ok(pieces.split_off(self.size()))
    }

    fn own_piece(&self, data: &[u8]) -> Pieces {
        let mut pieces = vec![Vec::new(); self.size()];
        pieces[self.id()] = data.to_vec();
        pieces
    }

    fn one_each(&self, data: Vec<Vec<u8>>) -> Result<Pieces, Fault> {
        if data.len() == self.size() {
            return Ok(data);
        }
        Err(Fault::attempt(format!(
            "expected one part for each of {} ranks, found {}",
            self.size(),
            data.len()
        )))
    }

    /// Executes the rounds of one collective. Combining is charged as computing.
    fn execute(
        &mut self,
        which: Collective,
        rounds: &[Round],
        pieces: &mut Pieces,
        op: Option<ReduceOp>,
    ) -> Result<(), Fault> {
        let tag = self.next_collective();
        for round in rounds {
            for send in &round.sends {
                self.send_message(send.to, Kind::Collective(which), tag, &pieces[send.piece])?;
                if which == Collective::Alltoall {
                    // It is sent to one rank only: free its memory before receiving.
                    pieces[send.piece] = Vec::new();
                }
            }
            let mut messages: Vec<(usize, Message)> = Vec::with_capacity(round.receives.len());
            for receive in &round.receives {
                messages.push((receive.from, self.receive_collective(receive.from, which, tag)?));
            }
            self.advance_clock(&messages.iter().map(|(from, message)| (*from, message)).collect::<Vec<_>>());
            for (receive, (from, message)) in round.receives.iter().zip(messages) {
                match (receive.action, op) {
                    (Action::Combine, Some(op)) => {
                        self.combine(&mut pieces[receive.piece], &message.body, op, from)?
                    }
                    _ => pieces[receive.piece] = message.body,
                }
            }
        }
        Ok(())
    }

    fn combine(&mut self, mine: &mut [u8], theirs: &[u8], op: ReduceOp, from: usize) -> Result<(), Fault> {
        if mine.len() != theirs.len() {
            return Err(Fault::attempt(format!(
                "reduces {} numbers where node {} reduces {}",
                theirs.len() / 8,
                self.id(),
                mine.len() / 8
            ))
            .on(from));
        }
        self.clock.resume();
        combine(mine, theirs, op);
        self.clock.charge(TimeUse::Compute);
        Ok(())
    }
}

fn combine(mine: &mut [u8], theirs: &[u8], op: ReduceOp) {
    let apply = match op {
        ReduceOp::Sum => |a: f64, b: f64| a + b,
        ReduceOp::Min => |a: f64, b: f64| if a.total_cmp(&b).is_le() { a } else { b },
        ReduceOp::Max => |a: f64, b: f64| if a.total_cmp(&b).is_ge() { a } else { b },
    };
    let (mine, _) = mine.as_chunks_mut::<8>();
    let (theirs, _) = theirs.as_chunks::<8>();
    for (a, b) in mine.iter_mut().zip(theirs) {
        *a = apply(f64::from_le_bytes(*a), f64::from_le_bytes(*b)).to_le_bytes();
    }
}

fn to_bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// `bytes` has as many numbers as `numbers`: reductions check lengths.
fn from_bytes(numbers: &mut [f64], bytes: &[u8]) {
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *number = f64::from_le_bytes(*bytes);
    }
}
