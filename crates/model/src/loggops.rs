//! The rules of a link: what sending and receiving do to the clocks of a node.
//!
//! LogGOPS after Hoefler, Schneider and Lumsdaine, "LogGOPSim: simulating
//! large-scale applications in the LogGOPS model" (HPDC 2010), which adds the
//! cost a byte on the CPU (O) to LogGP (Alexandrov et al., SPAA 1995) and LogP
//! (Culler et al., PPoPP 1993). Published tools differ in what they do under
//! contention, so the rules are spelled out here. All times in picoseconds of
//! virtual time; `s` is the size of the message in bytes, and `(s − 1)` is
//! zero for an empty message.
//!
//! A node has three servers: its **CPU** (the rank's clock), its **egress NIC**
//! and its **ingress NIC**. The fabric's parameters L, o, g, G, O may depend on
//! the size of the message (`Fabric::costs_for`).
//!
//! **Send**, when the CPU's clock shows `t`:
//! - the CPU is busy until `t + o + (s−1)·O`, and goes on: it never waits for
//!   the NIC (an unbounded queue of outgoing messages, no rendezvous);
//! - the message leaves at `d = max(t + o, egress free)`; the egress NIC is
//!   busy until `d + g + (s−1)·G`;
//! - its head reaches the receiver at `h = d + L`.
//!
//! **Receive**, when the CPU's clock shows `t`:
//! - the ingress NIC takes the message in at `a`, the earliest time from `h` on
//!   at which it is free for `g + (s−1)·G`, which it then is busy for;
//! - the CPU waits for the head if need be, `b = max(t, a)`, then handles the
//!   bytes as they stream in, but is not done before the last one came:
//!   the clock shows `max(b + o + (s−1)·O, a + (s−1)·G + o)`.
//!
//! (LogGOPSim keeps the receiver's CPU busy while the bytes stream in, for
//! `o + (s−1)·max(O, G)`. Here it is free to compute meanwhile; a message alone
//! takes the same time, a stream differs where `o > g`.)
//!
//! So a message alone takes `2o + L + (s−1)·max(O, G)` end to end, and one that
//! has long arrived costs the receiver `o + (s−1)·O`.
//!
//! **Order.** The ingress NIC serves messages in the order of their virtual
//! arrival, but a program asks for them in its own order. A message asked for
//! late is put into the earliest gap at or after its head's arrival, so that it
//! is not charged for waiting that did not happen. Where it would have come
//! before one that was placed already, and the two collide, the order was
//! wrong; that is counted ([`Port::late_hand_overs`]), with the time by which
//! the earlier-placed message would have been later. Messages asked for
//! together ([`Port::receive_all`]) are placed in the right order. Nothing
//! depends on real time: only on the program and the time it computes.
//!
//! **Not modelled.** The rendezvous limit S (every message is eager); switches
//! and shared cables between the NICs; loss. A node's message to itself costs
//! nothing.

mod ingress;

use crosstalk_core::fabric::Costs;

use crate::time::VirtualTime;
use ingress::Ingress;

/// The costs of one message, in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charge {
    /// L.
    pub latency: VirtualTime,
    /// o.
    pub overhead: VirtualTime,
    /// (s − 1)·O: CPU time for the bytes, on each side.
    pub handling: VirtualTime,
    /// g.
    pub gap: VirtualTime,
    /// (s − 1)·G: from the head of the message to its last byte.
    pub stream: VirtualTime,
}

impl Charge {
    /// What a message of `size` bytes costs under `costs`.
    pub fn of(costs: &Costs, size: u64) -> Self {
        let bytes = size.saturating_sub(1);
        Charge {
            latency: costs.latency.into(),
            overhead: costs.overhead.into(),
            handling: VirtualTime::times(bytes, costs.overhead_per_byte),
            gap: costs.gap.into(),
            stream: VirtualTime::times(bytes, costs.gap_per_byte),
        }
    }

    /// The CPU's part on each side.
    pub fn cpu(&self) -> VirtualTime {
        self.overhead + self.handling
    }

    /// The NIC's part on each side.
    pub fn nic(&self) -> VirtualTime {
        self.gap + self.stream
    }
}

/// Where a rank's virtual time went. The parts add up to its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Computing.
    pub compute: VirtualTime,
    /// Waiting for messages.
    pub wait: VirtualTime,
    /// Turning data into messages and back: o, O, and serialising.
    pub serialise: VirtualTime,
    /// Moving to and from the node's disk what does not fit into its memory.
    pub spill: VirtualTime,
}

impl Spent {
    /// All of it: the clock.
    pub fn total(&self) -> VirtualTime {
        self.compute + self.wait + self.serialise + self.spill
    }
}

/// A message on its way, as the receiver's clocks need to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When its head reaches the receiver.
    pub head: VirtualTime,
    /// What it costs.
    pub charge: Charge,
}

/// A node's CPU clock and its two NIC queues.
#[derive(Debug, Clone, Default)]
pub struct Port {
    spent: Spent,
    egress_free: VirtualTime,
    ingress: Ingress,
}

impl Port {
    /// What the CPU's clock shows.
    pub fn clock(&self) -> VirtualTime {
        self.spent.total()
    }

    /// Where the time went.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The CPU computes for `time`.
    pub fn compute(&mut self, time: VirtualTime) {
        self.spent.compute += time;
    }

    /// The CPU turns data into bytes or back for `time`.
    pub fn serialise(&mut self, time: VirtualTime) {
        self.spent.serialise += time;
    }

    /// The CPU waits for its disk for `time`.
    pub fn spill(&mut self, time: VirtualTime) {
        self.spent.spill += time;
    }

    /// Sends a message now; returns when its head reaches the receiver.
    pub fn send(&mut self, charge: &Charge) -> VirtualTime {
        let leaves = (self.clock() + charge.overhead).max(self.egress_free);
        self.egress_free = leaves + charge.nic();
        self.spent.serialise += charge.cpu();
        leaves + charge.latency
    }

    /// Receives a message: the clock moves to its completion.
    pub fn receive(&mut self, message: &Arrival) {
        let charge = &message.charge;
        let taken = self.ingress.place(message.head, charge.nic());
        let before = self.clock();
        let handled = before.max(taken) + charge.cpu();
        let complete = taken + charge.stream + charge.overhead;
        self.spent.serialise += charge.cpu();
        self.spent.wait += handled.max(complete) - (before + charge.cpu());
    }

    /// The order in which messages asked for together are received: that of
    /// their virtual arrival, ties by the rank they come from.
    pub fn arrival_order(messages: &[(usize, Arrival)]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.sort_by_key(|&i| (messages[i].1.head, messages[i].0, i));
        order
    }

    /// Receives messages asked for together, each with the rank it comes from.
    pub fn receive_all(&mut self, messages: &[(usize, Arrival)]) {
        for index in Self::arrival_order(messages) {
            self.receive(&messages[index].1);
        }
    }

    /// How many messages were asked for later than one that they would have delayed.
    pub fn late_hand_overs(&self) -> u64 {
        self.ingress.late
    }

    /// The sum of these delays: an upper bound of what the order of asking changed.
    pub fn late_time(&self) -> VirtualTime {
        self.ingress.late_time
    }
}

#[cfg(test)]
mod tests;
