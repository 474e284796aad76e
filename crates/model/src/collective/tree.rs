//! Binomial trees. Ranks are numbered from the root. A rank's parent has its number without the lowest one
//! bit; its subtree are the numbers from its own on, as many as that bit says.

use super::pieces::Pieces;
use super::round::{Action, Position, Round};

/// A rank's lowest one bit; the root's is above all numbers.
fn lowest_bit(own: usize, size: usize) -> usize {
    if own == 0 { size.next_power_of_two() } else { own & own.wrapping_neg() }
}

/// The distances to the children, the farthest first.
fn distances(own: usize, size: usize) -> impl Iterator<Item = usize> {
    let farthest = lowest_bit(own, size) / 2;
    std::iter::successors(Some(farthest), |d| Some(d / 2))
        .take_while(|d| *d > 0)
        .filter(move |d| own + d < size)
}

/// From the root to the leaves: receive `mine` from the parent, then send each child its `theirs`.
fn downwards(position: Position, round: usize, pieces: impl Fn(usize, usize) -> Pieces) -> Option<Round> {
    let own = position.number_from_root();
    let lowest = lowest_bit(own, position.size);
    let receives = usize::from(own != 0);
    if round < receives {
        return Some(Round::receive(position.rank_of(own - lowest), pieces(own, lowest), Action::Keep));
    }
    let send = |all: Round, d: usize| all.and_send(position.rank_of(own + d), pieces(own + d, d));
    let sends = distances(own, position.size).fold(Round::default(), send);
    (round == receives && !sends.sends.is_empty()).then_some(sends)
}

/// From the leaves to the root: in round k, receive from the child 2^k away, or send to the parent.
fn upwards(
    position: Position,
    round: usize,
    action: Action,
    pieces: impl Fn(usize, usize) -> Pieces,
) -> Option<Round> {
    let (own, distance) = (position.number_from_root(), 1 << round);
    if distance >= position.size || own & (distance - 1) != 0 {
        return None;
    }
    Some(if own & distance != 0 {
        Round::send(position.rank_of(own - distance), pieces(own, distance))
    } else if own + distance < position.size {
        Round::receive(position.rank_of(own + distance), pieces(own + distance, distance), action)
    } else {
        Round::default()
    })
}

/// The pieces of the subtree at `number` that has room for `most` ranks.
fn subtree(position: Position) -> impl Fn(usize, usize) -> Pieces {
    move |number, most| Pieces::Range {
        first: position.rank_of(number),
        count: most.min(position.size - number),
        of: position.size,
    }
}

/// Every rank gets piece 0 of the root.
pub(super) fn bcast(position: Position, round: usize) -> Option<Round> {
    downwards(position, round, |_, _| Pieces::one(0))
}

/// The root gets all ranks' pieces 0, combined. The pieces of other ranks are undefined afterwards.
pub(super) fn reduce(position: Position, round: usize) -> Option<Round> {
    upwards(position, round, Action::Combine, |_, _| Pieces::one(0))
}

/// The root gets every rank's piece.
pub(super) fn gather(position: Position, round: usize) -> Option<Round> {
    upwards(position, round, Action::Keep, subtree(position))
}

/// Every rank gets its piece from the root, which has all.
pub(super) fn scatter(position: Position, round: usize) -> Option<Round> {
    downwards(position, round, subtree(position))
}

/// How many rounds [`scatter`] has at this position.
pub(super) fn scatter_rounds(position: Position) -> usize {
    let own = position.number_from_root();
    usize::from(own != 0) + usize::from(distances(own, position.size).next().is_some())
}
