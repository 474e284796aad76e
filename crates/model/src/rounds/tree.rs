//! Binomial trees.

use super::{Action, Round, Send, left, right};

/// Every rank gets piece 0 of `root`.
///
/// Ranks are numbered from the root. A rank's parent has its number without the
/// lowest one bit. A rank sends to its farthest child first.
pub fn bcast(rank: usize, size: usize, root: usize) -> Vec<Round> {
    let own = left(rank, root, size);
    let lowest = if own == 0 { size.next_power_of_two() } else { own & own.wrapping_neg() };
    let mut rounds = Vec::new();
    if own != 0 {
        rounds.push(Round::receive(right(own - lowest, root, size), 0, Action::Keep));
    }
    let distances = std::iter::successors(Some(lowest / 2), |d| Some(d / 2)).take_while(|d| *d > 0);
    let children = distances.filter(|d| own + d < size).map(|d| right(own + d, root, size));
    let sends: Vec<Send> = children.map(|to| Send { to, piece: 0 }).collect();
    if !sends.is_empty() {
        rounds.push(Round { sends, receives: Vec::new() });
    }
    rounds
}

/// `root` gets all ranks' pieces 0, combined. The pieces of other ranks are
/// undefined afterwards.
///
/// The tree of [`bcast`], from the leaves to the root. A rank receives from its
/// nearest child first, one per round: the order of combining is always the same.
pub fn reduce(rank: usize, size: usize, root: usize) -> Vec<Round> {
    let own = left(rank, root, size);
    let mut rounds = Vec::new();
    let mut distance = 1;
    while distance < size {
        if own & distance != 0 {
            rounds.push(Round::send(right(own - distance, root, size), 0));
            break;
        }
        if own + distance < size {
            rounds.push(Round::receive(right(own + distance, root, size), 0, Action::Combine));
        }
        distance *= 2;
    }
    rounds
}
