//! Collective operations as steps: what each rank sends and receives, in
//! rounds. Written once: `comm` executes these steps, the simulator costs them.
//!
//! The algorithms and when to use which are those of Thakur, Rabenseifner and
//! Gropp, "Optimization of collective communication operations in MPICH"
//! (IJHPCA 19(1), 2005):
//!
//! | operation | algorithm |
//! |---|---|
//! | barrier | dissemination (Hensgen, Finkel, Manber 1988) |
//! | bcast, reduce | binomial tree |
//! | allreduce, short | recursive doubling; ranks beyond a power of two fold into their neighbours |
//! | allreduce, long | ring: reduce-scatter, then allgather |
//! | gather, scatter | linear: pieces may differ in size, which only their owners know |
//! | allgather | ring |
//! | alltoall, short, and alltoallv | linear, each rank beginning with its right neighbour |
//! | alltoall, long | pairwise exchange |
//!
//! A rank holds numbered *pieces* of data; each operation says which ones. In a
//! round, a rank first sends the contents of pieces, in the given order. Then it
//! receives all messages of the round, in the order of their arrival. Between
//! two ranks, messages match in the order sent. Piece numbers are local to a
//! rank: sender and receiver need not use the same one.
//! An operation's result does not depend on the order of arrival: a round
//! combines at most one message into a piece.

mod exchange;
mod reduction;
mod tree;

pub use exchange::{
    ALLTOALL_SHORT, allgather, alltoall, alltoall_linear, alltoall_pairwise, barrier, gather, scatter,
};
pub use reduction::{ALLREDUCE_SHORT, allreduce, allreduce_doubling, allreduce_ring};
pub use tree::{bcast, reduce};

/// Sends the content of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// The receiver's rank.
    pub to: usize,
    /// The sender's piece.
    pub piece: usize,
}

/// What a receiver does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Replaces the piece with it.
    Keep,
    /// Combines it into the piece by the reduction's operator.
    Combine,
}

/// Receives a message into a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// The sender's rank.
    pub from: usize,
    /// The receiver's piece.
    pub piece: usize,
    /// What is done with the message.
    pub action: Action,
}

/// Messages that one rank sends and receives at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// The sends, in the order in which they are issued.
    pub sends: Vec<Send>,
    /// The receives, in any order.
    pub receives: Vec<Receive>,
}

impl Round {
    fn send(to: usize, piece: usize) -> Self {
        Round { sends: vec![Send { to, piece }], receives: Vec::new() }
    }

    fn receive(from: usize, piece: usize, action: Action) -> Self {
        Round { sends: Vec::new(), receives: vec![Receive { from, piece, action }] }
    }

    fn and_receive(mut self, from: usize, piece: usize, action: Action) -> Self {
        self.receives.push(Receive { from, piece, action });
        self
    }
}

/// The rank `steps` to the right of `rank` in a ring of `size`.
fn right(rank: usize, steps: usize, size: usize) -> usize {
    (rank + steps) % size
}

/// The rank `steps` to the left, with `steps` at most `size`.
fn left(rank: usize, steps: usize, size: usize) -> usize {
    (rank + size - steps) % size
}

#[cfg(test)]
mod tests;
