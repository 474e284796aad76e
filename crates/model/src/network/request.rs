//! What a rank waits for: messages that it receives, and messages whose receivers it waits for.

use super::clock::TimeBreakdown;
use super::event::Moment;
use super::matching::{Key, NONE};
use super::operation::{Pattern, Received};
use crate::time::VirtualTime;

/// A request's index among those of its rank.
pub(super) type Handle = u32;

/// What is left to do for the CPU once the message is there, or has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ready {
    /// When the card begins to receive it, or it leaves.
    pub(super) begin: VirtualTime,
    /// The CPU's part.
    pub(super) cpu: VirtualTime,
    /// When its last byte has come, or has left.
    pub(super) whole: VirtualTime,
    /// What the CPU does after the last byte.
    pub(super) after: VirtualTime,
    /// What was received, and how many bytes.
    pub(super) received: Option<(Received, u64)>,
}

/// What a request is for, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A message to this rank with this tag.
    Send(u32, Key),
    /// A message of a collective or of one sender and tag.
    Receive(Key),
    /// A message of any sender, or with any tag.
    ReceiveAny(Pattern),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not done yet.
    Pending,
    /// Done, at this point in the order of events.
    Ready(Moment, Ready),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) purpose: Purpose,
    /// When it was posted.
    pub(super) posted: VirtualTime,
    pub(super) state: State,
    /// Whether its rank waits for it.
    pub(super) awaited: bool,
    /// The next one that was posted for the same key.
    pub(super) next: Handle,
}

/// The requests of one rank.
#[derive(Debug, Default)]
pub(super) struct Requests {
    all: Vec<Request>,
    free: Vec<Handle>,
}

impl Requests {
    pub(super) fn add(&mut self, purpose: Purpose, posted: VirtualTime) -> Handle {
        let request = Request { purpose, posted, state: State::Pending, awaited: false, next: NONE };
        match self.free.pop() {
            Some(handle) => {
                self.all[handle as usize] = request;
                handle
            }
            None => {
                self.all.push(request);
                self.all.len() as Handle - 1
            }
        }
    }

    pub(super) fn get(&self, handle: Handle) -> &Request {
        &self.all[handle as usize]
    }

    pub(super) fn get_mut(&mut self, handle: Handle) -> &mut Request {
        &mut self.all[handle as usize]
    }

    /// Ends a request; its handle may be used again.
    pub(super) fn remove(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// Clocks begin anew: what is done was done before.
    pub(super) fn restart(&mut self) {
        for request in &mut self.all {
            request.posted = VirtualTime::ZERO;
            if let State::Ready(_, ready) = &mut request.state {
                *ready = Ready { received: ready.received, ..Ready::default() };
            }
        }
    }

    /// Whether it is done, and when among others.
    pub(super) fn done(&self, handle: Handle) -> Option<(Moment, Ready)> {
        match self.get(handle).state {
            State::Pending => None,
            State::Ready(moment, ready) => Some((moment, ready)),
        }
    }
}

impl Ready {
    /// The CPU does its part, and does not wait for the rest.
    pub(super) fn begin_handling(&self, clock: &mut TimeBreakdown) {
        clock.handle(self.begin, self.cpu, self.begin);
    }

    /// The CPU does its part.
    pub(super) fn handle(&self, clock: &mut TimeBreakdown) {
        clock.handle(self.begin, self.cpu, self.whole + self.after);
    }
}
