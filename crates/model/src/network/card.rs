//! A node's network card: one queue of messages that leave, and one of messages that arrive. Both serve in the
//! order in which messages are ready, whichever of the node's ranks they belong to. A board's link has the same queues,
//! which the board's nodes share.

use crate::time::VirtualTime;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Card {
    leaving_free: VirtualTime,
    arriving_free: VirtualTime,
    /// Messages whose turn to leave is still to come: while there are any, nobody may pass them.
    pub(super) queued: u32,
}

impl Card {
    /// The clocks begin anew, and nothing occupies it.
    pub(super) fn restart(&mut self) {
        *self = Card { queued: self.queued, ..Card::default() };
    }

    /// A message that is ready to leave, and occupies the card for `busy`. Returns when it leaves.
    pub(super) fn leave(&mut self, ready: VirtualTime, busy: VirtualTime) -> VirtualTime {
        let leaves = ready.max(self.leaving_free);
        self.leaving_free = leaves + busy;
        leaves
    }

    /// A message whose head arrives, and that occupies the card for `busy`. Returns when the card begins to
    /// receive it.
    pub(super) fn arrive(&mut self, head: VirtualTime, busy: VirtualTime) -> VirtualTime {
        let begins = head.max(self.arriving_free);
        self.arriving_free = begins + busy;
        begins
    }
}
