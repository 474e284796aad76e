//! Every operation, executed on symbols: a piece is the multiset of the values
//! combined into it.

use super::*;
use std::collections::{BTreeMap, VecDeque};

type Bag = BTreeMap<String, usize>;
type Pieces = BTreeMap<usize, Bag>;

fn bag(names: impl IntoIterator<Item = String>) -> Bag {
    names.into_iter().fold(Bag::new(), |mut bag, name| {
        *bag.entry(name).or_default() += 1;
        bag
    })
}

/// Runs all ranks' rounds. Fails if a rank waits for ever, or a message is not received.
fn execute(mut pieces: Vec<Pieces>, programs: &[Vec<Round>]) -> Vec<Pieces> {
    let size = pieces.len();
    let mut in_flight: BTreeMap<(usize, usize), VecDeque<Bag>> = BTreeMap::new();
    let mut at = vec![(0, false); size];
    loop {
        let mut moved = false;
        for rank in 0..size {
            let Some(round) = programs[rank].get(at[rank].0) else { continue };
            if !at[rank].1 {
                for send in &round.sends {
                    assert_ne!(send.to, rank, "nobody sends to itself");
                    let content = pieces[rank].get(&send.piece).expect("has what it sends").clone();
                    in_flight.entry((rank, send.to)).or_default().push_back(content);
                }
                at[rank].1 = true;
                moved = true;
            }
            let is_there =
                |r: &Receive| in_flight.get(&(r.from, rank)).is_some_and(|queue| !queue.is_empty());
            if round.receives.iter().all(is_there) {
                for receive in &round.receives {
                    let queue = in_flight.get_mut(&(receive.from, rank)).expect("is there");
                    let message = queue.pop_front().expect("one message for each receive");
                    let piece = pieces[rank].entry(receive.piece).or_default();
                    match receive.action {
                        Action::Keep => *piece = message,
                        Action::Combine => {
                            message.into_iter().for_each(|(k, n)| *piece.entry(k).or_default() += n)
                        }
                    }
                }
                at[rank] = (at[rank].0 + 1, false);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for (rank, (round, _)) in at.iter().enumerate() {
        assert_eq!(*round, programs[rank].len(), "rank {rank} of {size} is stuck");
    }
    assert!(in_flight.values().all(VecDeque::is_empty), "every message is received");
    pieces
}

const SIZES: std::ops::RangeInclusive<usize> = 1..=33;

fn for_all_roots(check: impl Fn(usize, usize)) {
    SIZES.for_each(|size| (0..size).for_each(|root| check(size, root)));
}

fn programs(size: usize, one: impl Fn(usize) -> Vec<Round>) -> Vec<Vec<Round>> {
    (0..size).map(one).collect()
}

#[test]
fn a_barrier_waits_for_every_rank() {
    for size in SIZES {
        let mut reached: Vec<Vec<bool>> = (0..size).map(|r| (0..size).map(|o| o == r).collect()).collect();
        let all = programs(size, |rank| barrier(rank, size));
        let rounds = size.next_power_of_two().trailing_zeros() as usize;
        assert!(all.iter().all(|program| program.len() == rounds));
        (0..rounds).for_each(|round| {
            let before = reached.clone();
            for (rank, mine) in reached.iter_mut().enumerate() {
                let from = all[rank][round].receives[0].from;
                assert_eq!(all[from][round].sends[0].to, rank);
                mine.iter_mut().zip(&before[from]).for_each(|(mine, theirs)| *mine |= theirs);
            }
        });
        assert!(reached.iter().flatten().all(|reached| *reached), "size {size}");
    }
}

#[test]
fn bcast_gives_every_rank_the_roots_piece() {
    for_all_roots(|size, root| {
        let start = (0..size)
            .map(|rank| if rank == root { Pieces::from([(0, bag(["x".into()]))]) } else { Pieces::new() })
            .collect();
        let end = execute(start, &programs(size, |rank| bcast(rank, size, root)));
        assert!(end.iter().all(|pieces| pieces[&0] == bag(["x".into()])), "size {size}, root {root}");
    });
}

fn own_piece_0(size: usize) -> Vec<Pieces> {
    (0..size).map(|rank| Pieces::from([(0, bag([rank.to_string()]))])).collect()
}

fn everyone(size: usize) -> Bag {
    bag((0..size).map(|rank| rank.to_string()))
}

#[test]
fn reduce_combines_every_rank_once() {
    for_all_roots(|size, root| {
        let end = execute(own_piece_0(size), &programs(size, |rank| reduce(rank, size, root)));
        assert_eq!(end[root][&0], everyone(size), "size {size}, root {root}");
    });
}

#[test]
fn allreduce_by_doubling_gives_every_rank_all() {
    for size in SIZES {
        let end = execute(own_piece_0(size), &programs(size, |rank| allreduce_doubling(rank, size)));
        assert!(end.iter().all(|pieces| pieces[&0] == everyone(size)), "size {size}");
    }
}

#[test]
fn allreduce_by_ring_gives_every_rank_all_of_every_piece() {
    for size in SIZES {
        let start = (0..size)
            .map(|rank| (0..size).map(|piece| (piece, bag([format!("{rank}/{piece}")]))).collect())
            .collect();
        let end = execute(start, &programs(size, |rank| allreduce_ring(rank, size)));
        for (rank, piece) in (0..size).flat_map(|rank| (0..size).map(move |piece| (rank, piece))) {
            let expected = bag((0..size).map(|rank| format!("{rank}/{piece}")));
            assert_eq!(end[rank][&piece], expected, "size {size}, rank {rank}, piece {piece}");
        }
    }
}

fn own_number(size: usize) -> Vec<Pieces> {
    (0..size).map(|rank| Pieces::from([(rank, bag([rank.to_string()]))])).collect()
}

fn all_numbers(size: usize) -> Pieces {
    (0..size).map(|rank| (rank, bag([rank.to_string()]))).collect()
}

#[test]
fn gather_collects_and_scatter_deals_out() {
    for_all_roots(|size, root| {
        let end = execute(own_number(size), &programs(size, |rank| gather(rank, size, root)));
        assert_eq!(end[root], all_numbers(size));
        let start = (0..size).map(|r| if r == root { all_numbers(size) } else { Pieces::new() }).collect();
        let end = execute(start, &programs(size, |rank| scatter(rank, size, root)));
        assert!((0..size).all(|rank| end[rank][&rank] == bag([rank.to_string()])));
    });
}

#[test]
fn allgather_gives_every_rank_all_pieces() {
    for size in SIZES {
        let end = execute(own_number(size), &programs(size, |rank| allgather(rank, size)));
        assert!(end.iter().all(|pieces| *pieces == all_numbers(size)), "size {size}");
    }
}

#[test]
fn alltoall_gives_every_rank_its_piece_of_every_other() {
    for size in SIZES {
        for bytes in [1, ALLTOALL_SHORT + 1] {
            let start: Vec<Pieces> = (0..size)
                .map(|rank| (0..size).map(|to| (to, bag([format!("{rank}>{to}")]))).collect())
                .collect();
            let end = execute(start, &programs(size, |rank| alltoall(rank, size, bytes)));
            for (rank, from) in (0..size).flat_map(|rank| (0..size).map(move |from| (rank, from))) {
                if rank != from {
                    assert_eq!(end[rank][&(size + from)], bag([format!("{from}>{rank}")]));
                }
            }
        }
    }
}

#[test]
fn a_round_combines_at_most_one_message() {
    for size in SIZES {
        for rank in 0..size {
            let all = [reduce(rank, size, 0), allreduce_doubling(rank, size), allreduce_ring(rank, size)];
            for round in all.iter().flatten() {
                let combined = round.receives.iter().filter(|r| r.action == Action::Combine);
                assert!(combined.count() <= 1);
            }
        }
    }
}
