//! Rule 6: the links of boards. `u` is the time of a byte on such a link.

use super::*;
use proptest::prelude::*;

/// The rate of a link that needs `nanos` for a byte.
fn rate(nanos: f64) -> Option<BitRate> {
    Some(BitRate(8e9 / nanos))
}

/// Nodes on these boards, whose links need `nanos` for a byte. A card needs 1 ns.
fn boards(board: &[u32], nanos: f64) -> Emulation {
    Emulation { board: board.to_vec(), uplink: rate(nanos), ..cluster(board.len()) }
}

/// The time of `bytes` on a link, in picoseconds.
fn on_link(bytes: u64, nanos: u64) -> u64 {
    bytes * nanos * 1000
}

/// Node `i` of `k` sends to node `k + i`.
fn pairs(k: u32) -> Vec<Vec<Operation>> {
    (0..k).map(|i| vec![send(k + i, S)]).chain((0..k).map(|i| vec![receive(i)])).collect()
}

#[test]
fn a_link_that_is_no_slower_than_the_card_does_not_delay_what_is_alone() {
    let stream = || vec![vec![send(1, S); 10], vec![receive(0); 10]];
    for nanos in [0.25, 1.0] {
        let on = boards(&[0, 1], nanos);
        assert_eq!(latest(&on, pairs(1)), t(S));
        assert_eq!(latest(&on, stream()), 9 * n(S) + t(S));
        let announced = Emulation { mpi: Some(announcing(0)), ..on };
        assert_eq!(latest(&announced, pairs(1)), r(S));
    }
}

#[test]
fn a_slower_link_delays_the_last_byte_and_not_the_head() {
    let on = boards(&[0, 1], 4.0);
    let slower = 3 * 1000 * (S - 1);
    assert_eq!(latest(&on, pairs(1)), t(S) + slower);
    let announced = Emulation { mpi: Some(announcing(0)), ..on.clone() };
    assert_eq!(latest(&announced, pairs(1)), r(S) + slower, "the announcement is no longer");
    // The link needs 4,004 ns for a message, the card 4,000.
    let stream = vec![vec![send(1, S); 10], vec![receive(0); 10]];
    assert_eq!(latest(&on, stream), t(S) + slower + 9 * on_link(S, 4));
}

#[test]
fn nodes_of_a_board_take_turns_on_its_link() {
    for k in [1, 2, 4] {
        let late = |nanos| u64::from(k - 1) * on_link(S, nanos);
        let apart: Vec<u32> = vec![0; k as usize].into_iter().chain(1..=k).collect();
        let together: Vec<u32> = [vec![0; k as usize], vec![1; k as usize]].concat();
        for board in [&apart, &together] {
            assert_eq!(latest(&boards(board, 1.0), pairs(k)), t(S) + late(1), "{k} nodes, {board:?}");
            let slow = 1000 * (S - 1);
            assert_eq!(latest(&boards(board, 2.0), pairs(k)), t(S) + slow + late(2), "{k} nodes, {board:?}");
            let unshared = Emulation { uplink: None, ..boards(board, 1.0) };
            assert_eq!(latest(&unshared, pairs(k)), t(S), "nothing is shared");
        }
        // By rendezvous the data take turns; announcements of one byte are out of their way.
        let announced = Emulation { mpi: Some(announcing(0)), ..boards(&apart, 1.0) };
        assert_eq!(latest(&announced, pairs(k)), r(S) + late(1), "{k} nodes");
    }
}

#[test]
fn what_comes_to_the_nodes_of_a_board_takes_turns_on_its_link() {
    for k in [2, 3] {
        let senders_apart: Vec<u32> = (1..=k).chain(vec![0; k as usize]).collect();
        let late = u64::from(k - 1) * on_link(S, 1);
        assert_eq!(latest(&boards(&senders_apart, 1.0), pairs(k)), t(S) + late, "{k} receivers");
    }
}

#[test]
fn an_incast_is_bound_by_the_slower_one_of_the_card_and_the_boards_link() {
    let incast = |nanos| {
        let mut programs = vec![vec![receive(1), receive(2), receive(3)]];
        programs.extend(vec![vec![send(0, S)]; 3]);
        latest(&boards(&[0, 1, 2, 3], nanos), programs)
    };
    assert_eq!(incast(1.0), t(S) + 2 * n(S));
    assert_eq!(incast(8.0), t(S) + 7 * 1000 * (S - 1) + 2 * on_link(S, 8));
}

#[test]
fn the_link_serves_in_the_order_in_which_messages_come_to_it() {
    // Node 1 sends first.
    let mut programs = pairs(2);
    programs[0].insert(0, compute(100));
    let clocks = Script::new(programs).run(&boards(&[0, 0, 1, 2], 4.0)).expect("runs to its end");
    let alone = t(S) + 3 * 1000 * (S - 1);
    assert_eq!(clocks[3].total().0, alone);
    assert_eq!(clocks[2].total().0, alone + on_link(S, 4));
}

#[test]
fn nothing_changes_within_a_board_nor_between_two_directions() {
    let on = boards(&[0, 0, 1, 1], 4.0);
    // Nodes 0 and 1 stay on their board while nodes 2 and 3 do on theirs.
    let within = vec![vec![send(1, S)], vec![receive(0)], vec![receive(3)], vec![send(2, S)]];
    assert_eq!(latest(&on, within), t(S));
    let both = |other| vec![send(other, S), receive(other)];
    let across = vec![both(2), Vec::new(), both(0), Vec::new()];
    assert_eq!(latest(&on, across), t(S) + 3 * 1000 * (S - 1));
}

#[test]
fn clocks_that_begin_anew_find_free_links() {
    let again = |k: u32| {
        let mut programs = pairs(k);
        let once = programs.clone();
        programs.iter_mut().zip(once).for_each(|(all, once)| {
            all.push(Operation::Restart);
            all.extend(once);
        });
        latest(&boards(&[0, 0, 1, 1], 4.0), programs)
    };
    assert_eq!(again(2), t(S) + 3 * 1000 * (S - 1) + on_link(S, 4));
}

proptest! {
    /// Each node has a board of its own: its link carries what its card carries. (By rendezvous a CPU that waits for
    /// messages both ways may handle them in another order: some wait at the board's link, and not at the card.)
    #[test]
    fn links_of_boards_with_one_node_delay_nothing_if_they_are_no_slower(
        bytes in prop::collection::vec(0_u64..50_000, 12),
        starts in prop::collection::vec(0_u64..20_000, 4),
        nanos in 0.1_f64..=1.0,
    ) {
        let programs: Vec<Vec<Operation>> = (0..4_u32)
            .map(|rank| {
                let others = || (0..4_u32).filter(move |other| *other != rank).zip(0..);
                let receives = others().map(|(from, request)| ireceive(Some(from), request));
                let sends = others().map(|(to, request)| isend(to, bytes[(3 * rank + request) as usize], 3 + request));
                let begin = std::iter::once(compute(starts[rank as usize]));
                begin.chain(receives).chain(sends).chain([wait(0..6)]).collect()
            })
            .collect();
        let shared = boards(&[0, 1, 2, 3], nanos);
        let unshared = Emulation { uplink: None, ..shared.clone() };
        prop_assert_eq!(Script::new(programs.clone()).run(&shared), Script::new(programs).run(&unshared));
    }
}
