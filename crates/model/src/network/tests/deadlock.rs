//! Programs that cannot end, or are none.

use super::*;
use crosstalk_core::mpi::Operation as Collective;

fn fault(ranks: Vec<Vec<Operation>>) -> String {
    Script::new(ranks).run(&cluster(4)).expect_err("it has a fault").to_string()
}

#[test]
fn ranks_that_wait_for_each_other_are_named_with_both_call_sites() {
    let text = fault(vec![vec![compute(5), receive(1)], vec![receive(0)]]);
    assert!(text.contains("rank 0 at 0:1 waits for a message of rank 1 with tag 0"), "{text}");
    assert!(text.contains("rank 1 at 1:1 waits for a message of rank 0 with tag 0"), "{text}");
}

#[test]
fn two_blocking_sends_wait_for_each_other_above_the_eager_limit_only() {
    let programs = || vec![vec![send(1, S), receive(1)], vec![send(0, S), receive(0)]];
    let run = |limit| Script::new(programs()).run(&Emulation { mpi: Some(announcing(limit)), ..cluster(2) });
    assert!(run(S).is_ok());
    let text = run(S - 1).expect_err("both wait").to_string();
    assert!(text.contains("rank 0 at 0:2 waits for rank 1 to receive its message with tag 0"), "{text}");
}

#[test]
fn a_rank_that_has_finished_is_named_as_such() {
    let text = fault(vec![vec![], vec![receive(0)]]);
    assert!(text.contains("a message of rank 0 with tag 0, which rank 0 has finished without"), "{text}");
}

#[test]
fn a_message_that_nobody_received_is_reported() {
    let text = fault(vec![vec![send(1, 5)], vec![]]);
    assert!(text.contains("a message of 5 bytes with tag 0 from rank 0, sent at 0:1"), "{text}");
}

#[test]
fn different_collectives_are_reported() {
    let call = |operation, bytes| {
        let call = Call { operation, communicator: 0, root: 0, sizes: Sizes::Equal(bytes) };
        vec![Operation::Collective(Box::new(call))]
    };
    let text = fault(vec![call(Collective::Alltoall, 8), call(Collective::Alltoall, 16)]);
    assert!(text.contains("calls alltoall of 16 bytes a rank where rank 0 calls alltoall of 8"), "{text}");
    let text = fault(vec![call(Collective::Alltoall, 8), call(Collective::Barrier, 0)]);
    assert!(text.contains("calls barrier of 0 bytes a rank where rank 0 calls alltoall of 8"), "{text}");
}

#[test]
fn a_collective_that_some_do_not_call_never_ends() {
    let call = Call { operation: Collective::Barrier, communicator: 0, root: 0, sizes: Sizes::Equal(0) };
    let text = fault(vec![vec![Operation::Collective(Box::new(call))], vec![]]);
    assert!(text.contains("rank 0 at 0:1 waits for a message of rank 1 in collective 0 of the communicator, which rank 1 has finished"), "{text}");
}

#[test]
fn requests_and_communicators_must_be_there() {
    assert!(fault(vec![vec![wait([3])]]).contains("request 3 was not begun"));
    let none = Operation::Send { communicator: 2, to: 0, tag: 0, bytes: 1, request: None };
    assert!(fault(vec![vec![none]]).contains("communicator 2 is not defined"));
    assert!(fault(vec![vec![send(9, 1)]]).contains("expected a rank below 1, found 9"));
    let twice = vec![ireceive(Some(1), 0), ireceive(Some(1), 0)];
    assert!(fault(vec![twice, vec![]]).contains("request 0 is in use"));
}
