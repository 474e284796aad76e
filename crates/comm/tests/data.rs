//! Every operation delivers the right data, in virtual and in real time.

use crate::common::{emulation, fabric, run};
use crosstalk_comm::ReduceOp;

#[test]
fn messages_arrive_by_source_and_tag() {
    let results = run(2, None, |rank| {
        if rank.id() == 0 {
            rank.world().send(1, 7, b"seven")?;
            rank.world().send(1, 8, b"eight")?;
            rank.world().send(1, 7, b"seven again")?;
            Ok(Vec::new())
        } else {
            Ok(vec![
                rank.world().recv::<u8>(0, 8)?,
                rank.world().recv::<u8>(0, 7)?,
                rank.world().recv::<u8>(0, 7)?,
            ])
        }
    });
    assert_eq!(results[1], [b"eight".to_vec(), b"seven".to_vec(), b"seven again".to_vec()]);
}

#[test]
fn a_wildcard_takes_from_every_rank() {
    let results = run(4, None, |rank| {
        if rank.id() != 0 {
            let id = rank.id() as u8;
            rank.world().send(0, 1, &[id])?;
            return Ok(Vec::new());
        }
        (1..4).map(|_| rank.world().recv_any::<u8>(1)).collect()
    });
    let mut came = results[0].clone();
    came.sort();
    assert_eq!(came, [(1, vec![1]), (2, vec![2]), (3, vec![3])]);
}

#[test]
fn a_rank_can_send_to_itself() {
    let results = run(1, None, |rank| {
        rank.world().send(0, 1, b"me")?;
        rank.world().recv::<u8>(0, 1)
    });
    assert_eq!(results, [b"me"]);
}

/// What rank `from` has for rank `to`: of different lengths.
fn piece(from: usize, to: usize) -> Vec<u8> {
    vec![(16 * from + to) as u8; 3 * from + to]
}

fn collectives_deliver(nodes: usize, emulation: Option<&crosstalk_core::emulation::Emulation>) {
    run(nodes, emulation, |rank| {
        let id = rank.id();
        rank.world().barrier()?;
        for root in 0..nodes {
            let mut data = if id == root { piece(root, 9) } else { Vec::new() };
            rank.world().bcast_vec(root, &mut data)?;
            assert_eq!(data, piece(root, 9));

            let gathered = rank.world().gatherv(root, &piece(id, root))?;
            let expected: Vec<_> = (0..nodes).map(|from| piece(from, root)).collect();
            assert_eq!(gathered, (id == root).then_some(expected));

            let dealt = if id == root { (0..nodes).map(|to| piece(root, to)).collect() } else { Vec::new() };
            assert_eq!(rank.world().scatterv(root, dealt)?, piece(root, id));

            let mut sum = vec![id as f64, 1.0];
            rank.world().reduce(root, &mut sum, ReduceOp::Sum)?;
            if id == root {
                assert_eq!(sum, [(nodes * (nodes - 1) / 2) as f64, nodes as f64]);
            }
        }
        for length in [3, 1000] {
            let mut numbers: Vec<f64> = (0..length).map(|i| (i + id) as f64).collect();
            rank.world().allreduce(&mut numbers, ReduceOp::Max)?;
            assert!(numbers.iter().enumerate().all(|(i, n)| *n == (i + nodes - 1) as f64));
            rank.world().allreduce(&mut numbers, ReduceOp::Min)?;
            rank.world().allreduce(&mut numbers, ReduceOp::Sum)?;
            assert!(numbers.iter().enumerate().all(|(i, n)| *n == (nodes * (i + nodes - 1)) as f64));
        }
        let all: Vec<_> = (0..nodes).map(|from| piece(from, 0)).collect();
        assert_eq!(rank.world().allgatherv(&piece(id, 0))?, all);

        let got = rank.world().alltoallv((0..nodes).map(|to| piece(id, to)).collect())?;
        assert_eq!(got, (0..nodes).map(|from| piece(from, id)).collect::<Vec<_>>());
        for bytes in [0, 1, 10_000, 100_000] {
            let own: Vec<u8> = (0..nodes).flat_map(|to| vec![(16 * id + to) as u8; bytes]).collect();
            let expected: Vec<u8> = (0..nodes).flat_map(|from| vec![(16 * from + id) as u8; bytes]).collect();
            assert!(rank.world().alltoall(&own)? == expected, "{bytes} bytes");
        }
        Ok(())
    });
}

#[test]
fn collectives_deliver_in_real_time() {
    (1..=5).chain([8]).for_each(|nodes| collectives_deliver(nodes, None));
}

#[test]
fn collectives_deliver_in_virtual_time() {
    let fabric = fabric(5000.0, 500.0, 500.0, 1.0, 0.1);
    (2..=4).chain([7]).for_each(|nodes| collectives_deliver(nodes, Some(&emulation(nodes, &fabric))));
}
