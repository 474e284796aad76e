//! A rank: its clock, its requests, and what it waits for.

use crosstalk_core::Fault;
use smallvec::SmallVec;

use super::clock::TimeBreakdown;
use super::collective::Run;
use super::event::Moment;
use super::matching::{Arrived, NONE, Posted};
use super::operation::{Answer, RequestNumber, Site};
use super::request::{Handle, Ready, Requests, State as RequestState};
use crate::time::VirtualTime;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// It goes on, or its program is running.
    #[default]
    Running,
    /// It waits for requests.
    Waiting,
    /// It waits until it may test a request.
    Testing(RequestNumber),
    /// It waits for all ranks to begin anew.
    AtRestart,
    /// It has ended.
    Finished,
}

/// What a wait ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum WaitKind {
    /// The next round of a collective, or nothing that the program is answered.
    #[default]
    Silent,
    /// A receive without a request.
    Receive,
    /// All of its requests.
    All,
    /// One of its requests.
    Any,
}

/// The requests for which a rank waits.
#[derive(Debug, Default)]
pub(super) struct Wait {
    pub(super) kind: WaitKind,
    pub(super) handles: SmallVec<[Handle; 2]>,
    pub(super) left: usize,
    /// The request numbers of the handles, where the program gave them.
    pub(super) numbers: Box<[RequestNumber]>,
    /// Of [`WaitKind::Any`]: which one is done.
    pub(super) found: Option<usize>,
    /// When what it waits for has left.
    pub(super) left_at: VirtualTime,
    pub(super) site: Site,
}

impl Wait {
    /// The CPU does its part of a request that is done. Once it has, it need not stand by until a message has left: it
    /// handles what else is waited for.
    fn take(&mut self, ready: &Ready, clock: &mut TimeBreakdown) {
        if ready.received.is_some() {
            return ready.handle(clock);
        }
        ready.begin_handling(clock);
        self.left_at = self.left_at.max(ready.whole + ready.after);
    }

    /// Whether all is there that it waits for. Then what it sends has left, too.
    fn is_over(&self, clock: &mut TimeBreakdown) -> bool {
        if self.left == 0 {
            clock.wait_until(self.left_at);
        }
        self.left == 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Rank {
    pub(super) clock: TimeBreakdown,
    pub(super) state: State,
    pub(super) requests: Requests,
    pub(super) posted: Posted,
    pub(super) arrived: Arrived,
    pub(super) wait: Wait,
    pub(super) collective: Option<Box<Run>>,
    /// Its communicators in the network's numbering, by its own, the world not among them; and how many
    /// collectives it has called in each.
    pub(super) communicators: Vec<u32>,
    pub(super) calls: Vec<u32>,
    /// The handles of its requests, by its own numbers.
    pub(super) numbers: Vec<Handle>,
    /// How many messages it has sent, and point-to-point messages among them.
    pub(super) operations: u32,
    pub(super) sent: u64,
}

impl Rank {
    pub(super) fn restart(&mut self) {
        (self.clock, self.state) = (TimeBreakdown::default(), State::Running);
        self.requests.restart();
    }

    pub(super) fn handle(&self, number: RequestNumber) -> Result<Handle, Fault> {
        let handle = self.numbers.get(number as usize).copied().filter(|handle| *handle != NONE);
        handle
            .ok_or_else(|| Fault::usage(format!("request {number} was not begun, or was waited for before")))
    }

    pub(super) fn bind(&mut self, number: RequestNumber, handle: Handle) -> Result<(), Fault> {
        let index = number as usize;
        // A program uses the least number that is free.
        if index > self.numbers.len() {
            return Err(Fault::usage(format!(
                "request {number} comes before request {}",
                self.numbers.len()
            )));
        }
        if index == self.numbers.len() {
            self.numbers.push(NONE);
        }
        if self.numbers[index] != NONE {
            return Err(Fault::usage(format!("request {number} is in use")));
        }
        self.numbers[index] = handle;
        Ok(())
    }

    /// Begins to wait. Returns whether that is over at once.
    pub(super) fn begin_wait(&mut self, wait: Wait) -> bool {
        let (clock, requests) = (&mut self.clock, &mut self.requests);
        self.wait = wait;
        let wait = &mut self.wait;
        let done =
            |index: usize| requests.done(wait.handles[index]).map(|(order, ready)| (order, index, ready));
        let mut there: SmallVec<[(Moment, usize, Ready); 2]> =
            (0..wait.handles.len()).filter_map(done).collect();
        there.sort_unstable_by_key(|(order, ..)| *order);
        wait.left = wait.handles.len() - there.len();
        if wait.kind == WaitKind::Any {
            wait.left = usize::from(there.is_empty());
            there.truncate(1);
            wait.found = there.first().map(|(_, index, _)| *index);
        }
        there.iter().for_each(|(.., ready)| wait.take(ready, clock));
        if wait.left > 0 {
            for handle in &wait.handles {
                let request = requests.get_mut(*handle);
                request.awaited = request.state == RequestState::Pending;
            }
            self.state = State::Waiting;
        }
        wait.is_over(clock)
    }

    /// A request for which it waits is done. Returns whether the wait is over.
    pub(super) fn awaited_is_done(&mut self, handle: Handle) -> bool {
        let (clock, requests, wait) = (&mut self.clock, &mut self.requests, &mut self.wait);
        requests.get_mut(handle).awaited = false;
        if let Some((_, ready)) = requests.done(handle) {
            wait.take(&ready, clock);
        }
        wait.left -= 1;
        if wait.kind == WaitKind::Any {
            wait.found = wait.handles.iter().position(|other| *other == handle);
            wait.handles.iter().for_each(|handle| requests.get_mut(*handle).awaited = false);
        }
        wait.is_over(clock)
    }

    /// The answer at the end of a wait. The requests are gone, but for those of a collective's
    /// round, which are read there first.
    pub(super) fn end_wait(&mut self) -> Option<Answer> {
        self.state = State::Running;
        let wait = std::mem::take(&mut self.wait);
        let received = |requests: &Requests, handle: Handle| {
            requests.done(handle).and_then(|(_, ready)| ready.received).map(|(received, _)| received)
        };
        let end = |rank: &mut Rank, index: usize| {
            let (handle, number) = (wait.handles[index], wait.numbers.get(index));
            let found = received(&rank.requests, handle);
            rank.requests.remove(handle);
            if let Some(number) = number {
                rank.numbers[*number as usize] = NONE;
            }
            found
        };
        match wait.kind {
            WaitKind::Silent if self.collective.is_some() => {
                self.wait.handles = wait.handles;
                None
            }
            WaitKind::Silent => {
                (0..wait.handles.len()).for_each(|index| _ = end(self, index));
                None
            }
            WaitKind::Receive => end(self, 0).map(Answer::Received),
            WaitKind::All => {
                Some(Answer::All((0..wait.handles.len()).map(|index| end(self, index)).collect()))
            }
            WaitKind::Any => wait.found.map(|index| Answer::Any(index as u32, end(self, index))),
        }
    }
}
