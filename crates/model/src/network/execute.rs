//! How a rank's operations are carried out.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use smallvec::SmallVec;

use super::event::{Event, EventKind, Order};
use super::matching::{Key, NONE};
use super::message::Sending;
use super::operation::{
    Answer, CommunicatorNumber, Next, Operation, Pattern, RequestNumber, Site, Source, TimeUse,
};
use super::rank::{State, Wait, WaitKind};
use super::request::{Handle, Purpose, Ready};
use super::simulator::Network;
use crate::disk::disk_time;
use crate::time::VirtualTime;

/// The least time of a test that finds its request undone: a program that tests again and again gets on.
const SHORTEST_TEST: VirtualTime = VirtualTime(1000);

impl Network<'_> {
    /// Lets a rank go on until it waits, or it is not known what it does.
    pub(super) fn run(&mut self, rank: u32, source: &mut impl Source) -> Result<(), Fault> {
        let state = &mut self.ranks[rank as usize];
        if state.state == State::Waiting
            && let Some(answer) = state.end_wait()
        {
            source.answer_rank(rank, answer);
        }
        loop {
            if self.ranks[rank as usize].collective.is_some() {
                // Nobody waits for an answer after the last round: a rank continues once it has its data.
                if self.next_round(rank) == Some(false) {
                    return Ok(());
                }
                continue;
            }
            let (operation, site) = match source.next(rank) {
                Next::Operation(operation, site) => (operation, site),
                Next::NotYet => {
                    self.running.push(rank);
                    return Ok(());
                }
            };
            let locate = |fault: Fault| fault.at(source.call_site(rank, site)).on(rank as usize);
            match self.execute(rank, operation, site).map_err(locate)? {
                Step::GoOn => {}
                Step::Answer(answer) => source.answer_rank(rank, answer),
                Step::Stop => return Ok(()),
            }
        }
    }

    /// Carries out an operation.
    fn execute(&mut self, rank: u32, operation: Operation, site: Site) -> Result<Step, Fault> {
        let state = &mut self.ranks[rank as usize];
        Ok(match operation {
            Operation::Compute { used, nanos } => {
                let time = scaled(self.emulation, nanos, used);
                let clock = &mut self.ranks[rank as usize].clock;
                match used {
                    TimeUse::Serialise => clock.serialise += time,
                    TimeUse::Compute | TimeUse::Parallel => clock.compute += time,
                }
                Step::GoOn
            }
            Operation::Spill { access, bytes } => {
                if let Some(disk) = &self.emulation.node.disk {
                    state.clock.spill += disk_time(disk, access, bytes);
                }
                Step::GoOn
            }
            Operation::Send { communicator, to, tag, bytes, request } => {
                let key = Key { from: rank, communicator: self.communicator(rank, communicator)?, tag };
                self.check_rank(to)?;
                self.begin_send(rank, to, key, bytes, request, site)?
            }
            Operation::Receive { communicator, pattern, request } => {
                let communicator = self.communicator(rank, communicator)?;
                pattern.from.map_or(Ok(()), |from| self.check_rank(from))?;
                self.begin_receive(rank, communicator, pattern, request, site)?
            }
            Operation::WaitAll(numbers) => self.wait_for(rank, WaitKind::All, numbers, site)?,
            Operation::WaitAny(numbers) => self.wait_for(rank, WaitKind::Any, numbers, site)?,
            Operation::Test(number) => {
                state.handle(number)?;
                (state.state, state.wait.site) = (State::Testing(number), site);
                state.operations += 1;
                let order = Order { rank, operation: state.operations };
                let at = state.clock.total();
                self.events.push(Event { at, order, kind: EventKind::Test(rank) });
                Step::Stop
            }
            Operation::Collective(call) => {
                self.begin_collective(rank, &call, site)?;
                Step::GoOn
            }
            Operation::Define { identity, members } => {
                members.iter().try_for_each(|member| self.check_rank(*member))?;
                let communicator = self.communicators.define(identity, members)?;
                let state = &mut self.ranks[rank as usize];
                state.communicators.push(communicator);
                Step::GoOn
            }
            Operation::Restart => {
                (state.state, state.wait.site) = (State::AtRestart, site);
                Step::Stop
            }
            Operation::Account => Step::Answer(Answer::Account(state.clock)),
            Operation::Finish => {
                if state.clock.total() == VirtualTime(u64::MAX) {
                    return Err(Fault::usage("its virtual time is longer than 213 days, where clocks end")
                        .remedy("look for a time or a size that is far too large"));
                }
                state.state = State::Finished;
                Step::Stop
            }
        })
    }

    /// The network's number of a rank's communicator.
    pub(super) fn communicator(&self, rank: u32, number: CommunicatorNumber) -> Result<u32, Fault> {
        match number.checked_sub(1) {
            None => Ok(0),
            Some(own) => {
                let known = self.ranks[rank as usize].communicators.get(own as usize).copied();
                known.ok_or_else(|| Fault::usage(format!("communicator {number} is not defined")))
            }
        }
    }

    fn check_rank(&self, rank: u32) -> Result<(), Fault> {
        match (rank as usize) < self.ranks.len() {
            true => Ok(()),
            false => Err(Fault::usage(format!("expected a rank below {}, found {rank}", self.ranks.len()))),
        }
    }

    fn begin_send(
        &mut self,
        rank: u32,
        to: u32,
        key: Key,
        bytes: u64,
        request: Option<RequestNumber>,
        site: Site,
    ) -> Result<Step, Fault> {
        let state = &mut self.ranks[rank as usize];
        let number = state.sent;
        state.sent += 1;
        let mut handle = NONE;
        let sending = Sending { from: rank, to, key, number, bytes, site };
        let waits = self.send(sending, |network| {
            handle = network.add_request(rank, Purpose::Send(to, key));
            handle
        });
        if let Some(request) = request {
            if !waits {
                handle = self.add_request(rank, Purpose::Send(to, key));
                let moment = self.ranks[rank as usize].clock.total();
                self.make_ready(rank, handle, (moment, Order::default()), Ready::default());
            }
            self.ranks[rank as usize].bind(request, handle)?;
            return Ok(Step::GoOn);
        }
        Ok(match waits && !self.wait_silently(rank, WaitKind::Silent, handle, site) {
            true => Step::Stop,
            false => Step::GoOn,
        })
    }

    fn begin_receive(
        &mut self,
        rank: u32,
        communicator: u32,
        pattern: Pattern,
        request: Option<RequestNumber>,
        site: Site,
    ) -> Result<Step, Fault> {
        let handle = match pattern {
            Pattern { from: Some(from), tag: Some(tag) } => {
                let key = Key { from, communicator, tag };
                let handle = self.add_request(rank, Purpose::Receive(key));
                self.post(rank, key, handle);
                handle
            }
            _ => {
                let handle = self.add_request(rank, Purpose::ReceiveAny(pattern));
                self.post_any(rank, communicator, pattern, handle);
                handle
            }
        };
        if let Some(request) = request {
            self.ranks[rank as usize].bind(request, handle)?;
            return Ok(Step::GoOn);
        }
        if !self.wait_silently(rank, WaitKind::Receive, handle, site) {
            return Ok(Step::Stop);
        }
        Ok(self.ranks[rank as usize].end_wait().map_or(Step::GoOn, Step::Answer))
    }

    pub(super) fn add_request(&mut self, rank: u32, purpose: Purpose) -> Handle {
        let state = &mut self.ranks[rank as usize];
        state.requests.add(purpose, state.clock.total())
    }

    /// Waits for one request without a number. Returns whether that is over at once.
    fn wait_silently(&mut self, rank: u32, kind: WaitKind, handle: Handle, site: Site) -> bool {
        let handles = SmallVec::from_slice(&[handle]);
        self.ranks[rank as usize].begin_wait(Wait { kind, handles, site, ..Wait::default() })
    }

    fn wait_for(
        &mut self,
        rank: u32,
        kind: WaitKind,
        numbers: Box<[RequestNumber]>,
        site: Site,
    ) -> Result<Step, Fault> {
        let state = &mut self.ranks[rank as usize];
        let handles = numbers.iter().map(|number| state.handle(*number)).collect::<Result<_, _>>()?;
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Fault::usage(format!("it waits for request {} twice", pair[0])));
        }
        if kind == WaitKind::Any && numbers.is_empty() {
            return Err(Fault::usage("a wait for any of no requests never ends"));
        }
        if !state.begin_wait(Wait { kind, handles, numbers, site, ..Wait::default() }) {
            return Ok(Step::Stop);
        }
        Ok(state.end_wait().map_or(Step::GoOn, Step::Answer))
    }

    /// Rule 7: a rank tests a request.
    pub(super) fn test(&mut self, rank: u32, source: &mut impl Source) {
        let state = &mut self.ranks[rank as usize];
        let State::Testing(number) = state.state else { return };
        state.state = State::Running;
        self.able.push(rank);
        let handle = state.numbers[number as usize];
        let done = state.requests.done(handle).filter(|(_, ready)| ready.whole <= state.clock.total());
        let answer = done.map(|(_, ready)| {
            ready.handle(&mut state.clock);
            state.requests.remove(handle);
            state.numbers[number as usize] = NONE;
            ready.received.map(|(received, _)| received)
        });
        if answer.is_none() {
            state.clock.wait += self.costs.failed_test().max(SHORTEST_TEST);
        }
        source.answer_rank(rank, Answer::Tested(answer));
    }
}

/// The emulated node's time for `nanos` nanoseconds of CPU time on the host.
pub fn scaled(emulation: &Emulation, nanos: u64, used: TimeUse) -> VirtualTime {
    let node = &emulation.node;
    // Ranks of a node have its cores divided between them.
    let speedup = match used {
        TimeUse::Parallel => node.speedup(emulation.ranks_per_node),
        TimeUse::Compute | TimeUse::Serialise => 1.0,
    };
    VirtualTime::from_seconds(nanos as f64 * 1e-9 / (node.speed * speedup))
}

/// What follows an operation.
enum Step {
    /// The next one.
    GoOn,
    /// The next one, once the program has this answer.
    Answer(Answer),
    /// The rank waits, or has ended.
    Stop,
}
