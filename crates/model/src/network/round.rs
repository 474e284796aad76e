//! How a rank takes part in a collective, round by round: rule 8.

use crosstalk_core::Fault;
use smallvec::SmallVec;

use super::collective::{PieceBytes, Run, piece_bytes};
use super::matching::{COLLECTIVE, Key};
use super::message::Sending;
use super::operation::{Call, Site};
use super::rank::{Wait, WaitKind};
use super::request::{Handle, Purpose};
use super::simulator::Network;
use crate::collective::{self, Action, Position, Round, Steps};
use crate::time::VirtualTime;

impl Network<'_> {
    /// A rank calls a collective.
    pub(super) fn begin_collective(&mut self, rank: u32, call: &Call, site: Site) -> Result<(), Fault> {
        let communicator = self.communicator(rank, call.communicator)?;
        let calls = &mut self.ranks[rank as usize].calls;
        let own = call.communicator as usize;
        calls.resize(calls.len().max(own + 1), 0);
        let number = calls[own];
        calls[own] += 1;
        let known = &mut self.communicators.all[communicator as usize];
        let size = known.size;
        if call.root as usize >= size {
            return Err(Fault::usage(format!("expected a root below {size}, found {}", call.root)));
        }
        known.call(rank, number, call)?;
        let member = self.communicators.number_in(communicator, rank);
        let member = member.ok_or_else(|| Fault::usage("it is no member of the communicator"))?;
        let position = Position { rank: member, size, root: call.root as usize };
        let algorithm = self.choices.find_for(call.operation, size, &call.sizes);
        let steps = Steps::new(call.operation, algorithm, position).expect("the choice fits");
        let pieces = collective::piece_count(call.operation, algorithm, size);
        let bytes = piece_bytes(call, pieces, position)?;
        let receives = SmallVec::new();
        let run = Run { steps, communicator, number, bytes, site, receives };
        self.ranks[rank as usize].collective = Some(Box::new(run));
        Ok(())
    }

    /// Ends a rank's round, if it was in one, and begins the next. Returns whether that has ended, too; `None`
    /// after the last.
    pub(super) fn next_round(&mut self, rank: u32) -> Option<bool> {
        let mut run = self.ranks[rank as usize].collective.take()?;
        self.end_round(rank, &mut run);
        let round = run.steps.next()?;
        let handles = self.begin_round(rank, &run, &round);
        run.receives = round.receives;
        let state = &mut self.ranks[rank as usize];
        let wait = Wait { kind: WaitKind::Silent, handles, site: run.site, ..Wait::default() };
        state.collective = Some(run);
        Some(state.begin_wait(wait))
    }

    /// Posts a round's receives, and sends. Returns the requests to wait for, receives first.
    fn begin_round(&mut self, rank: u32, run: &Run, round: &Round) -> SmallVec<[Handle; 2]> {
        let key = |from| Key { from, communicator: run.communicator | COLLECTIVE, tag: run.number };
        let mut handles = SmallVec::new();
        for receive in &round.receives {
            let key = key(self.communicators.rank(run.communicator, receive.from));
            let handle = self.add_request(rank, Purpose::Receive(key));
            self.post(rank, key, handle);
            handles.push(handle);
        }
        for send in &round.sends {
            let to = self.communicators.rank(run.communicator, send.to);
            let (key, bytes) = (key(rank), run.bytes.of(send.pieces));
            let sending = Sending { from: rank, to, key, number: 0, bytes, site: run.site };
            self.send(sending, |network| {
                let handle = network.add_request(rank, Purpose::Send(to, key));
                handles.push(handle);
                handle
            });
        }
        handles
    }

    /// What follows the messages of a round: they are combined, and their sizes known.
    fn end_round(&mut self, rank: u32, run: &mut Run) {
        let per_byte = self.combine.0 / self.emulation.node.speed;
        let state = &mut self.ranks[rank as usize];
        let handles = std::mem::take(&mut state.wait.handles);
        for (receive, handle) in run.receives.iter().zip(&handles) {
            let received = state.requests.done(*handle).and_then(|(_, ready)| ready.received);
            let bytes = received.map_or(0, |(_, bytes)| bytes);
            match (receive.action, &mut run.bytes) {
                (Action::Combine, _) => {
                    state.clock.compute += VirtualTime::from_seconds(bytes as f64 * per_byte);
                }
                (Action::Keep, PieceBytes::Each(known)) => {
                    let piece = receive.pieces.numbers().next();
                    if let Some(known) = piece.and_then(|piece| known.get_mut(piece)) {
                        *known = bytes;
                    }
                }
                (Action::Keep, _) => {}
            }
        }
        handles.into_iter().for_each(|handle| state.requests.remove(handle));
        run.receives.clear();
    }
}
