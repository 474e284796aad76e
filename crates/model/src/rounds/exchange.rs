//! Operations that move pieces without changing them.

use super::{Action, Receive, Round, Send, left, right};

/// The longest message, in bytes, for which [`alltoall`] sends everything at once (as MPICH does by default).
pub const ALLTOALL_SHORT: u64 = 32 << 10;

/// No rank leaves before all have arrived. One empty piece, 0.
///
/// Dissemination: in round k, every rank receives from the one 2^k to its left.
pub fn barrier(rank: usize, size: usize) -> Vec<Round> {
    let distances = std::iter::successors(Some(1), |d| Some(d * 2)).take_while(|d| *d < size);
    distances
        .map(|d| Round::send(right(rank, d, size), 0).and_receive(left(rank, d, size), 0, Action::Keep))
        .collect()
}

/// `root` gets every rank's piece. Each rank has the piece of its own number;
/// at the end the root has all.
pub fn gather(rank: usize, size: usize, root: usize) -> Vec<Round> {
    if size == 1 {
        return Vec::new();
    }
    if rank != root {
        return vec![Round::send(root, rank)];
    }
    let others = (0..size).filter(|other| *other != root);
    let receives = others.map(|from| Receive { from, piece: from, action: Action::Keep }).collect();
    vec![Round { sends: Vec::new(), receives }]
}

/// Every rank gets its piece from `root`, which has all. At the end each has
/// the piece of its own number.
pub fn scatter(rank: usize, size: usize, root: usize) -> Vec<Round> {
    if size == 1 {
        return Vec::new();
    }
    if rank != root {
        return vec![Round::receive(root, rank, Action::Keep)];
    }
    let others = (0..size).filter(|other| *other != root);
    vec![Round { sends: others.map(|to| Send { to, piece: to }).collect(), receives: Vec::new() }]
}

/// Every rank gets every rank's piece. Each has the piece of its own number; at
/// the end each has all.
///
/// Ring: each rank sends to its right the piece that it last got from its left.
pub fn allgather(rank: usize, size: usize) -> Vec<Round> {
    ring(rank, size, rank)
}

/// Passes pieces round the ring until every rank has all. At first `rank` has
/// the piece `first`, and its left neighbour has the piece before it.
pub(super) fn ring(rank: usize, size: usize, first: usize) -> Vec<Round> {
    (1..size)
        .map(|round| {
            Round::send(right(rank, 1, size), left(first, round - 1, size)).and_receive(
                left(rank, 1, size),
                left(first, round, size),
                Action::Keep,
            )
        })
        .collect()
}

/// Every rank sends a different piece to every other. Pieces `0..size` are sent,
/// numbered by destination; pieces `size..2·size` are received, by source. The
/// caller moves a rank's piece for itself.
///
/// Linear: all in one round. Each rank begins with its right neighbour, so that
/// they begin with different receivers.
pub fn alltoall_linear(rank: usize, size: usize) -> Vec<Round> {
    if size == 1 {
        return Vec::new();
    }
    let mut all = Round::default();
    for mut round in alltoall_pairwise(rank, size) {
        all.sends.append(&mut round.sends);
        all.receives.append(&mut round.receives);
    }
    vec![all]
}

/// As [`alltoall_linear`], by pairwise exchange. In round k, a rank sends to the
/// one k to its right and receives from the one k to its left: each NIC carries
/// one message at a time.
pub fn alltoall_pairwise(rank: usize, size: usize) -> Vec<Round> {
    (1..size)
        .map(|k| {
            let (to, from) = (right(rank, k, size), left(rank, k, size));
            Round::send(to, to).and_receive(from, size + from, Action::Keep)
        })
        .collect()
}

/// Every rank sends a piece of `bytes` to every other: pieces as in
/// [`alltoall_linear`].
pub fn alltoall(rank: usize, size: usize, bytes: u64) -> Vec<Round> {
    if bytes <= ALLTOALL_SHORT { alltoall_linear(rank, size) } else { alltoall_pairwise(rank, size) }
}
