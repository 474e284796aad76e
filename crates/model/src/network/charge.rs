//! What a message costs, by the fabric and the message-passing library.

use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};

use crosstalk_core::units::Seconds;

use crate::time::VirtualTime;

/// The costs of one message, in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charge {
    /// L.
    pub latency: VirtualTime,
    /// o.
    pub overhead: VirtualTime,
    /// (s − 1)·O: CPU time for the bytes, at sender and receiver each.
    pub handling: VirtualTime,
    /// g.
    pub gap: VirtualTime,
    /// (s − 1)·G: from the head of the message to its last byte.
    pub stream: VirtualTime,
}

impl Charge {
    /// The charge of a message of `size` bytes under `costs`.
    pub fn for_message(costs: &Costs, size: u64) -> Self {
        let bytes = size.saturating_sub(1);
        Charge {
            latency: costs.latency.into(),
            overhead: costs.overhead.into(),
            handling: VirtualTime::product(bytes, costs.overhead_per_byte),
            gap: costs.gap.into(),
            stream: VirtualTime::product(bytes, costs.gap_per_byte),
        }
    }

    /// How long the CPU is busy, at sender and receiver each.
    pub fn cpu(&self) -> VirtualTime {
        self.overhead + self.handling
    }

    /// How long the card is busy, at sender and receiver each.
    pub fn card(&self) -> VirtualTime {
        self.gap + self.stream
    }
}

/// What a message takes of the link of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passage {
    /// s·U: how long it occupies the link. An empty message does so as one byte does: none is passed by the next.
    pub(super) busy: VirtualTime,
    /// (s − 1)·U: from its head to its last byte.
    pub(super) stream: VirtualTime,
}

/// The route of a message from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// To itself: free.
    Own,
    /// Through the memory of their node.
    Memory,
    /// Through the cards of their nodes.
    Cards,
}

/// The costs of messages between the ranks of an emulated cluster.
#[derive(Debug)]
pub(super) struct CostModel<'e> {
    emulation: &'e Emulation,
    ranks_per_node: u32,
    eager_limit: u64,
    /// What the library adds.
    overhead: VirtualTime,
    /// How long it prepares the data of a message above the eager limit.
    pub(super) preparation: VirtualTime,
}

impl<'e> CostModel<'e> {
    pub(super) fn new(emulation: &'e Emulation) -> Self {
        let mpi = emulation.mpi.as_ref();
        CostModel {
            emulation,
            ranks_per_node: emulation.ranks_per_node,
            eager_limit: mpi.and_then(|mpi| mpi.eager_limit).map_or(u64::MAX, |limit| limit.0),
            overhead: mpi.map_or(VirtualTime::ZERO, |mpi| mpi.overhead.into()),
            preparation: mpi.map_or(VirtualTime::ZERO, |mpi| mpi.rendezvous.into()),
        }
    }

    /// The node of a rank.
    pub(super) fn node(&self, rank: u32) -> u32 {
        rank / self.ranks_per_node
    }

    pub(super) fn route(&self, from: u32, to: u32) -> Route {
        match self.node(from) == self.node(to) {
            _ if from == to => Route::Own,
            true => Route::Memory,
            false => Route::Cards,
        }
    }

    /// Whether the sender of such a message waits for its receiver.
    pub(super) fn is_rendezvous(&self, route: Route, bytes: u64) -> bool {
        route == Route::Cards && bytes > self.eager_limit
    }

    /// The charge of a message that is sent at once.
    pub(super) fn eager(&self, from: u32, to: u32, bytes: u64) -> Charge {
        let charge = self.data(from, to, bytes);
        let copied = match (self.route(from, to), &self.emulation.mpi) {
            (Route::Cards, Some(mpi)) => VirtualTime::product(bytes.saturating_sub(1), mpi.eager_copy),
            _ => VirtualTime::ZERO,
        };
        Charge { handling: charge.handling + copied, ..charge }
    }

    /// The charge of a message whose receiver waits for it.
    pub(super) fn data(&self, from: u32, to: u32, bytes: u64) -> Charge {
        let Some(fabric) = self.fabric(from, to) else { return Charge::default() };
        let charge = Charge::for_message(fabric.costs_for(bytes), bytes);
        Charge { overhead: charge.overhead + self.overhead, ..charge }
    }

    /// What a message of `bytes` takes of its boards' links; `None` where it passes none that is shared.
    pub(super) fn passage(&self, from: u32, to: u32, bytes: u64) -> Option<Passage> {
        let rate = self.emulation.uplink?;
        let across = self.board(from) != self.board(to);
        let byte = Seconds(8.0 / rate.0);
        across.then(|| Passage {
            busy: VirtualTime::product(bytes.max(1), byte),
            stream: VirtualTime::product(bytes.saturating_sub(1), byte),
        })
    }

    /// The board of a rank's node.
    pub(super) fn board(&self, rank: u32) -> u32 {
        self.emulation.board[self.node(rank) as usize]
    }

    /// The CPU time of a test that finds nothing.
    pub(super) fn failed_test(&self) -> VirtualTime {
        VirtualTime::from(self.emulation.within.costs.overhead) + self.overhead
    }

    fn fabric(&self, from: u32, to: u32) -> Option<&Fabric> {
        let node = |rank| self.node(rank) as usize;
        match self.route(from, to) {
            Route::Own => None,
            Route::Memory => self.emulation.memory.as_ref(),
            Route::Cards => Some(self.emulation.fabric(node(from), node(to))),
        }
    }

    /// The least time from when a rank acts until a message of it reaches a receiver, and until its sending
    /// card has to know: whatever a rank does at `t` concerns others from `t` plus these on.
    pub(super) fn lookahead(&self) -> (VirtualTime, VirtualTime) {
        let emulation = self.emulation;
        let fabrics = [Some(&emulation.within), Some(&emulation.across)];
        let memory = (self.ranks_per_node > 1).then_some(emulation.memory.as_ref());
        let costs = fabrics.into_iter().chain(memory).flatten().flat_map(|fabric| {
            std::iter::once(&fabric.costs).chain(fabric.step.iter().map(|step| &step.costs))
        });
        let each = costs.map(|costs| {
            let (latency, overhead) = (VirtualTime::from(costs.latency), VirtualTime::from(costs.overhead));
            ((overhead + latency).min(latency + latency), overhead.min(latency))
        });
        let least = |(a, b): (VirtualTime, VirtualTime), (c, d)| (a.min(c), b.min(d));
        let free = self.ranks_per_node > 1 && emulation.memory.is_none();
        match free {
            true => (VirtualTime::ZERO, VirtualTime::ZERO),
            false => each.reduce(least).unwrap_or_default(),
        }
    }
}
