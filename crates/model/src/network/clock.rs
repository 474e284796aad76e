//! A rank's clock: what its virtual time was used for.

use crate::time::VirtualTime;

/// What a rank's virtual time was used for. The parts add up to its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeBreakdown {
    /// Computing.
    pub compute: VirtualTime,
    /// Waiting for messages.
    pub wait: VirtualTime,
    /// Turning data into messages and back: o, O, and serialising.
    pub serialise: VirtualTime,
    /// Moving data to and from the node's disk because its memory is full.
    pub spill: VirtualTime,
}

impl TimeBreakdown {
    /// The sum of all parts, which is the clock's time.
    pub fn total(&self) -> VirtualTime {
        self.compute + self.wait + self.serialise + self.spill
    }

    /// Waits until `end`, where that is later.
    pub(super) fn wait_until(&mut self, end: VirtualTime) {
        self.wait += end.max(self.total()) - self.total();
    }

    /// The CPU handles what is there from `begin` on, for `cpu`, and not before `last` has come. Whatever is
    /// not handling is waiting.
    pub(super) fn handle(&mut self, begin: VirtualTime, cpu: VirtualTime, last: VirtualTime) {
        let before = self.total();
        let end = (before.max(begin) + cpu).max(last);
        self.serialise += cpu;
        self.wait += end - (before + cpu);
    }
}
