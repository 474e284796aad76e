//! Requests, typed messages, blocks and patterns deliver the right data, in virtual and in real time.

use crate::common::{emulation, fabric, run, try_run};
use crosstalk_comm::{Envelope, LocateOp, Located, Pattern, Rank, ReduceOp, Strided, Tested};
use crosstalk_core::Fault;
use std::sync::Barrier;

/// Runs a program of so many ranks in both times.
fn in_both(nodes: usize, program: impl Fn(&mut Rank) -> Result<(), Fault> + Sync) {
    run(nodes, None, &program);
    let fabric = fabric(5000.0, 500.0, 500.0, 1.0, 0.1);
    run(nodes, Some(&emulation(nodes, &fabric)), &program);
}

#[test]
fn messages_in_both_directions_by_requests() {
    in_both(2, |rank| {
        let peer = 1 - rank.id();
        for length in [0_usize, 1, 100_000] {
            let data: Vec<f64> = (0..length).map(|place| (place * 2 + rank.id()) as f64).collect();
            let receive = rank.world().irecv(Envelope::exact(peer, 3))?;
            let send = rank.world().isend(peer, 3, &data)?;
            let done = rank.wait_all(vec![send, receive])?;
            let message = done.into_iter().find_map(|done| done.message()).expect("one was received");
            assert_eq!((message.from(), message.tag()), (peer, 3));
            let expected: Vec<f64> = (0..length).map(|place| (place * 2 + peer) as f64).collect();
            assert_eq!(message.elements::<f64>()?, expected);
        }
        Ok(())
    });
}

#[test]
fn receives_get_messages_in_the_order_in_which_they_were_posted() {
    in_both(2, |rank| {
        if rank.id() == 0 {
            for number in 0..6 {
                rank.world().send(1, 5, &[number])?;
            }
            return Ok(());
        }
        let mut requests = Vec::new();
        for _ in 0..3 {
            requests.push(rank.world().irecv(Envelope::exact(0, 5))?);
        }
        // A blocking one takes the fourth message, though it is waited for first.
        assert_eq!(rank.world().recv::<i32>(0, 5)?, [3]);
        requests.reverse();
        for (request, expected) in requests.into_iter().zip([2, 1, 0]) {
            let message = rank.wait(request)?.message().expect("received");
            assert_eq!(message.elements::<i32>()?, [expected]);
        }
        let mut into = [0; 1];
        rank.world().recv_into(0, 5, &mut into)?;
        assert_eq!(into, [4]);
        assert_eq!(rank.world().recv_any::<i32>(5)?, (0, vec![5]));
        Ok(())
    });
}

#[test]
fn a_message_that_was_begun_leaves_though_its_receiver_computes() {
    const LONG: usize = 16 << 20;
    let barrier = Barrier::new(2);
    run(2, None, |rank| {
        if rank.id() == 0 {
            let long: Vec<i32> = (0..LONG as i32).collect();
            let requests = vec![rank.world().isend(1, 1, &long)?, rank.world().isend(1, 1, &[7_i32])?];
            // The other one does not communicate before: a send that waited for it would never come here.
            barrier.wait();
            // It goes behind them.
            rank.world().send(1, 1, &[8_i32])?;
            return rank.wait_all(requests).map(drop);
        }
        barrier.wait();
        let long = rank.world().recv::<i32>(0, 1)?;
        assert!(long.len() == LONG && long.iter().enumerate().all(|(at, number)| at as i32 == *number));
        assert_eq!(rank.world().recv::<i32>(0, 1)?, [7]);
        assert_eq!(rank.world().recv::<i32>(0, 1)?, [8]);
        Ok(())
    });
}

#[test]
fn a_test_of_a_message_from_a_rank_that_has_gone_ends() {
    let results = try_run(2, None, 20.0, |mut rank| {
        if rank.id() == 1 {
            // It is connected, and goes without a word.
            return rank.world().recv::<u8>(0, 1).map(drop);
        }
        rank.world().send(1, 1, &[0_u8])?;
        let mut request = rank.world().irecv(Envelope::exact(1, 2))?;
        loop {
            request = match rank.test(request)? {
                Tested::Done(_) => return Ok(()),
                Tested::NotYet(request) => request,
            };
        }
    });
    let fault = results[0].as_ref().expect_err("its sender has gone").to_string();
    assert!(fault.contains("gone"), "{fault}");
}

#[test]
fn one_of_several_is_waited_for_until_all_are_done() {
    in_both(4, |rank| {
        if rank.id() != 0 {
            let id = rank.id();
            return rank.world().send(0, rank_tag(id), &[id as i64]);
        }
        let mut requests = Vec::new();
        for from in 1..4 {
            requests.push(rank.world().irecv(Envelope::exact(from, rank_tag(from)))?);
        }
        let mut sum = 0;
        while !requests.is_empty() {
            let (place, done) = rank.wait_any(&mut requests)?;
            assert!(place < 3);
            sum += done.message().expect("received").elements::<i64>()?[0];
        }
        assert_eq!(sum, 6);
        assert!(rank.wait_any(&mut requests).is_err(), "none is left");
        Ok(())
    });
}

fn rank_tag(rank: usize) -> u32 {
    10 + rank as u32
}

#[test]
fn a_test_ends_with_the_message() {
    in_both(2, |rank| {
        if rank.id() == 0 {
            rank.world().recv::<u8>(1, 0)?;
            return rank.world().send(1, 1, b"go");
        }
        let mut request = rank.world().irecv(Envelope { from: None, tag: Some(1) })?;
        rank.world().send(0, 0, b"ready")?;
        loop {
            match rank.test(request)? {
                Tested::Done(done) => {
                    assert_eq!(done.message().expect("received").elements::<u8>()?, b"go");
                    return Ok(());
                }
                Tested::NotYet(same) => request = same,
            }
        }
    });
}

#[test]
fn sends_and_receives_at_once_go_round() {
    in_both(3, |rank| {
        let (id, size) = (rank.id(), rank.size());
        let mut into = vec![0.0_f32; 50_000];
        rank.world().sendrecv((id + 1) % size, &vec![id as f32; 50_000], (id + 2) % size, &mut into, 9)?;
        assert!(into.iter().all(|number| *number == ((id + 2) % size) as f32));
        Ok(())
    });
}

#[test]
fn reductions_of_every_type() {
    in_both(3, |rank| {
        let id = rank.id();
        let mut integers = [id as i32, -1];
        rank.world().allreduce(&mut integers, ReduceOp::Sum)?;
        assert_eq!(integers, [3, -3]);
        let mut long = [i64::MAX - id as i64; 700];
        rank.world().allreduce(&mut long, ReduceOp::Min)?;
        assert_eq!(long, [i64::MAX - 2; 700]);
        let mut single = [id as f32 / 2.0];
        rank.world().allreduce(&mut single, ReduceOp::Max)?;
        assert_eq!(single, [1.0]);
        let mut where_is_the_largest = [Located { value: f64::from(-(id as i32 - 1).abs()), at: id as i64 }];
        rank.world().allreduce(&mut where_is_the_largest, LocateOp::Max)?;
        assert_eq!(where_is_the_largest, [Located { value: 0.0, at: 1 }]);
        let part =
            rank.world().reduce_scatter((0..10).map(|number| number * id as i64).collect(), ReduceOp::Sum)?;
        let bound = |rank: usize| 10 * rank / 3;
        let expected: Vec<i64> = (bound(id)..bound(id + 1)).map(|number| 3 * number as i64).collect();
        assert_eq!(part, expected);
        Ok(())
    });
}

#[test]
fn collectives_of_equal_pieces() {
    for nodes in [1, 2, 3, 5, 8] {
        in_both(nodes, |rank| {
            let (id, size) = (rank.id(), rank.size());
            for length in [1_usize, 300, 40_000] {
                let own = vec![id as i32; length];
                let all: Vec<i32> = (0..size).flat_map(|rank| vec![rank as i32; length]).collect();
                let got = rank.world().allgather(&own)?;
                let wrong = got.iter().zip(&all).position(|(got, all)| got != all);
                assert_eq!(wrong, None, "of {size} ranks with {length} each, rank {id}");
                for root in [0, size - 1] {
                    let gathered = rank.world().gather(root, &own)?;
                    assert!(gathered == (id == root).then(|| all.clone()));
                    let dealt = rank.world().scatter(root, if id == root { &all } else { &[] }, length)?;
                    assert!(dealt == own);
                    let mut told = if id == root { vec![7; length] } else { vec![0; length] };
                    rank.world().bcast(root, &mut told)?;
                    assert!(told == vec![7; length]);
                }
            }
            Ok(())
        });
    }
}

#[test]
fn columns_and_faces_travel_without_copies_of_the_rest() {
    in_both(2, |rank| {
        const SIDE: usize = 64;
        let peer = 1 - rank.id();
        let column = |first| Strided { first, blocks: SIDE, length: 1, stride: SIDE };
        let mut matrix: Vec<f64> = (0..SIDE * SIDE).map(|place| (place + rank.id()) as f64).collect();
        let original = matrix.clone();
        // Each sends its second column, and receives into its first.
        if rank.id() == 0 {
            rank.world().send_strided(peer, 0, &matrix, column(1))?;
            rank.world().recv_strided(peer, 0, &mut matrix, column(0))?;
        } else {
            let before = matrix.clone();
            rank.world().recv_strided(peer, 0, &mut matrix, column(0))?;
            rank.world().send_strided(peer, 0, &before, column(1))?;
        }
        for row in 0..SIDE {
            assert_eq!(matrix[row * SIDE], (row * SIDE + 1 + peer) as f64);
            assert_eq!(matrix[row * SIDE + 1..(row + 1) * SIDE], original[row * SIDE + 1..(row + 1) * SIDE]);
        }
        let pattern = Pattern { tag: 4, sends: vec![(peer, column(3))], receives: vec![(peer, column(2))] };
        for _ in 0..3 {
            rank.world().exchange(&pattern, &mut matrix)?;
            assert!((0..SIDE).all(|row| matrix[row * SIDE + 2] == (row * SIDE + 3 + peer) as f64));
        }
        Ok(())
    });
}

#[test]
fn a_message_of_another_type_or_size_is_a_fault_that_says_both() {
    in_both(2, |rank| {
        if rank.id() == 0 {
            rank.world().send(1, 0, &[1.0_f64])?;
            return rank.world().send(1, 1, &[1_i32, 2]);
        }
        let fault = rank.world().recv::<i32>(0, 0).expect_err("another type").to_string();
        assert!(
            fault.contains("expected 32-bit integers, found a message of 64-bit floating-point"),
            "{fault}"
        );
        let fault = rank.world().recv_into(0, 1, &mut [0_i32; 3]).expect_err("another size").to_string();
        assert!(fault.contains("expected 12 bytes, found a message of 8 bytes"), "{fault}");
        Ok(())
    });
}
