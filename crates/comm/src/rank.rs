//! A rank: a workload's program communicates through it, and reads its clock.

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::units::Seconds;
use crosstalk_model::{Access, VirtualTime};
use std::collections::VecDeque;
use std::marker::PhantomData;

use crate::clock::{Clock, TimeAccount, TimeUse};
use crate::header::{Collective, Header, Kind};
use crate::link::Message;
use crate::mesh::Mesh;

/// One node's connections to all others, and its clock.
pub struct Rank<'c> {
    id: usize,
    size: usize,
    mesh: Mesh<'c>,
    pub(crate) clock: Clock,
    epoch: u32,
    /// Messages to itself.
    to_self: VecDeque<Message>,
    /// Number of collectives so far: the tag of the current one.
    collectives: u32,
    wildcards: u64,
    /// What the time between two operations is used for.
    between: TimeUse,
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
            to_self: VecDeque::new(),
            collectives: 0,
            wildcards: 0,
            between: TimeUse::Compute,
            stays: PhantomData,
        }
    }

    /// This rank's number, which is the node's, from 0.
    pub fn id(&self) -> usize {
        self.id
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sends `data` to rank `to`, for a receive with the same tag. Messages between two
    /// ranks with the same tag stay in order. Returns without waiting for the receive.
    pub fn send(&mut self, to: usize, tag: u32, data: &[u8]) -> Result<(), Fault> {
        self.operation(|rank| rank.send_message(to, Kind::Point, tag, data))
    }

    /// Receives the next message of rank `from` that carries `tag`.
    pub fn recv(&mut self, from: usize, tag: u32) -> Result<Vec<u8>, Fault> {
        self.operation(|rank| {
            let message = rank.receive_message(from, Kind::Point, tag)?;
            rank.advance_clock(std::slice::from_ref(&(from, &message)));
            Ok(message.body)
        })
    }

    /// Receives a message that carries `tag` from any rank: of those that have arrived,
    /// the first one in virtual time. Which ones have arrived depends on real time. So
    /// such a receive makes an attempt in virtual time unfaithful.
    pub fn recv_any(&mut self, tag: u32) -> Result<(usize, Vec<u8>), Fault> {
        self.operation(|rank| {
            rank.wildcards += 1;
            let (from, message) = rank.mesh.receive_any(|m| m.kind == Kind::Point && m.tag == tag)?;
            rank.advance_clock(std::slice::from_ref(&(from, &message)));
            Ok((from, message.body))
        })
    }

    /// Runs `work` as computing on all cores of the node, assumed to scale ideally: its
    /// CPU time is divided by the number of cores. Work outside of `parallel` uses one core.
    pub fn compute_in_parallel<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.used_for(TimeUse::Parallel, |_| work())
    }

    /// The same for work that spills to disk: the time between two [`Rank::spill`]s is
    /// computing on all cores.
    pub fn compute_in_parallel_spilling<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.used_for(TimeUse::Parallel, work)
    }

    /// Runs `work` as serialising: it turns data into messages or back, on one core.
    pub fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.used_for(TimeUse::Serialise, |_| work())
    }

    /// The same for work that spills to disk: the time between two [`Rank::spill`]s is
    /// serialising.
    pub fn serialise_spilling<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.used_for(TimeUse::Serialise, work)
    }

    /// Runs `work` as spilling: it moves `bytes` that do not fit into memory to or from
    /// the node's disk. In virtual time that takes the emulated disk's time
    /// ([`crosstalk_model::disk_time`]), in real time the time of `work`.
    ///
    /// # Errors
    /// An attempt fault if the emulated node has no disk; or `work`'s.
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

    /// The clock's time since the rank was connected or [`Rank::restart_clock`]: virtual
    /// time, or the wall clock's.
    pub fn now(&self) -> Seconds {
        self.account().total()
    }

    /// How the time was spent. The parts add up to the clock's time.
    pub fn account(&self) -> TimeAccount {
        self.clock.account(self.between)
    }

    /// Waits for all ranks, then sets every rank's clock and account to zero. Messages that
    /// were sent before count as arrived.
    pub fn restart_clock(&mut self) -> Result<(), Fault> {
        self.barrier()?;
        self.operation(|rank| rank.clock.restart());
        self.wildcards = 0;
        self.epoch = self.epoch.wrapping_add(1);
        Ok(())
    }

    /// Waits until all ranks finish, and closes the connections. Returns the fidelity
    /// monitor's counters; `None` in real time.
    pub fn finish(mut self) -> Result<Option<Fidelity>, Fault> {
        self.clock.charge(self.between);
        let fidelity = self.clock.fidelity(self.wildcards, self.size);
        self.mesh.close()?;
        Ok(fidelity)
    }

    /// Runs the body of an operation. Every operation passes here, so that its time does not
    /// count as computing.
    pub(crate) fn operation<R>(&mut self, body: impl FnOnce(&mut Self) -> R) -> R {
        self.clock.charge(self.between);
        let result = body(self);
        self.clock.resume();
        result
    }

    /// For instruments that time messages only: from now on the time between two
    /// operations is not charged to the virtual clock. In real time this has no effect.
    pub fn count_messages_only(&mut self) {
        self.operation(|rank| rank.between = TimeUse::NotCharged);
    }

    fn used_for<R>(&mut self, used: TimeUse, work: impl FnOnce(&mut Self) -> R) -> R {
        self.clock.switch_use(self.between);
        // Also between the operations within `work`.
        let before = std::mem::replace(&mut self.between, used);
        let result = work(self);
        self.between = before;
        self.clock.charge(used);
        self.clock.resume();
        result
    }

    pub(crate) fn send_message(&mut self, to: usize, kind: Kind, tag: u32, data: &[u8]) -> Result<(), Fault> {
        self.check_rank(to)?;
        let head = self.clock.send(to, data.len());
        if to == self.id {
            self.to_self.push_back(Message { kind, tag, head, epoch: self.epoch, body: data.to_vec() });
            return Ok(());
        }
        let header =
            Header { length: data.len() as u64, head, epoch: self.epoch, ..Header::bare(kind, self.id, tag) };
        self.mesh.send(to, header, data)
    }

    pub(crate) fn receive_message(&mut self, from: usize, kind: Kind, tag: u32) -> Result<Message, Fault> {
        self.check_rank(from)?;
        if from != self.id {
            return self.mesh.receive(from, |m| m.kind == kind && m.tag == tag);
        }
        let index = self.to_self.iter().position(|m| m.kind == kind && m.tag == tag);
        index
            .and_then(|index| self.to_self.remove(index))
            .ok_or_else(|| Fault::attempt("it waits for a message from itself that it has not sent").on(from))
    }

    /// The tag of the next collective.
    pub(crate) fn next_collective(&mut self) -> u32 {
        self.collectives = self.collectives.wrapping_add(1);
        self.collectives
    }

    /// Receives a message of the current collective.
    ///
    /// # Errors
    /// Also if the sender has called a different collective.
    pub(crate) fn receive_collective(
        &mut self,
        from: usize,
        which: Collective,
        tag: u32,
    ) -> Result<Message, Fault> {
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

    /// Advances the clock by the arrival of messages that are waited for together. Returns
    /// their order.
    pub(crate) fn advance_clock(&mut self, messages: &[(usize, &Message)]) -> Vec<usize> {
        let arrivals: Vec<_> = messages
            .iter()
            .map(|(from, m)| {
                (*from, m.body.len(), if m.epoch == self.epoch { m.head } else { VirtualTime::ZERO })
            })
            .collect();
        self.clock.receive(&arrivals)
    }

    /// A fault if there is no rank of that number.
    pub(crate) fn check_rank(&self, peer: usize) -> Result<(), Fault> {
        if peer < self.size {
            return Ok(());
        }
        Err(Fault::attempt(format!("expected a rank below {}, found {peer}", self.size)))
    }
}
