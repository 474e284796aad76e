//! Reductions with the result at every rank.

use super::exchange::ring;
use super::{Action, Round, left, right};

/// The longest vector, in bytes, that [`allreduce`] does not cut (as MPICH by default).
pub const ALLREDUCE_SHORT: u64 = 2048;

/// Every rank gets the combination of all: by recursive doubling up to
/// [`ALLREDUCE_SHORT`] bytes (piece 0), otherwise by the ring (pieces
/// `0..size`). Returns the number of pieces of the vector, and the rounds.
pub fn allreduce(rank: usize, size: usize, bytes: u64) -> (usize, Vec<Round>) {
    if bytes <= ALLREDUCE_SHORT || size < 3 {
        (1, allreduce_doubling(rank, size))
    } else {
        (size, allreduce_ring(rank, size))
    }
}

/// Recursive doubling on piece 0: in round k, two ranks exchange whose numbers
/// differ in bit k. If `size` is no power of two, the first `2·(size − power)`
/// ranks form pairs: the even one sends its piece to its right neighbour before,
/// and gets the result from it after.
pub fn allreduce_doubling(rank: usize, size: usize) -> Vec<Round> {
    let power = if size.is_power_of_two() { size } else { size.next_power_of_two() / 2 };
    let surplus = size - power;
    if rank < 2 * surplus && rank.is_multiple_of(2) {
        return vec![Round::send(rank + 1, 0), Round::receive(rank + 1, 0, Action::Keep)];
    }
    let represents_pair = rank < 2 * surplus;
    let own = if represents_pair { rank / 2 } else { rank - surplus };
    let actual = |number: usize| if number < surplus { 2 * number + 1 } else { number + surplus };
    let mut rounds = Vec::new();
    if represents_pair {
        rounds.push(Round::receive(rank - 1, 0, Action::Combine));
    }
    let bits = std::iter::successors(Some(1), |bit| Some(bit * 2)).take_while(|bit| *bit < power);
    rounds.extend(bits.map(|bit| {
        let partner = actual(own ^ bit);
        Round::send(partner, 0).and_receive(partner, 0, Action::Combine)
    }));
    if represents_pair {
        rounds.push(Round::send(rank - 1, 0));
    }
    rounds
}

/// Ring on `size` pieces of one vector. Each piece goes round once to be
/// combined, and once more to be distributed. Each NIC carries 2·(size − 1)/size
/// of the vector.
pub fn allreduce_ring(rank: usize, size: usize) -> Vec<Round> {
    let mut rounds: Vec<Round> = (1..size)
        .map(|round| {
            Round::send(right(rank, 1, size), left(rank, round - 1, size)).and_receive(
                left(rank, 1, size),
                left(rank, round, size),
                Action::Combine,
            )
        })
        .collect();
    rounds.extend(ring(rank, size, right(rank, 1, size)));
    rounds
}
