//! The rules of a link: how sending and receiving advance the clocks of a node.
//!
//! LogGOPS is by Hoefler, Schneider and Lumsdaine, "LogGOPSim: simulating
//! large-scale applications in the LogGOPS model" (HPDC 2010). It adds the CPU
//! cost per byte (O) to LogGP (Alexandrov et al., SPAA 1995) and LogP (Culler et
//! al., PPoPP 1993). Published tools differ under contention: these are the
//! rules used here. All times are picoseconds of virtual time; `s` is the size
//! of the message in bytes, and `(s − 1)` is zero for an empty message.
//!
//! A node has three servers: its **CPU** (the rank's clock), its **egress NIC**
//! and its **ingress NIC**. The fabric's parameters L, o, g, G, O may depend on
//! the size of the message (`Fabric::costs_for`).
//!
//! **Send**, when the CPU's clock shows `t`:
//! - the CPU is busy until `t + o + (s−1)·O`: it never waits for the NIC (an
//!   unbounded queue of outgoing messages, no rendezvous);
//! - the message leaves at `d = max(t + o, egress free)`; the egress NIC is
//!   busy until `d + g + (s−1)·G`;
//! - its head reaches the receiver at `h = d + L`.
//!
//! **Receive**, when the CPU's clock shows `t`:
//! - the ingress NIC begins to receive the message at `a`, the earliest time from
//!   `h` on at which it is free for `g + (s−1)·G`; it is busy for that long;
//! - the CPU waits for the head if it is not there, `b = max(t, a)`, then handles
//!   the bytes as they arrive, and ends after the last one:
//!   the clock shows `max(b + o + (s−1)·O, a + (s−1)·G + o)`.
//!
//! (LogGOPSim keeps the receiver's CPU busy while the bytes arrive, for
//! `o + (s−1)·max(O, G)`. Here it can compute meanwhile. A single message takes
//! the same time; a stream takes another time if `o > g`.)
//!
//! A single message takes `2o + L + (s−1)·max(O, G)` end to end. A message that
//! has arrived before costs the receiver `o + (s−1)·O`.
//!
//! **Order.** The ingress NIC serves messages in the order of their virtual
//! arrival, but a program receives them in its own order. A message received
//! late is placed in the earliest gap from its head's arrival on: it is not
//! charged for waiting that did not happen. If it collides with a message that
//! was placed before it but arrived after it, the order was wrong. That is
//! counted ([`RankClock::late_messages`]), with the delay of the other message.
//! Messages received together ([`RankClock::receive_all`]) are placed in the right
//! order. Nothing depends on real time: only on the program and the time it
//! computes.
//!
//! **Not modelled.** The rendezvous limit S (every message is eager); switches
//! and shared cables between the NICs; loss. A node's message to itself costs
//! nothing.

mod ingress;

use crate::network::{Charge, TimeBreakdown};
use crate::time::VirtualTime;
use ingress::Ingress;

/// A message that is sent, as its receiver needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When its head reaches the receiver.
    pub head: VirtualTime,
    /// What it costs.
    pub charge: Charge,
}

/// A rank's CPU clock and its two NIC queues, in virtual time.
#[derive(Debug, Clone, Default)]
pub struct RankClock {
    spent: TimeBreakdown,
    egress_free: VirtualTime,
    ingress: Ingress,
}

impl RankClock {
    /// The time that the CPU's clock shows.
    pub fn clock(&self) -> VirtualTime {
        self.spent.total()
    }

    /// What the time was used for.
    pub fn spent(&self) -> TimeBreakdown {
        self.spent
    }

    /// The CPU computes for `time`.
    pub fn compute(&mut self, time: VirtualTime) {
        self.spent.compute += time;
    }

    /// The CPU turns data into messages or back for `time`.
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
        self.egress_free = leaves + charge.card();
        self.spent.serialise += charge.cpu();
        leaves + charge.latency
    }

    /// Receives a message: the clock moves to its completion.
    pub fn receive(&mut self, message: &Arrival) {
        let charge = &message.charge;
        let received = self.ingress.place(message.head, charge.card());
        let before = self.clock();
        let handled = before.max(received) + charge.cpu();
        let complete = received + charge.stream + charge.overhead;
        self.spent.serialise += charge.cpu();
        self.spent.wait += handled.max(complete) - (before + charge.cpu());
    }

    /// The order of messages that are received together: that of their virtual
    /// arrival, then of their senders' ranks. Each message has its sender's rank.
    pub fn arrival_order(messages: &[(usize, Arrival)]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.sort_by_key(|&i| (messages[i].1.head, messages[i].0, i));
        order
    }

    /// Receives messages together, each with its sender's rank.
    pub fn receive_all(&mut self, messages: &[(usize, Arrival)]) {
        for index in Self::arrival_order(messages) {
            self.receive(&messages[index].1);
        }
    }

    /// How many messages were received after one that they should have delayed.
    pub fn late_messages(&self) -> u64 {
        self.ingress.late
    }

    /// The sum of these delays: an upper bound of the error by the order of receiving.
    pub fn late_time(&self) -> VirtualTime {
        self.ingress.late_time
    }
}

#[cfg(test)]
mod tests;
