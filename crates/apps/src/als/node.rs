//! A slave's node: its exchanges with other slaves, and an account of its work.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use crate::coordination::SlaveExchange;
use crate::exchange::Exchange;

/// A slave's node: it exchanges messages, and accounts for computing and disk time.
pub trait Node {
    /// This slave's number, from 0.
    fn part(&self) -> usize;
    /// How many slaves there are.
    fn parts(&self) -> usize;
    /// Sends `outgoing[p]` to slave `p`; returns what each slave sent to this one.
    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault>;
    /// Computes, on all cores of the node.
    fn compute<R>(&mut self, work: impl FnOnce() -> R) -> R;
    /// Serialises or deserialises.
    fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R;
}

/// A node whose time is accounted for.
pub struct TimedNode<'a, 'c> {
    /// Its rank.
    pub rank: &'a mut Rank<'c>,
    /// Bytes that it has sent to other slaves.
    pub sent: u64,
}

impl Node for TimedNode<'_, '_> {
    fn part(&self) -> usize {
        self.rank.id() - 1
    }

    fn parts(&self) -> usize {
        self.rank.size() - 1
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        let others = (0..).zip(&outgoing).filter(|(part, _)| *part != self.part());
        self.sent += others.map(|(_, buffer)| buffer.len() as u64).sum::<u64>();
        SlaveExchange(self.rank).exchange(outgoing)
    }

    fn compute<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.rank.compute_in_parallel(work)
    }

    fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.rank.serialise(work)
    }
}

/// A node whose time is not accounted for.
pub struct UntimedNode<'a>(pub &'a mut dyn Exchange);

impl Node for UntimedNode<'_> {
    fn part(&self) -> usize {
        self.0.part()
    }

    fn parts(&self) -> usize {
        self.0.parts()
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        self.0.exchange(outgoing)
    }

    fn compute<R>(&mut self, work: impl FnOnce() -> R) -> R {
        work()
    }

    fn serialise<R>(&mut self, work: impl FnOnce() -> R) -> R {
        work()
    }
}
