//! What is still to happen, in the order of virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::VirtualTime;

/// What is to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EventKind {
    /// The head of a message, by its index, reaches its receiver.
    Arrive(u32),
    /// A message is ready to leave through its sender's card.
    Leave(u32),
    /// The head of a message reaches the link that its sender's board shares.
    LeaveBoard(u32),
    /// The head of a message reaches the link that its receiver's board shares.
    ArriveAtBoard(u32),
    /// A rank tests a request.
    Test(u32),
}

/// Something that happens. At equal times, the rank's number decides, then the order of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) at: VirtualTime,
    pub(super) order: Order,
    pub(super) kind: EventKind,
}

/// A point in the order of events: by time, then by what belongs to it.
pub(super) type Moment = (VirtualTime, Order);

/// Whose operation it is, and which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Order {
    pub(super) rank: u32,
    pub(super) operation: u32,
}

/// Events, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Events(BinaryHeap<Reverse<Event>>);

impl Events {
    pub(super) fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }

    pub(super) fn first(&self) -> Option<&Event> {
        self.0.peek().map(|Reverse(event)| event)
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.0.pop().map(|Reverse(event)| event)
    }
}
