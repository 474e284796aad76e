//! Every operation by every algorithm, carried out on symbols: a piece is the multiset of the values combined
//! into it.

use super::*;
use crosstalk_core::mpi::{Algorithm, Operation};
use std::collections::{BTreeMap, VecDeque};

type Bag = BTreeMap<String, usize>;
type Held = BTreeMap<usize, Bag>;

fn bag(names: impl IntoIterator<Item = String>) -> Bag {
    names.into_iter().fold(Bag::new(), |mut bag, name| {
        *bag.entry(name).or_default() += 1;
        bag
    })
}

/// Runs all ranks' rounds. Fails if a rank waits for ever, or a message is not received.
fn execute(mut held: Vec<Held>, programs: &[Vec<Round>], which: &str) -> Vec<Held> {
    let size = held.len();
    let mut in_flight: BTreeMap<(usize, usize), VecDeque<Vec<Bag>>> = BTreeMap::new();
    let mut at = vec![(0, false); size];
    loop {
        let mut moved = false;
        for rank in 0..size {
            let Some(round) = programs[rank].get(at[rank].0) else { continue };
            if !at[rank].1 {
                for send in &round.sends {
                    assert_ne!(send.to, rank, "nobody sends to itself");
                    let piece = |piece| held[rank].get(&piece).cloned();
                    let content: Option<Vec<Bag>> = send.pieces.numbers().map(piece).collect();
                    let content =
                        content.unwrap_or_else(|| panic!("{which}: {rank} has not {:?}", send.pieces));
                    in_flight.entry((rank, send.to)).or_default().push_back(content);
                }
                (at[rank].1, moved) = (true, true);
            }
            let is_there =
                |r: &Receive| in_flight.get(&(r.from, rank)).is_some_and(|queue| !queue.is_empty());
            if round.receives.iter().all(is_there) {
                for receive in &round.receives {
                    let queue = in_flight.get_mut(&(receive.from, rank)).expect("is there");
                    let message = queue.pop_front().expect("one message for each receive");
                    assert_eq!(message.len(), receive.pieces.count(), "{which}: of one size at both ends");
                    for (piece, content) in receive.pieces.numbers().zip(message) {
                        let piece = held[rank].entry(piece).or_default();
                        match receive.action {
                            Action::Keep => *piece = content,
                            Action::Combine => {
                                content.into_iter().for_each(|(k, n)| *piece.entry(k).or_default() += n);
                            }
                        }
                    }
                }
                (at[rank], moved) = ((at[rank].0 + 1, false), true);
            }
        }
        if !moved {
            break;
        }
    }
    for (rank, (round, _)) in at.iter().enumerate() {
        assert_eq!(*round, programs[rank].len(), "{which}: rank {rank} of {size} is stuck");
    }
    assert!(in_flight.values().all(VecDeque::is_empty), "{which}: every message is received");
    held
}

/// What a rank holds at first.
fn at_first(operation: Operation, algorithm: Algorithm, position: Position) -> Held {
    let Position { rank, size, root } = position;
    let parts = piece_count(operation, algorithm, size);
    let own = |piece: usize| (piece, bag([format!("{rank}/{piece}")]));
    match operation {
        Operation::Barrier => Held::from([(0, Bag::new())]),
        Operation::Bcast if rank != root => Held::new(),
        Operation::Bcast | Operation::Reduce | Operation::Allreduce | Operation::ReduceScatter => {
            (0..parts).map(own).collect()
        }
        Operation::Gather | Operation::Gatherv | Operation::Allgather | Operation::Allgatherv => {
            Held::from([own(rank)])
        }
        Operation::Scatter | Operation::Scatterv if rank != root => Held::new(),
        Operation::Scatter | Operation::Scatterv => (0..size).map(own).collect(),
        Operation::Alltoall if algorithm == Algorithm::Bruck => {
            (0..size).map(|j| (j, bag([format!("{rank}/{}", (rank + j) % size)]))).collect()
        }
        Operation::Alltoall | Operation::Alltoallv => (0..size).map(own).collect(),
    }
}

/// Which pieces a rank must hold at last.
fn at_last(operation: Operation, algorithm: Algorithm, position: Position) -> Held {
    let Position { rank, size, root } = position;
    let parts = piece_count(operation, algorithm, size);
    let of = |rank: usize, piece: usize| bag([format!("{rank}/{piece}")]);
    let all = |piece: usize| (piece, bag((0..size).map(|rank| format!("{rank}/{piece}"))));
    match operation {
        Operation::Barrier => Held::new(),
        Operation::Bcast => (0..parts).map(|piece| (piece, of(root, piece))).collect(),
        Operation::Reduce if rank != root => Held::new(),
        Operation::Reduce | Operation::Allreduce => (0..parts).map(all).collect(),
        Operation::ReduceScatter => Held::from([all(rank)]),
        Operation::Gather | Operation::Gatherv if rank != root => Held::new(),
        Operation::Gather | Operation::Gatherv | Operation::Allgather | Operation::Allgatherv => {
            (0..size).map(|owner| (owner, of(owner, owner))).collect()
        }
        Operation::Scatter | Operation::Scatterv => Held::from([(rank, of(root, rank))]),
        Operation::Alltoall if algorithm == Algorithm::Bruck => {
            (0..size).map(|j| (j, of((rank + size - j) % size, rank))).collect()
        }
        Operation::Alltoall | Operation::Alltoallv => {
            (0..size).filter(|from| *from != rank).map(|from| (size + from, of(from, rank))).collect()
        }
    }
}

/// Calls `check` with every operation, algorithm, number of ranks and root.
fn for_all(check: impl Fn(Operation, Algorithm, usize, usize, &str)) {
    for operation in Operation::ALL {
        for algorithm in Algorithm::ALL {
            for size in 1..=20 {
                let roots = if operation.has_root() { size } else { 1 };
                for root in (0..roots).filter(|_| fits(operation, algorithm, size)) {
                    let which =
                        format!("{} by {}, {size} ranks, root {root}", operation.name(), algorithm.name());
                    check(operation, algorithm, size, root, &which);
                }
            }
        }
    }
}

fn rounds(operation: Operation, algorithm: Algorithm, position: Position) -> Vec<Round> {
    Steps::new(operation, algorithm, position).expect("it fits").collect()
}

#[test]
fn every_algorithm_does_what_its_operation_says() {
    for_all(|operation, algorithm, size, root, which| {
        let positions: Vec<Position> = (0..size).map(|rank| Position { rank, size, root }).collect();
        let first = positions.iter().map(|position| at_first(operation, algorithm, *position)).collect();
        let programs: Vec<_> =
            positions.iter().map(|position| rounds(operation, algorithm, *position)).collect();
        let last = execute(first, &programs, which);
        for (position, held) in positions.iter().zip(&last) {
            for (piece, content) in at_last(operation, algorithm, *position) {
                assert_eq!(
                    held.get(&piece),
                    Some(&content),
                    "{which}: rank {}, piece {piece}",
                    position.rank
                );
            }
        }
    });
}

#[test]
fn a_round_combines_at_most_one_message() {
    for_all(|operation, algorithm, size, root, which| {
        for rank in 0..size {
            for round in rounds(operation, algorithm, Position { rank, size, root }) {
                let combined = round.receives.iter().filter(|r| r.action == Action::Combine);
                assert!(combined.count() <= 1, "{which}");
            }
        }
    });
}

#[test]
fn each_operation_has_an_algorithm_and_each_algorithm_an_operation() {
    for operation in Operation::ALL {
        assert!(Algorithm::ALL.iter().any(|algorithm| fits(operation, *algorithm, 4)), "{operation:?}");
    }
    for algorithm in Algorithm::ALL {
        assert!(Operation::ALL.iter().any(|operation| fits(*operation, algorithm, 4)), "{algorithm:?}");
    }
}

#[test]
fn a_barrier_waits_for_every_rank() {
    for size in 1..=33 {
        let mut reached: Vec<Vec<bool>> = (0..size).map(|r| (0..size).map(|o| o == r).collect()).collect();
        let position = |rank| Position { rank, size, root: 0 };
        let all: Vec<_> = (0..size)
            .map(|rank| rounds(Operation::Barrier, Algorithm::Dissemination, position(rank)))
            .collect();
        let count = size.next_power_of_two().trailing_zeros() as usize;
        assert!(all.iter().all(|program| program.len() == count));
        for round in 0..count {
            let before = reached.clone();
            for (program, mine) in all.iter().zip(&mut reached) {
                let from = program[round].receives[0].from;
                mine.iter_mut().zip(&before[from]).for_each(|(mine, theirs)| *mine |= theirs);
            }
        }
        assert!(reached.iter().flatten().all(|reached| *reached), "size {size}");
    }
}
