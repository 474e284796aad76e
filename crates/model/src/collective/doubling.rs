//! Recursive doubling: in round k, two ranks exchange whose numbers differ in bit k; and Bruck's form of it.

use super::pieces::Pieces;
use super::rabenseifner::Fold;
use super::round::{Action, Position, Round, left, right};
use super::tree;

/// Every rank gets the combination of all, as one piece. If the number of ranks is no power of two, some
/// send theirs to a neighbour before, and get the result from it after ([`Fold`]).
pub(super) fn allreduce(position: Position, round: usize) -> Option<Round> {
    let fold = Fold::of(position, 0);
    fold.around(round, Pieces::one(0), |number, round| {
        let bit = 1 << round;
        (bit < position.power()).then(|| {
            let partner = fold.rank(number ^ bit);
            Round::send(partner, Pieces::one(0)).and_receive(partner, Pieces::one(0), Action::Combine)
        })
    })
}

/// Every rank gets every rank's piece: in round k it sends the 2^k pieces that it has. A power of two of
/// ranks.
pub(super) fn allgather(position: Position, round: usize) -> Option<Round> {
    let have = 1 << round;
    let pieces = |rank: usize| Pieces::Range { first: rank & !(have - 1), count: have, of: position.size };
    (have < position.size).then(|| {
        let partner = position.rank ^ have;
        Round::send(partner, pieces(position.rank)).and_receive(partner, pieces(partner), Action::Keep)
    })
}

/// The same for any number of ranks, by Bruck's algorithm: in round k, a rank sends what it has to the one
/// 2^k to its left.
pub(super) fn allgather_bruck(position: Position, round: usize) -> Option<Round> {
    let have = 1 << round;
    (have < position.size).then(|| {
        let from = right(position.rank, have, position.size);
        let pieces =
            |first| Pieces::Range { first, count: have.min(position.size - have), of: position.size };
        Round::send(left(position.rank, have, position.size), pieces(position.rank)).and_receive(
            from,
            pieces(from),
            Action::Keep,
        )
    })
}

/// Every rank gets the root's vector, cut into a piece for each rank, which are scattered first.
pub(super) fn bcast(position: Position, round: usize) -> Option<Round> {
    match round.checked_sub(tree::scatter_rounds(position)) {
        None => tree::scatter(position, round),
        Some(round) => allgather(position, round),
    }
}
