//! A round: the messages that a rank sends and receives at the same time.

use smallvec::SmallVec;

use super::pieces::Pieces;

/// Sends pieces in one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// The receiver's rank.
    pub to: usize,
    /// The sender's pieces.
    pub pieces: Pieces,
}

/// What a receiver does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Replaces the pieces with it.
    Keep,
    /// Combines it into the pieces by the reduction's operator.
    Combine,
}

/// Receives a message into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// The sender's rank.
    pub from: usize,
    /// The receiver's pieces.
    pub pieces: Pieces,
    /// What is done with the message.
    pub action: Action,
}

/// Messages that one rank sends and receives at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// The sends, in the order in which they are issued.
    pub sends: SmallVec<[Send; 1]>,
    /// The receives, in the order in which they are posted.
    pub receives: SmallVec<[Receive; 1]>,
}

impl Round {
    pub(super) fn send(to: usize, pieces: Pieces) -> Self {
        Round::default().and_send(to, pieces)
    }

    pub(super) fn receive(from: usize, pieces: Pieces, action: Action) -> Self {
        Round::default().and_receive(from, pieces, action)
    }

    pub(super) fn and_send(mut self, to: usize, pieces: Pieces) -> Self {
        self.sends.push(Send { to, pieces });
        self
    }

    pub(super) fn and_receive(mut self, from: usize, pieces: Pieces, action: Action) -> Self {
        self.receives.push(Receive { from, pieces, action });
        self
    }
}

/// A rank's position in an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The rank.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
    /// The root, for operations that have one; else 0.
    pub root: usize,
}

impl Position {
    /// The rank's number counted from the root.
    pub(super) fn number_from_root(self) -> usize {
        left(self.rank, self.root, self.size)
    }

    /// The rank whose number counted from the root is `number`.
    pub(super) fn rank_of(self, number: usize) -> usize {
        right(number, self.root, self.size)
    }

    /// The largest power of two that is no more than the number of ranks.
    pub(super) fn power(self) -> usize {
        1 << self.size.ilog2()
    }
}

/// The rank `steps` to the right of `rank` in a ring of `size`.
pub(super) fn right(rank: usize, steps: usize, size: usize) -> usize {
    (rank + steps) % size
}

/// The rank `steps` to the left, with `steps` at most `size`.
pub(super) fn left(rank: usize, steps: usize, size: usize) -> usize {
    (rank + size - steps) % size
}
