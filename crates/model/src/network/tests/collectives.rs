//! Rule 8: each algorithm takes the time of its closed form, eagerly and by rendezvous, with one rank a node;
//! and with several that share a card, where the form is short.

use super::*;
use crosstalk_core::mpi::{Algorithm, Choice, Operation as Collective};

/// The time of a collective by one algorithm: of all ranks, the latest.
fn time(
    algorithm: Algorithm,
    operation: Collective,
    ranks: u32,
    sizes: &Sizes,
    limit: u64,
    ranks_per_node: u32,
) -> u64 {
    let choice = Choice { operation, up_to: None, up_to_in_all: None, from_ranks: None, algorithm };
    let mpi = Mpi { collectives: vec![choice], ..announcing(limit) };
    let memory = Some(fabric(300.0, 100.0, 0.0, 0.25, 0.0));
    let nodes = ranks.div_ceil(ranks_per_node) as usize;
    let emulation = Emulation { mpi: Some(mpi), ranks_per_node, memory, ..cluster(nodes) };
    let call = Call { operation, communicator: 0, root: 0, sizes: sizes.clone() };
    let program = vec![Operation::Collective(Box::new(call))];
    latest(&emulation, vec![program; ranks as usize])
}

const EAGER: u64 = u64::MAX;
const ANNOUNCED: u64 = 0;

/// A vector of `bytes` bytes.
fn vector(bytes: u64) -> Sizes {
    Sizes::Vector { elements: bytes, width: 1 }
}

/// Checks both protocols: `form` has the time of a message of so many bytes.
fn both(
    algorithm: Algorithm,
    operation: Collective,
    ranks: u32,
    sizes: Sizes,
    form: impl Fn(&dyn Fn(u64) -> u64) -> u64,
) {
    let found = |limit| time(algorithm, operation, ranks, &sizes, limit, 1);
    assert_eq!(found(EAGER), form(&t), "{algorithm:?} {operation:?} of {ranks} ranks, eager");
    assert_eq!(found(ANNOUNCED), form(&r), "{algorithm:?} {operation:?} of {ranks} ranks, announced");
}

#[test]
fn a_barrier_takes_an_empty_message_each_doubling() {
    for (ranks, rounds) in [(2, 1), (3, 2), (8, 3), (33, 6)] {
        let found = time(Algorithm::Dissemination, Collective::Barrier, ranks, &Sizes::Equal(0), EAGER, 1);
        assert_eq!(found, rounds * t(1));
    }
}

#[test]
fn trees_are_as_deep_as_the_logarithm() {
    for (ranks, depth) in [(2, 1), (4, 2), (16, 4)] {
        both(Algorithm::Binomial, Collective::Reduce, ranks, vector(S), |m| depth * m(S));
        both(Algorithm::RecursiveDoubling, Collective::Allreduce, ranks, vector(S), |m| depth * m(S));
        assert_eq!(
            time(Algorithm::Binomial, Collective::Bcast, ranks, &vector(S), EAGER, 1),
            depth * t(S),
            "the farthest child comes first"
        );
    }
}

#[test]
fn a_binomial_gather_doubles_its_message_and_a_scatter_halves_it() {
    for (ranks, depth) in [(2_u32, 1), (4, 2), (16, 4)] {
        let sum = |m: &dyn Fn(u64) -> u64| (0..depth).map(|k| m(S << k)).sum::<u64>();
        both(Algorithm::Binomial, Collective::Gather, ranks, Sizes::Equal(S), sum);
        let found = time(Algorithm::Binomial, Collective::Scatter, ranks, &Sizes::Equal(S), EAGER, 1);
        assert_eq!(found, sum(&t));
    }
}

#[test]
fn rings_take_a_message_each_step() {
    for ranks in [2, 3, 7, 16] {
        let steps = u64::from(ranks) - 1;
        both(Algorithm::Ring, Collective::Allgather, ranks, Sizes::Equal(S), |m| steps * m(S));
        both(Algorithm::Ring, Collective::Allgatherv, ranks, Sizes::Own(S), |m| steps * m(S));
        let whole = vector(S * u64::from(ranks));
        both(Algorithm::Ring, Collective::Allreduce, ranks, whole, |m| 2 * steps * m(S));
    }
}

#[test]
fn pairwise_exchanges_take_a_message_each_step() {
    for ranks in [2, 3, 7, 16] {
        let steps = u64::from(ranks) - 1;
        both(Algorithm::Pairwise, Collective::Alltoall, ranks, Sizes::Equal(S), |m| steps * m(S));
        let whole = vector(S * u64::from(ranks));
        both(Algorithm::Pairwise, Collective::ReduceScatter, ranks, whole, |m| steps * m(S));
    }
}

#[test]
fn doubling_and_bruck_take_the_logarithm_and_grow() {
    for (ranks, depth) in [(2_u32, 1), (4, 2), (16, 4)] {
        let sum = |m: &dyn Fn(u64) -> u64| (0..depth).map(|k| m(S << k)).sum::<u64>();
        both(Algorithm::RecursiveDoubling, Collective::Allgather, ranks, Sizes::Equal(S), sum);
        both(Algorithm::Bruck, Collective::Allgather, ranks, Sizes::Equal(S), sum);
        // Half of the pieces travel in each round.
        let half = u64::from(ranks) / 2;
        both(Algorithm::Bruck, Collective::Alltoall, ranks, Sizes::Equal(S), |m| depth * m(half * S));
    }
    // Of five, the last round carries one piece.
    both(Algorithm::Bruck, Collective::Allgather, 5, Sizes::Equal(S), |m| m(S) + m(2 * S) + m(S));
}

#[test]
fn rabenseifner_halves_and_doubles() {
    for (ranks, depth) in [(2_u32, 1), (4, 2), (16, 4)] {
        let whole = S * u64::from(ranks);
        let half = |m: &dyn Fn(u64) -> u64| (1..=depth).map(|k| m(whole >> k)).sum::<u64>();
        both(Algorithm::Rabenseifner, Collective::Allreduce, ranks, vector(whole), |m| 2 * half(m));
        both(Algorithm::RecursiveHalving, Collective::ReduceScatter, ranks, vector(whole), half);
        both(Algorithm::Rabenseifner, Collective::Reduce, ranks, vector(whole), |m| 2 * half(m));
    }
    // Of three, one stands in for another: the whole vector comes before, and goes back after.
    let whole = 2 * S;
    both(Algorithm::Rabenseifner, Collective::Allreduce, 3, vector(whole), |m| 2 * m(whole) + 2 * m(S));
}

#[test]
fn scattered_broadcasts_are_a_scatter_and_an_allgather() {
    for (ranks, depth) in [(2_u32, 1), (4, 2), (8, 3)] {
        let whole = S * u64::from(ranks);
        // All have their piece when the leaves of the scatter have.
        let scatter = (1..=depth).map(|k| t(whole >> k)).sum::<u64>();
        let doubling = (0..depth).map(|k| t(S << k)).sum::<u64>();
        let found = |algorithm| time(algorithm, Collective::Bcast, ranks, &vector(whole), EAGER, 1);
        assert_eq!(found(Algorithm::ScatterDoubling), scatter + doubling, "{ranks} ranks");
        let ring = u64::from(ranks - 1) * t(S);
        assert_eq!(found(Algorithm::ScatterRing), scatter + ring, "{ranks} ranks");
    }
}

#[test]
fn linear_ones_are_bound_by_one_card() {
    for ranks in [2, 3, 7, 16] {
        let others = u64::from(ranks) - 1;
        let form = (others - 1) * n(S) + t(S);
        let found = |operation, sizes: &Sizes| time(Algorithm::Linear, operation, ranks, sizes, EAGER, 1);
        assert_eq!(found(Collective::Gather, &Sizes::Equal(S)), form);
        assert_eq!(found(Collective::Gatherv, &Sizes::Own(S)), form);
        assert_eq!(found(Collective::Scatter, &Sizes::Equal(S)), form);
        assert_eq!(found(Collective::Alltoall, &Sizes::Equal(S)), form);
        let each = Sizes::Each(vec![S; ranks as usize].into());
        assert_eq!(found(Collective::Alltoallv, &each), form);
    }
}

#[test]
fn ranks_that_share_a_card_send_as_many_messages_through_it() {
    for each in [2_u64, 4] {
        // Two nodes: in each step of the pairwise exchange between `2·each` ranks, all messages that leave a node
        // leave through one card. Step k goes to the rank k to the right: min(k, 2·each − k) of a node's cross over.
        let ranks = 2 * each;
        let found =
            time(Algorithm::Linear, Collective::Alltoall, ranks as u32, &Sizes::Equal(S), EAGER, each as u32);
        // Every rank sends `each` messages over: each² pass the card, and the last is received whole.
        let bound = (each * each - 1) * n(S) + t(S);
        assert!(found >= bound, "{found} is less than the card needs, {bound}");
        // The first is ready only after what comes before it in the rank's memory.
        assert!(found <= bound + each * 2 * 100_000, "{found}, {bound}");
    }
}

#[test]
fn combining_takes_its_time_a_byte_and_only_that() {
    let emulation = cluster(2);
    let call = Call {
        operation: Collective::Allreduce,
        communicator: 0,
        root: 0,
        sizes: Sizes::Vector { elements: 100, width: 8 },
    };
    let mut script = Script::new(vec![vec![Operation::Collective(Box::new(call))]; 2]);
    let mut network = Network::new(&emulation, 2, Seconds(2e-9)).expect("has nodes");
    assert_eq!(network.advance(&mut script), Ok(Progress::Finished));
    assert!(
        network.clocks().all(|clock| clock.compute.0 == 800 * 2000 && clock.total().0 == t(800) + 1_600_000)
    );
}

#[test]
fn a_part_of_the_ranks_takes_part_under_its_own_numbers() {
    // Ranks 3 and 1 are members 0 and 1: a broadcast from member 0 goes from rank 3 to rank 1.
    let define = Operation::Define { identity: 7, members: [3, 1].into() };
    let call = Call { operation: Collective::Bcast, communicator: 1, root: 0, sizes: vector(S) };
    let member = vec![define, Operation::Collective(Box::new(call))];
    let programs = vec![Vec::new(), member.clone(), Vec::new(), member];
    let clocks = Script::new(programs).run(&cluster(4)).expect("runs to its end");
    assert_eq!(clocks.iter().map(|clock| clock.total().0).collect::<Vec<_>>(), [0, t(S), 0, c(S)]);
}
