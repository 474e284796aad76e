//! A rank: a workload's program communicates through it, and reads its clock.

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::units::Seconds;
use crosstalk_model::Access;
use crosstalk_model::collective::Choices;
use crosstalk_model::network::{self, Answer, Operation};

use std::marker::PhantomData;
use std::panic::Location;
use std::path::PathBuf;

use crate::clock::{CallSite, Clock, TimeAccount, TimeUse, unexpected};
use crate::communicator::Communicator;
use crate::mesh::Mesh;
use crate::request::Requests;
use crate::schedule_file::keep;
use crate::traffic::Traffic;

/// The program's own work on one core.
const COMPUTE: TimeUse = TimeUse::Charged(network::TimeUse::Compute);
const PARALLEL: TimeUse = TimeUse::Charged(network::TimeUse::Parallel);
const SERIALISE: TimeUse = TimeUse::Charged(network::TimeUse::Serialise);

/// One rank's connections to others, and its clock.
pub struct Rank<'c> {
    pub(crate) mesh: Mesh<'c>,
    pub(crate) clock: Clock,
    pub(crate) choices: Choices,
    pub(crate) requests: Requests,
    pub(crate) world: Communicator,
    /// How many communicators it has defined.
    pub(crate) defined: u32,
    /// How many messages the program has sent.
    pub(crate) sent: u64,
    pub(crate) traffic: Traffic,
    /// Where the run's schedule is written.
    pub(crate) keep: Vec<PathBuf>,
    /// What the time between two operations is used for.
    between: TimeUse,
    /// The clock counts one thread's CPU time: a rank stays in its thread.
    stays: PhantomData<*const ()>,
}

impl<'c> Rank<'c> {
    pub(crate) fn new(id: usize, size: usize, mesh: Mesh<'c>, clock: Clock, choices: Choices) -> Self {
        Rank {
            mesh,
            clock,
            choices,
            requests: Requests::default(),
            world: Communicator::world(id, size),
            defined: 0,
            sent: 0,
            traffic: Traffic::default(),
            keep: Vec::new(),
            between: COMPUTE,
            stays: PhantomData,
        }
    }

    /// This rank's number in the world, from 0.
    pub fn id(&self) -> usize {
        self.world.id()
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.world.size()
    }

    /// Runs `work` as computing on all cores of the node: its CPU time is divided by their
    /// speedup ([`crosstalk_core::system::NodeKind::speedup`]). All other work uses one core.
    pub fn compute_in_parallel<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.used_for(PARALLEL, |_| work())
    }

    /// The same for work that spills to disk: the time between two [`Rank::spill`]s is
    /// computing on all cores.
    pub fn compute_in_parallel_spilling<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.used_for(PARALLEL, work)
    }

    /// Runs `work` as serialising: it turns data into messages or back, on one core.
    pub fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.used_for(SERIALISE, |_| work())
    }

    /// The same for work that spills to disk: the time between two [`Rank::spill`]s is
    /// serialising.
    pub fn serialise_spilling<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.used_for(SERIALISE, work)
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
    ///
    /// # Errors
    /// If other ranks are gone.
    #[track_caller]
    pub fn now(&mut self) -> Result<Seconds, Fault> {
        self.account_at(Location::caller()).map(|account| account.total())
    }

    /// How the time was spent. The parts add up to the clock's time.
    ///
    /// # Errors
    /// If other ranks are gone.
    #[track_caller]
    pub fn account(&mut self) -> Result<TimeAccount, Fault> {
        self.account_at(Location::caller())
    }

    /// Marks a point in the program, whose time [`Rank::marked_times`] returns. In virtual time it waits for nothing, so
    /// that no other rank computes on this one's core meanwhile and empties its caches.
    pub fn mark_time(&mut self) {
        self.operation(|rank| rank.clock.mark());
    }

    /// The clock's time at each mark since this was called last.
    ///
    /// # Errors
    /// If other ranks are gone.
    pub fn marked_times(&mut self) -> Result<Vec<Seconds>, Fault> {
        self.operation(|rank| rank.clock.marked(&mut rank.mesh))
    }

    fn account_at(&mut self, at: CallSite) -> Result<TimeAccount, Fault> {
        self.operation(|rank| rank.clock.account(&mut rank.mesh, at))
    }

    /// The run's schedule is not to be kept: its result is wrong.
    pub fn drop_schedule(&mut self) {
        self.keep.clear();
    }

    /// What the program has sent since its clock was restarted.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Waits for all ranks, then sets every rank's clock and account to zero. Messages that
    /// were sent before count as arrived.
    ///
    /// # Errors
    /// If ranks wait for each other, or are gone.
    #[track_caller]
    pub fn restart_clock(&mut self) -> Result<(), Fault> {
        let at = Location::caller();
        if matches!(self.clock, Clock::Real(_)) {
            self.world().barrier_at(at)?;
        }
        self.operation(|rank| {
            if let Some(server) = rank.clock.server() {
                match server.ask(&mut rank.mesh, &Operation::Restart, at)? {
                    Answer::Done => {}
                    other => return Err(unexpected(&other)),
                }
            }
            rank.clock.restart();
            rank.traffic = Traffic::default();
            Ok(())
        })
    }

    /// Waits until all ranks finish, and closes the connections. Returns the fidelity
    /// monitor's counters; `None` in real time.
    ///
    /// # Errors
    /// If a message was never received, or ranks are gone; or if the schedule cannot be written to its file.
    #[track_caller]
    pub fn finish(mut self) -> Result<Option<Fidelity>, Fault> {
        let at = Location::caller();
        self.clock.charge(self.between);
        let size = self.size();
        let finished = self.clock.finish(&mut self.mesh, size, at)?;
        self.mesh.close()?;
        if let Some((from, tag, bytes)) = self.mesh.left_over() {
            return Err(Fault::attempt(format!(
                "a message of {bytes} bytes with tag {tag} from rank {from} was never received"
            ))
            .on(self.world.id())
            .remedy("receive it, or do not send it"));
        }
        let Some((fidelity, recorded)) = finished else { return Ok(None) };
        if let Some(recorded) = recorded {
            self.keep.into_iter().try_for_each(|file| keep(file, &recorded))?;
        }
        Ok(Some(fidelity))
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
        self.clock.charge(self.between);
        self.between = TimeUse::NotCharged;
        self.clock.resume();
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
}
