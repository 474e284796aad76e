//! Failures end in a fault that names the node. None blocks, panics or takes
//! unbounded memory.

use crate::common::{LOOPBACK, NEVER, emulation, fabric, part, ranks, run, try_run};
use crosstalk_comm::{ReduceOp, listen};
use crosstalk_core::message::Part;
use crosstalk_core::{Fault, FaultKind};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Waits until `count` is `expected`, at most 20 s: a rank that fails early does not count.
fn await_count(count: &AtomicUsize, expected: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while count.load(Ordering::SeqCst) < expected && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
}

fn fault<R>(result: &Result<R, Fault>) -> String {
    result.as_ref().err().expect("a fault").to_string()
}

#[test]
fn a_node_that_dies_is_named_by_all() {
    let results = try_run(4, None, 20.0, |mut rank| {
        rank.world().barrier()?;
        if rank.id() == 2 {
            return Ok(());
        }
        // 0 waits for the dead node, 1 and 3 for node 0, which waits for it.
        let from = if rank.id() == 0 { 2 } else { 0 };
        rank.world().recv::<u8>(from, 0).map(drop)
    });
    assert_eq!(results[2], Ok(()));
    for id in [0, 1, 3] {
        let fault = results[id].as_ref().expect_err("cannot go on");
        assert_eq!((fault.kind, fault.node()), (FaultKind::Gone, Some(2)), "{fault}");
    }
}

#[test]
fn a_node_that_dies_while_it_is_sent_to_is_named() {
    let results = try_run(2, None, 20.0, |mut rank| {
        if rank.id() == 1 {
            return rank.world().recv::<u8>(0, 0).map(drop);
        }
        rank.world().send(1, 0, &[1_u8])?;
        (0..100).try_for_each(|_| rank.world().send(1, 0, &vec![0_u8; 1 << 20]))
    });
    let fault = results[0].as_ref().expect_err("cannot go on");
    assert_eq!(fault.node(), Some(1), "{fault}");
}

#[test]
fn a_node_that_finished_too_early_is_named() {
    let results = try_run(2, None, 20.0, |mut rank| {
        if rank.id() == 0 {
            return rank.finish().map(drop);
        }
        rank.world().recv::<u8>(0, 0).map(drop)
    });
    assert!(fault(&results[1]).contains("finished without"), "{}", fault(&results[1]));
}

#[test]
fn the_deadline_ends_a_wait() {
    let begin = Instant::now();
    // Each reaches its deadline before the other ends: else it would report that the other is gone.
    let ended = AtomicUsize::new(0);
    let results = try_run(2, None, 0.3, |mut rank| {
        let peer = 1 - rank.id();
        let result = rank.world().recv::<u8>(peer, 0);
        ended.fetch_add(1, Ordering::SeqCst);
        await_count(&ended, 2);
        result
    });
    assert!(begin.elapsed() < Duration::from_secs(5));
    for result in &results {
        assert!(fault(result).contains("deadline passed"), "{}", fault(result));
    }
}

#[test]
fn the_deadline_ends_connecting() {
    let mut ranks = ranks(2, Some(&emulation(2, &fabric(1.0, 1.0, 1.0, 1.0, 0.0))), 0.3);
    let endpoints: Vec<_> = ranks.iter().map(|(_, listener)| Some(listener.endpoint())).collect();
    let (part, listener) = ranks.swap_remove(0);
    let result = listener.connect(&part, &endpoints, &NEVER);
    assert!(fault(&result).contains("waiting for node 1 to connect"), "{}", fault(&result));
}

#[test]
fn cancelling_ends_a_wait_soon() {
    static CANCELLED: AtomicBool = AtomicBool::new(false);
    let ranks = ranks(2, None, 60.0);
    let endpoints: Vec<_> = ranks.iter().map(|(_, listener)| Some(listener.endpoint())).collect();
    let endpoints = &endpoints;
    // The main thread cancels once both are connected. Neither ends before the other was cancelled.
    let (connected, ended) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    let (begin, results) = thread::scope(|scope| {
        let threads: Vec<_> = ranks
            .into_iter()
            .map(|(part, listener)| {
                scope.spawn(move || {
                    let mut rank = listener.connect(&part, endpoints, &CANCELLED)?;
                    connected.fetch_add(1, Ordering::SeqCst);
                    let result = rank.world().recv::<u8>(1 - part.node, 0);
                    ended.fetch_add(1, Ordering::SeqCst);
                    await_count(ended, 2);
                    result
                })
            })
            .collect();
        await_count(connected, 2);
        CANCELLED.store(true, Ordering::Relaxed);
        let begin = Instant::now();
        let results: Vec<_> = threads.into_iter().map(|t| t.join().expect("no panic")).collect();
        (begin, results)
    });
    assert!(begin.elapsed() < Duration::from_secs(3));
    for result in results {
        assert_eq!(result.expect_err("cancelled").kind, FaultKind::Interrupted);
    }
}

/// A hand-made header, field by field as the documentation lays it out.
fn header(kind: u16, source: u32, tag: u32, length: u64, key: u64) -> Vec<u8> {
    let mut wire = b"XTLK".to_vec();
    wire.extend(2u16.to_le_bytes());
    wire.extend(kind.to_le_bytes());
    wire.extend(source.to_le_bytes());
    wire.extend(tag.to_le_bytes());
    wire.extend(length.to_le_bytes());
    // Communicator and number.
    wire.extend([0; 16]);
    wire.extend(key.to_le_bytes());
    // Bytes.
    wire.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    wire
}

/// Rank 0 receives from a peer that sends a valid `Hello` and then `wire`.
fn receive_from_peer(wire: impl Fn(&Part) -> Vec<u8>) -> Result<Vec<u8>, Fault> {
    let part = part(0, 2, None, 5.0);
    let listener = listen(LOOPBACK).expect("binds");
    let endpoints = [Some(listener.endpoint()); 2];
    let mut peer = TcpStream::connect(listener.endpoint()).expect("connects");
    peer.write_all(&header(0, 1, 0, 0, part.seed)).expect("introduces itself");
    peer.write_all(&wire(&part)).expect("sends");
    listener.connect(&part, &endpoints, &NEVER)?.world().recv(1, 7)
}

#[test]
fn a_hand_made_message_is_received() {
    let got = receive_from_peer(|part| [header(1, 1, 7, 2, part.seed), b"ok".to_vec()].concat());
    assert_eq!(got, Ok(b"ok".to_vec()));
}

#[test]
fn malformed_headers_are_faults_that_name_the_node() {
    type Wire = fn(&Part) -> Vec<u8>;
    let cases: [(Wire, &str); 5] = [
        (|_| vec![b'?'; 56], "magic"),
        (|part| header(99, 1, 7, 0, part.seed), "unknown kind of message 99"),
        (|part| header(1, 1, 7, u64::MAX, part.seed), "at most"),
        (|part| header(1, 5, 7, 0, part.seed), "malformed"),
        (|part| header(1, 1, 7, 0, !part.seed), "malformed"),
    ];
    for (wire, expected) in cases {
        let fault = receive_from_peer(wire).expect_err("is refused");
        assert!(fault.node() == Some(1) && fault.message.contains(expected), "{fault}");
    }
}

#[test]
fn unknown_callers_are_ignored() {
    let ranks = ranks(2, None, 20.0);
    let endpoints: Vec<_> = ranks.iter().map(|(_, listener)| Some(listener.endpoint())).collect();
    let first: SocketAddr = endpoints[0].expect("listens");
    let mut callers: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(first).expect("connects")).collect();
    callers[0]
        .write_all(b"GET / HTTP/1.1\r\nHost: example.org\r\nAccept: text/html\r\n\r\n")
        .expect("writes");
    callers[1].write_all(&header(0, 1, 0, 0, u64::MAX)).expect("writes");
    callers[2].shutdown(std::net::Shutdown::Write).expect("closes");
    let endpoints = &endpoints;
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = ranks
            .into_iter()
            .map(|(part, listener)| {
                scope.spawn(move || {
                    let mut rank = listener.connect(&part, endpoints, &NEVER)?;
                    rank.world().barrier()?;
                    rank.finish()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(results, [Ok(None), Ok(None)]);
    let mut rest = Vec::new();
    let _ = callers[1].read_to_end(&mut rest);
    assert!(rest.is_empty(), "an unknown caller gets no answer");
}

#[test]
fn ranks_that_call_different_collectives_fail() {
    let results = try_run(2, None, 10.0, |mut rank| {
        if rank.id() == 0 { rank.world().barrier() } else { rank.world().allgatherv(b"x").map(drop) }
    });
    let is_reported = results.iter().filter(|result| result.is_err()).map(fault).any(|f| f.contains("calls"));
    assert!(is_reported, "{results:?}");
}

#[test]
fn ranks_that_call_different_collectives_with_other_sizes_are_told_the_collectives() {
    let results = try_run(2, None, 10.0, |mut rank| {
        let (mut short, mut long) = (vec![1.0; 1], vec![1.0; 2]);
        match rank.id() {
            0 => rank.world().allreduce(&mut long, ReduceOp::Sum),
            _ => rank.world().bcast(0, &mut short),
        }
    });
    let told = |fault: &String| fault.contains("calls allreduce where rank 1 calls bcast");
    assert!(results.iter().filter(|result| result.is_err()).map(fault).any(|f| told(&f)), "{results:?}");
}

#[test]
fn vectors_of_different_length_are_not_reduced() {
    let results = try_run(2, None, 10.0, |mut rank| {
        let mut data = vec![1.0; 1 + rank.id()];
        rank.world().allreduce(&mut data, ReduceOp::Sum)
    });
    let expected = "sends 16 bytes in allreduce where 8 are expected";
    assert!(fault(&results[0]).contains(expected), "{}", fault(&results[0]));
}

#[test]
fn ranks_that_do_not_exist_and_messages_never_sent_are_faults() {
    run(1, None, |rank| {
        assert!(rank.world().send::<u8>(1, 0, &[]).is_err());
        assert!(rank.world().recv::<u8>(7, 0).is_err());
        assert!(rank.world().recv::<u8>(0, 0).expect_err("never sent").to_string().contains("itself"));
        assert!(rank.world().bcast_vec(3, &mut Vec::new()).is_err());
        assert!(rank.world().alltoallv(vec![Vec::new(); 2]).is_err());
        Ok(())
    });
}

#[test]
fn a_part_that_does_not_fit_is_refused() {
    let part = Part { nodes: 3, ..part(0, 2, Some(&emulation(2, &fabric(1.0, 1.0, 1.0, 1.0, 0.0))), 1.0) };
    let listener = listen(LOOPBACK).expect("binds");
    let result = listener.connect(&part, &[None; 3], &NEVER);
    assert!(fault(&result).contains("each of 3 nodes, found 3 and 2"), "{}", fault(&result));
}
