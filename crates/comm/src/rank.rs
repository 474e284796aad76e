//! A rank: what a workload's program communicates and tells the time by.

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::units::Seconds;
use crosstalk_model::{Access, VirtualTime};
use std::collections::VecDeque;
use std::marker::PhantomData;

use crate::clock::{Account, Clock, Use};
use crate::header::{Collective, Header, Kind};
use crate::link::Message;
use crate::mesh::Mesh;

/// One node's end of all connections, and its clock.
pub struct Rank<'c> {
    id: usize,
    size: usize,
    mesh: Mesh<'c>,
    pub(crate) clock: Clock,
    epoch: u32,
    /// Messages to itself.
    own: VecDeque<Message>,
    /// Collectives begun so far: the tag of the present one.
    collectives: u32,
    wildcards: u64,
    /// What the time between two operations is used for.
    between: Use,
    /// The clock counts one thread's CPU time: a rank stays in its thread.
    stays: PhantomData<*const ()>,
}

impl<'c> Rank<'c> {
    pub(crate) fn new(part: &Part, mesh: Mesh<'c>) -> Self {
        Rank {
            id: part.node,
            size: part.nodes,
            mesh,
            clock: Clock::new(part.node, part.emulation.as_ref()),
            epoch: 0,
            own: VecDeque::new(),
            collectives: 0,
            wildcards: 0,
            between: Use::Compute,
            stays: PhantomData,
        }
    }

    /// This rank's number, from 0: the node's.
    pub fn id(&self) -> usize {
        self.id
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sends `data` to rank `to`, where a receive with the same tag takes it.
    /// Messages between two ranks with the same tag do not overtake each other.
    /// Returns once `data` may be used again, never waiting for the receive.
    pub fn send(&mut self, to: usize, tag: u32, data: &[u8]) -> Result<(), Fault> {
        self.operation(|rank| rank.put(to, Kind::Point, tag, data))
    }

    /// Receives the next message of rank `from` that carries `tag`.
    pub fn recv(&mut self, from: usize, tag: u32) -> Result<Vec<u8>, Fault> {
        self.operation(|rank| {
            let message = rank.get(from, Kind::Point, tag)?;
            rank.arrived(std::slice::from_ref(&(from, &message)));
            Ok(message.body)
        })
    }

    /// Receives a message that carries `tag` from any rank: of those that are
    /// there, the one that came first in virtual time. Which ones are there
    /// depends on real time, so that in virtual time the fidelity monitor
    /// counts these receives and doubts the attempt.
    pub fn recv_any(&mut self, tag: u32) -> Result<(usize, Vec<u8>), Fault> {
        self.operation(|rank| {
            rank.wildcards += 1;
            let (from, message) = rank.mesh.receive_any(|m| m.kind == Kind::Point && m.tag == tag)?;
            rank.arrived(std::slice::from_ref(&(from, &message)));
            Ok((from, message.body))
        })
    }

    /// Computes on all cores of the node, which is assumed to scale ideally:
    /// the thread's CPU time counts divided by the number of cores. What
    /// happens outside of `parallel` is one core's work.
    pub fn parallel<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.used_for(Use::Parallel, |_| work())
    }

    /// The same of work that turns to the disk now and then: what passes
    /// between two [`Rank::spill`]s is computed on all cores.
    pub fn parallel_spilling<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.used_for(Use::Parallel, work)
    }

    /// Turns data into messages or back, on one core: accounted as serialising.
    pub fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.used_for(Use::Serialise, |_| work())
    }

    /// The same of work that turns to the disk now and then: what passes
    /// between two [`Rank::spill`]s is serialising.
    pub fn serialise_spilling<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.used_for(Use::Serialise, work)
    }

    /// `work` moves `bytes` to or from the node's disk, because they do not fit
    /// into its memory: accounted as spilling. In virtual time it takes what
    /// the node's disk takes ([`crosstalk_model::disk_time`]), in real time what
    /// it takes.
    ///
    /// # Errors
    /// An attempt fault where the emulated node has no disk; or `work`'s.
    pub fn spill<R>(
        &mut self,
        access: Access,
        bytes: u64,
        work: impl FnOnce() -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        self.operation(|rank| {
            rank.clock.has_disk()?;
            let result = work()?;
            rank.clock.spill(access, bytes);
            Ok(result)
        })
    }

    /// What the clock shows: virtual time, or in real time the wall clock;
    /// since the rank was connected or [`Rank::restart_clock`].
    pub fn now(&self) -> Seconds {
        self.account().total()
    }

    /// Where the time went. Its parts add up to the clock.
    pub fn account(&self) -> Account {
        self.clock.account(self.between)
    }

    /// Waits for all ranks to come here, then sets every rank's clock and
    /// account to zero, together. Messages sent before count as arrived.
    pub fn restart_clock(&mut self) -> Result<(), Fault> {
        self.barrier()?;
        self.operation(|rank| rank.clock.restart());
        self.wildcards = 0;
        self.epoch = self.epoch.wrapping_add(1);
        Ok(())
    }

    /// Waits in real time until all ranks are here, and closes the
    /// connections. Returns what the fidelity monitor saw, in virtual time.
    pub fn finish(mut self) -> Result<Option<Fidelity>, Fault> {
        self.clock.charge(self.between);
        let seen = self.clock.fidelity(self.wildcards, self.size);
        self.mesh.close()?;
        Ok(seen)
    }

    /// Where every operation passes: it is outside of the program's computing.
    /// Whoever records operations does it here.
    pub(crate) fn operation<R>(&mut self, body: impl FnOnce(&mut Self) -> R) -> R {
        self.clock.charge(self.between);
        let result = body(self);
        self.clock.resume();
        result
    }

    /// For instruments that time the fabric and nothing else: from here on, what
    /// the program does between two operations is not charged to the virtual
    /// clock. (In real time everything takes the time it takes.)
    pub fn count_messages_only(&mut self) {
        self.operation(|rank| rank.between = Use::Uncounted);
    }

    fn used_for<R>(&mut self, used: Use, work: impl FnOnce(&mut Self) -> R) -> R {
        self.clock.turn_to_work(self.between);
        // Of the operations within, too.
        let before = std::mem::replace(&mut self.between, used);
        let result = work(self);
        self.between = before;
        self.clock.charge(used);
        self.clock.resume();
        result
    }

    pub(crate) fn put(&mut self, to: usize, kind: Kind, tag: u32, data: &[u8]) -> Result<(), Fault> {
        self.known(to)?;
        let head = self.clock.send(to, data.len());
        if to == self.id {
            self.own.push_back(Message { kind, tag, head, epoch: self.epoch, body: data.to_vec() });
            return Ok(());
        }
        let header =
            Header { length: data.len() as u64, head, epoch: self.epoch, ..Header::bare(kind, self.id, tag) };
        self.mesh.send(to, header, data)
    }

    pub(crate) fn get(&mut self, from: usize, kind: Kind, tag: u32) -> Result<Message, Fault> {
        self.known(from)?;
        if from != self.id {
            return self.mesh.receive(from, |m| m.kind == kind && m.tag == tag);
        }
        let index = self.own.iter().position(|m| m.kind == kind && m.tag == tag);
        index
            .and_then(|index| self.own.remove(index))
            .ok_or_else(|| Fault::attempt("it waits for a message from itself that it has not sent").on(from))
    }

    /// The tag of the collective that begins.
    pub(crate) fn next_collective(&mut self) -> u32 {
        self.collectives = self.collectives.wrapping_add(1);
        self.collectives
    }

    /// A message of the present collective; ranks that are in different ones
    /// are told so.
    pub(crate) fn get_step(&mut self, from: usize, which: Collective, tag: u32) -> Result<Message, Fault> {
        let step = |m: &Message| matches!(m.kind, Kind::Collective(_)) && m.tag == tag;
        let message = self.mesh.receive(from, step)?;
        if message.kind == Kind::Collective(which) {
            return Ok(message);
        }
        let (mine, theirs) = (Kind::Collective(which), message.kind);
        Err(Fault::attempt(format!("calls {theirs:?} where node {} calls {mine:?}", self.id))
            .on(from)
            .remedy("let all ranks call the same collectives in the same order"))
    }

    /// Moves the clock over messages asked for together; returns their order.
    pub(crate) fn arrived(&mut self, messages: &[(usize, &Message)]) -> Vec<usize> {
        let arrivals: Vec<_> = messages
            .iter()
            .map(|(from, m)| {
                (*from, m.body.len(), if m.epoch == self.epoch { m.head } else { VirtualTime::ZERO })
            })
            .collect();
        self.clock.receive(&arrivals)
    }

    pub(crate) fn known(&self, peer: usize) -> Result<(), Fault> {
        if peer < self.size {
            return Ok(());
        }
        Err(Fault::attempt(format!("expected a rank below {}, found {peer}", self.size)))
    }
}
