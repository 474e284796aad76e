//! Simulates the programs of all ranks under the rules of [`crate::loggops`]. The
//! clocks are those that execution in virtual time uses.
//!
//! A rank's clock depends only on its own program and on when the heads of its
//! messages arrive. Therefore no global order of events is needed: every rank
//! runs until it waits for a message that has not been sent yet. Combining takes
//! no time.

use crosstalk_core::Fault;
use crosstalk_core::fabric::Fabric;
use std::collections::{BTreeMap, VecDeque};

use crate::loggops::{Arrival, RankClock};
use crate::network::Charge;
use crate::rounds::{Action, Round};
use crate::time::VirtualTime;

/// One operation of a simulated rank: it computes, sends or receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Computes for this time.
    Compute(VirtualTime),
    /// Exchanges messages.
    Exchange(Round),
}

/// The operations of one simulated rank, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Its operations, in order.
    pub operations: Vec<Operation>,
    /// The bytes of each of its pieces at the beginning.
    pub sizes: Vec<u64>,
}

impl Program {
    /// A program of one collective, on pieces of these sizes in bytes.
    pub fn of_collective(rounds: Vec<Round>, sizes: Vec<u64>) -> Self {
        Program { operations: rounds.into_iter().map(Operation::Exchange).collect(), sizes }
    }
}

/// Messages between two ranks that have not been received: bytes, and when the head arrives.
type MessageQueue = VecDeque<(u64, VirtualTime)>;

struct Rank {
    program: Program,
    port: RankClock,
    /// How many operations are done.
    done: usize,
    /// Whether the sends of the current exchange are done.
    sent: bool,
}

/// Runs all programs to their end. Returns each rank's port with its clock. `fabric`
/// gives the fabric between two ranks.
///
/// # Errors
/// An attempt fault: a rank waits for a message that is never sent, or sends a piece
/// that it does not have.
pub fn simulate<'f>(
    programs: Vec<Program>,
    fabric: impl Fn(usize, usize) -> &'f Fabric,
) -> Result<Vec<RankClock>, Fault> {
    let start = |program| Rank { program, port: RankClock::default(), done: 0, sent: false };
    let mut ranks: Vec<Rank> = programs.into_iter().map(start).collect();
    let mut in_flight: BTreeMap<(usize, usize), MessageQueue> = BTreeMap::new();
    loop {
        let mut moved = false;
        for (id, rank) in ranks.iter_mut().enumerate() {
            while rank.step(id, &mut in_flight, &fabric)? {
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    match ranks.iter().position(|rank| rank.done < rank.program.operations.len()) {
        Some(rank) => Err(Fault::attempt(format!("rank {rank} waits for a message that no rank sends"))),
        None => Ok(ranks.into_iter().map(|rank| rank.port).collect()),
    }
}

impl Rank {
    /// Advances as far as possible without waiting; false: it could not advance.
    fn step<'f>(
        &mut self,
        id: usize,
        in_flight: &mut BTreeMap<(usize, usize), MessageQueue>,
        fabric: &impl Fn(usize, usize) -> &'f Fabric,
    ) -> Result<bool, Fault> {
        let round = match self.program.operations.get(self.done) {
            None => return Ok(false),
            Some(Operation::Compute(time)) => {
                self.port.compute(*time);
                self.done += 1;
                return Ok(true);
            }
            Some(Operation::Exchange(round)) => round.clone(),
        };
        let first = !std::mem::replace(&mut self.sent, true);
        if first {
            for send in &round.sends {
                let size = self.size(send.piece)?;
                let head = self.port.send(&Charge::for_message(fabric(id, send.to).costs_for(size), size));
                in_flight.entry((id, send.to)).or_default().push_back((size, head));
            }
        }
        let Some(messages) = take_all(&round, id, in_flight) else { return Ok(first) };
        let arrivals: Vec<(usize, Arrival)> = round
            .receives
            .iter()
            .zip(&messages)
            .map(|(receive, &(size, head))| {
                let charge = Charge::for_message(fabric(id, receive.from).costs_for(size), size);
                (receive.from, Arrival { head, charge })
            })
            .collect();
        self.port.receive_all(&arrivals);
        for (receive, (size, _)) in round.receives.iter().zip(messages) {
            if receive.action == Action::Keep {
                let sizes = &mut self.program.sizes;
                sizes.resize(sizes.len().max(receive.piece + 1), 0);
                sizes[receive.piece] = size;
            }
        }
        (self.done, self.sent) = (self.done + 1, false);
        Ok(true)
    }

    fn size(&self, piece: usize) -> Result<u64, Fault> {
        self.program
            .sizes
            .get(piece)
            .copied()
            .ok_or_else(|| Fault::attempt(format!("a rank sends piece {piece}, which it does not have")))
    }
}

/// Takes the messages of a round from the queues; `None`: not all have been sent.
fn take_all(
    round: &Round,
    to: usize,
    in_flight: &mut BTreeMap<(usize, usize), MessageQueue>,
) -> Option<Vec<(u64, VirtualTime)>> {
    let mut needed: BTreeMap<usize, usize> = BTreeMap::new();
    round.receives.iter().for_each(|receive| *needed.entry(receive.from).or_default() += 1);
    let sent = |from: usize| in_flight.get(&(from, to)).map_or(0, VecDeque::len);
    if needed.iter().any(|(from, count)| sent(*from) < *count) {
        return None;
    }
    round.receives.iter().map(|receive| in_flight.get_mut(&(receive.from, to))?.pop_front()).collect()
}

#[cfg(test)]
mod tests;
