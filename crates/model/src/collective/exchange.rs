//! Operations in which every rank exchanges a message with every other, one after the other or all at once.

use super::pieces::Pieces;
use super::round::{Action, Position, Round, left, right};

/// No rank leaves before all have arrived, by dissemination.
pub(super) fn barrier(position: Position, round: usize) -> Option<Round> {
    let (distance, none) = (1 << round, Pieces::one(0));
    (distance < position.size).then(|| {
        Round::send(right(position.rank, distance, position.size), none).and_receive(
            left(position.rank, distance, position.size),
            none,
            Action::Keep,
        )
    })
}

/// The ranks other than `rank`, in order of number.
fn others(position: Position, rank: usize) -> impl Iterator<Item = usize> {
    (0..position.size).filter(move |other| *other != rank)
}

/// The root gets every rank's piece, each from its owner.
pub(super) fn gather(position: Position, round: usize) -> Option<Round> {
    (round == 0).then(|| match position.rank == position.root {
        false => Round::send(position.root, Pieces::one(position.rank)),
        true => others(position, position.root)
            .fold(Round::default(), |all, from| all.and_receive(from, Pieces::one(from), Action::Keep)),
    })
}

/// Every rank gets its piece from the root.
pub(super) fn scatter(position: Position, round: usize) -> Option<Round> {
    (round == 0).then(|| match position.rank == position.root {
        false => Round::receive(position.root, Pieces::one(position.rank), Action::Keep),
        true => others(position, position.root)
            .fold(Round::default(), |all, to| all.and_send(to, Pieces::one(to))),
    })
}

/// What `position` exchanges with the ranks `distance` to its right and left.
fn with(position: Position, all: Round, distance: usize) -> Round {
    let (to, from) =
        (right(position.rank, distance, position.size), left(position.rank, distance, position.size));
    all.and_send(to, Pieces::one(to)).and_receive(from, Pieces::one(position.size + from), Action::Keep)
}

/// Every rank sends a different piece to every other, all in one round. Each begins with its right
/// neighbour, so that they begin with different receivers.
pub(super) fn alltoall(position: Position, round: usize) -> Option<Round> {
    (round == 0).then(|| (1..position.size).fold(Round::default(), |all, k| with(position, all, k)))
}

/// The same by pairwise exchange: each card carries one message at a time.
pub(super) fn alltoall_pairwise(position: Position, round: usize) -> Option<Round> {
    (round + 1 < position.size).then(|| with(position, Round::default(), round + 1))
}

/// The same by Bruck's algorithm: in round k, the pieces whose number has bit k go 2^k to the right.
pub(super) fn alltoall_bruck(position: Position, round: usize) -> Option<Round> {
    let distance = 1 << round;
    let pieces = Pieces::WithBit { bit: distance, of: position.size };
    (distance < position.size).then(|| {
        Round::send(right(position.rank, distance, position.size), pieces).and_receive(
            left(position.rank, distance, position.size),
            pieces,
            Action::Keep,
        )
    })
}

/// Each rank gets its piece of the combination of all, by pairwise exchange.
pub(super) fn reduce_scatter(position: Position, round: usize) -> Option<Round> {
    (round + 1 < position.size).then(|| {
        let to = right(position.rank, round + 1, position.size);
        Round::send(to, Pieces::one(to)).and_receive(
            left(position.rank, round + 1, position.size),
            Pieces::one(position.rank),
            Action::Combine,
        )
    })
}
