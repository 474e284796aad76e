//! The clocks depend on what the ranks do, and not on when that becomes known.

use super::*;
use proptest::prelude::*;

/// Something that all ranks of a program do together.
#[derive(Debug, Clone)]
enum Act {
    /// A rank computes.
    Compute(usize, u64),
    /// One rank sends to another, which receives it.
    Message(usize, usize, u64),
    /// Two ranks send to each other by requests, and wait for both.
    Swap(usize, usize, u64),
    /// A rank gets a message of every other, whoever comes first.
    Incast(usize, u64),
    /// All take part.
    Allreduce(u64),
    /// All take part.
    Alltoall(u64),
}

const RANKS: usize = 4;

fn act() -> impl Strategy<Value = Act> {
    let rank = 0..RANKS;
    let bytes = prop_oneof![0_u64..100, 1000_u64..100_000];
    prop_oneof![
        (rank.clone(), 0_u64..50_000).prop_map(|(rank, nanos)| Act::Compute(rank, nanos)),
        (rank.clone(), rank.clone(), bytes.clone())
            .prop_map(|(from, to, bytes)| Act::Message(from, to, bytes)),
        (rank.clone(), 1..RANKS, bytes.clone()).prop_map(|(one, other, bytes)| Act::Swap(
            one,
            (one + other) % RANKS,
            bytes
        )),
        (rank, bytes.clone()).prop_map(|(to, bytes)| Act::Incast(to, bytes)),
        bytes.clone().prop_map(Act::Allreduce),
        bytes.prop_map(Act::Alltoall),
    ]
}

fn programs(acts: &[Act]) -> Vec<Vec<Operation>> {
    use crosstalk_core::mpi::Operation as Collective;
    let mut ranks = vec![Vec::new(); RANKS];
    let all = |ranks: &mut Vec<Vec<Operation>>, operation, sizes: Sizes| {
        let call = Call { operation, communicator: 0, root: 0, sizes };
        ranks.iter_mut().for_each(|rank| rank.push(Operation::Collective(Box::new(call.clone()))));
    };
    for act in acts {
        match act.clone() {
            Act::Compute(rank, nanos) => ranks[rank].push(compute(nanos)),
            Act::Message(from, to, bytes) if from == to => {
                ranks[to].extend([ireceive(Some(to as u32), 0), send(to as u32, bytes), wait([0])]);
            }
            Act::Message(from, to, bytes) => {
                ranks[from].push(send(to as u32, bytes));
                ranks[to].push(receive(from as u32));
            }
            Act::Swap(one, other, bytes) => {
                for (mine, theirs) in [(one, other), (other, one)] {
                    let theirs = theirs as u32;
                    ranks[mine].extend([ireceive(Some(theirs), 0), isend(theirs, bytes, 1), wait([1, 0])]);
                }
            }
            Act::Incast(to, bytes) => {
                let requests = 0..RANKS as u32 - 1;
                ranks[to].extend(requests.clone().map(|request| ireceive(None, request)));
                ranks[to].extend([Operation::WaitAny(requests.clone().collect())]);
                let senders = (0..RANKS).filter(|rank| *rank != to);
                senders.for_each(|from| ranks[from].push(send(to as u32, bytes)));
                // Which request is done first is known at the end only: a barrier, and all are done.
                all(&mut ranks, Collective::Barrier, Sizes::Equal(0));
                ranks[to].push(Operation::Account);
            }
            Act::Allreduce(bytes) => {
                all(&mut ranks, Collective::Allreduce, Sizes::Vector { elements: bytes, width: 8 });
            }
            Act::Alltoall(bytes) => all(&mut ranks, Collective::Alltoall, Sizes::Equal(bytes)),
        }
    }
    ranks
}

/// An incast leaves requests behind, which are not waited for: each of them needs numbers of its own.
fn has_incast_once(acts: &[Act]) -> bool {
    acts.iter().filter(|act| matches!(act, Act::Incast(..))).count() <= 1
        && !acts.iter().any(|act| matches!(act, Act::Incast(..)) && acts.iter().any(uses_requests))
}

fn uses_requests(act: &Act) -> bool {
    matches!(act, Act::Swap(..)) || matches!(act, Act::Message(from, to, _) if from == to)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn when_operations_become_known_does_not_matter(
        acts in prop::collection::vec(act(), 1..25).prop_filter("requests", |acts| has_incast_once(acts)),
        pauses in prop::collection::vec(0_u8..4, 0..200),
        ranks_per_node in 1_u32..4,
        limit in prop_oneof![Just(0_u64), Just(2000), Just(u64::MAX)],
        uplink in prop_oneof![Just(None), Just(Some(BitRate(1e9))), Just(Some(BitRate(1e11)))],
        board in prop::collection::vec(0_u32..3, RANKS),
    ) {
        let memory = Some(fabric(300.0, 100.0, 0.0, 0.25, 0.0));
        let mpi = Some(announcing(limit));
        let emulation = Emulation { ranks_per_node, memory, mpi, uplink, board, ..cluster(RANKS) };
        let mut known = Script::new(programs(&acts));
        let mut paused = Script { pauses: pauses.into(), ..Script::new(programs(&acts)) };
        let (one, other) = (known.run(&emulation), paused.run(&emulation));
        prop_assert_eq!(one, other);
        prop_assert_eq!(known.answers, paused.answers);
    }
}
