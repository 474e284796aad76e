//! Runs the programs of all ranks under the rules of [`crate::loggops`], without
//! a machine: what would it cost? The clocks are those that execution uses.
//!
//! Since a rank's clock depends only on its own program and on when the heads of
//! its messages arrive, no global order of events is needed: every rank runs
//! until it waits for a message that has not been sent yet. Combining takes
//! no time.

use crosstalk_core::Fault;
use crosstalk_core::fabric::Fabric;
use std::collections::{BTreeMap, VecDeque};

use crate::collective::{Action, Round};
use crate::loggops::{Arrival, Charge, Port};
use crate::time::VirtualTime;

/// What a rank does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Computes for so long.
    Compute(VirtualTime),
    /// Exchanges messages.
    Exchange(Round),
}

/// What a rank does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// In order.
    pub acts: Vec<Act>,
    /// How many bytes each of its pieces holds at first.
    pub sizes: Vec<u64>,
}

impl Program {
    /// One collective on pieces of these sizes.
    pub fn of(rounds: Vec<Round>, sizes: Vec<u64>) -> Self {
        Program { acts: rounds.into_iter().map(Act::Exchange).collect(), sizes }
    }
}

/// A message on its way: its size and when its head arrives.
type Wire = VecDeque<(u64, VirtualTime)>;

struct Rank {
    program: Program,
    port: Port,
    /// Acts done.
    done: usize,
    /// Whether the sends of the present exchange are done.
    sent: bool,
}

/// The clocks of all ranks when their programs have ended. `fabric` joins two
/// ranks. A fault if some wait for messages that are never sent.
pub fn simulate<'f>(
    programs: Vec<Program>,
    fabric: impl Fn(usize, usize) -> &'f Fabric,
) -> Result<Vec<Port>, Fault> {
    let start = |program| Rank { program, port: Port::default(), done: 0, sent: false };
    let mut ranks: Vec<Rank> = programs.into_iter().map(start).collect();
    let mut wires: BTreeMap<(usize, usize), Wire> = BTreeMap::new();
    loop {
        let mut moved = false;
        for (id, rank) in ranks.iter_mut().enumerate() {
            while rank.step(id, &mut wires, &fabric)? {
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    match ranks.iter().position(|rank| rank.done < rank.program.acts.len()) {
        Some(stuck) => Err(Fault::attempt(format!("rank {stuck} waits for a message that no rank sends"))),
        None => Ok(ranks.into_iter().map(|rank| rank.port).collect()),
    }
}

impl Rank {
    /// Does what can be done at once; false when that is nothing.
    fn step<'f>(
        &mut self,
        id: usize,
        wires: &mut BTreeMap<(usize, usize), Wire>,
        fabric: &impl Fn(usize, usize) -> &'f Fabric,
    ) -> Result<bool, Fault> {
        let round = match self.program.acts.get(self.done) {
            None => return Ok(false),
            Some(Act::Compute(time)) => {
                self.port.compute(*time);
                self.done += 1;
                return Ok(true);
            }
            Some(Act::Exchange(round)) => round.clone(),
        };
        let first = !std::mem::replace(&mut self.sent, true);
        if first {
            for send in &round.sends {
                let size = self.size(send.piece)?;
                let head = self.port.send(&Charge::of(fabric(id, send.to).costs_for(size), size));
                wires.entry((id, send.to)).or_default().push_back((size, head));
            }
        }
        let Some(messages) = take_all(&round, id, wires) else { return Ok(first) };
        let arrivals: Vec<(usize, Arrival)> = round
            .receives
            .iter()
            .zip(&messages)
            .map(|(receive, &(size, head))| {
                let charge = Charge::of(fabric(id, receive.from).costs_for(size), size);
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
            .ok_or_else(|| Fault::attempt(format!("a rank sends piece {piece}, which it does not hold")))
    }
}

/// Takes the round's messages off their wires, once all are there.
fn take_all(
    round: &Round,
    to: usize,
    wires: &mut BTreeMap<(usize, usize), Wire>,
) -> Option<Vec<(u64, VirtualTime)>> {
    let mut needed: BTreeMap<usize, usize> = BTreeMap::new();
    round.receives.iter().for_each(|receive| *needed.entry(receive.from).or_default() += 1);
    let there = |from: usize| wires.get(&(from, to)).map_or(0, VecDeque::len);
    if needed.iter().any(|(from, count)| there(*from) < *count) {
        return None;
    }
    round.receives.iter().map(|receive| wires.get_mut(&(receive.from, to))?.pop_front()).collect()
}

#[cfg(test)]
mod tests;
