//! Pieces that go round a ring of ranks.

use super::pieces::Pieces;
use super::round::{Action, Position, Round, left, right};
use super::tree;

/// Sends piece `send` to the right neighbour, and receives piece `receive` from the left one.
fn turn(position: Position, send: usize, receive: usize, action: Action) -> Round {
    Round::send(right(position.rank, 1, position.size), Pieces::one(send)).and_receive(
        left(position.rank, 1, position.size),
        Pieces::one(receive),
        action,
    )
}

/// Passes pieces on until every rank has all. At first a rank has the piece `first`, and its left neighbour
/// has the piece before it.
fn distribute(position: Position, first: usize, round: usize) -> Option<Round> {
    let piece = |steps| left(first, steps, position.size);
    (round + 1 < position.size).then(|| turn(position, piece(round), piece(round + 1), Action::Keep))
}

/// Every rank gets every rank's piece. Each has the piece of its own number at first.
pub(super) fn allgather(position: Position, round: usize) -> Option<Round> {
    distribute(position, position.rank, round)
}

/// Every rank gets the combination of all, cut into a piece for each rank. Each piece goes round once to
/// be combined, and once more to be distributed. Each card carries 2·(n − 1)/n of the vector.
pub(super) fn allreduce(position: Position, round: usize) -> Option<Round> {
    let piece = |steps| left(position.rank, steps, position.size);
    match round.checked_sub(position.size - 1) {
        None => Some(turn(position, piece(round), piece(round + 1), Action::Combine)),
        Some(round) => distribute(position, right(position.rank, 1, position.size), round),
    }
}

/// Every rank gets the root's vector, cut into a piece for each rank, which are scattered first.
pub(super) fn bcast(position: Position, round: usize) -> Option<Round> {
    match round.checked_sub(tree::scatter_rounds(position)) {
        None => tree::scatter(position, round),
        Some(round) => allgather(position, round),
    }
}
