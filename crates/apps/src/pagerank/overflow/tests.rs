//! Tests of `overflow`.

use super::*;
use crate::exchange::{Exchange, mock::on_threads};
use crate::pagerank::build::build;
use crate::pagerank::ranks::checksum;
use crate::pagerank::rmat::Rmat;
use crate::pagerank::source::Source;
use crate::spill::mock::AccessLog;
use crosstalk_comm::Access;
use proptest::prelude::*;

/// Each part's checksum and balances, what it spilled, and what it did with
/// its disk, where memory lacks so much of the room for its edges.
fn played(parts: usize, lacks: u64) -> Vec<(u64, Vec<Balance>, u64, AccessLog)> {
    let source = Source::Rmat(Rmat::new(9, 16, 3));
    let extent = source.extent().expect("known");
    on_threads(parts, |exchange| {
        let (mut shard, _) = build(&source, extent, 1, exchange).expect("builds");
        let mut disk = AccessLog::default();
        let memory = Bytes(shard.resident() + EDGE_BYTES * shard.edges() as u64 - lacks);
        let mut overflow = Overflow::move_excess(&mut shard, memory, &mut disk).expect("spills");
        let mut ranks = Ranks::new(&shard, 0.15);
        let mut balances = Vec::new();
        for iteration in 1..=3 {
            let packed = ranks.pack_shares();
            let arrived = exchange.exchange(packed).expect("exchanged");
            ranks.unpack_shares(arrived).expect("unpacked");
            let mut balance = ranks.iterate(iteration == 3);
            if let Some(overflow) = &mut overflow {
                let rest = overflow.iterate(&mut ranks, iteration == 3, &mut disk, |_, gather| gather());
                balance.add(&rest.expect("read back"));
            }
            balances.push(balance);
        }
        let spilled = overflow.map_or(0, |overflow| overflow.disk_bytes());
        (checksum(ranks.iter_named()), balances, spilled, disk)
    })
}

#[test]
fn the_ranks_are_the_same_bit_by_bit_with_edges_on_the_disk() {
    for (parts, lacks) in [(1, 1), (1, 20_000), (2, 1), (2, 4_000), (4, 1)] {
        let (free, limited) = (played(parts, 0), played(parts, lacks));
        for ((sum, balances, none, idle), (same, also, spilled, disk)) in free.iter().zip(&limited) {
            assert_eq!((sum, balances), (same, also), "{parts} parts, each {lacks} B short");
            assert!(*none == 0 && idle.0.is_empty());
            // Written once, read in every iteration; the head moves at the begin of each.
            assert!(*spilled >= lacks);
            assert_eq!(disk.0.iter().map(|(_, bytes)| bytes).sum::<u64>(), 4 * spilled);
            assert_eq!(disk.0.iter().filter(|(access, _)| *access == Access::Seek).count(), 4);
        }
    }
}

#[test]
fn what_fits_is_not_divided() {
    let offsets = [0, 10, 20];
    assert_eq!(fit(&offsets, 100, 180), Ok(Fit { held: 2, blocks: Vec::new() }));
    // One byte less: a row of 40 B stays where 179 − 100 − 40 have room for none.
    assert_eq!(fit(&offsets, 100, 179), Ok(Fit { held: 0, blocks: vec![0..1, 1..2] }));
    assert_eq!(fit(&offsets, 99, 179), Ok(Fit { held: 2, blocks: Vec::new() }));
}

#[test]
fn vertices_that_do_not_fit_are_a_fault() {
    let fault = fit(&[0, 10, 20], 100, 139).expect_err("too small");
    assert!(fault.message.contains("100 B for its vertices and 40 B for a block of edges"), "{fault}");
    assert!(fit(&[0, 10, 20], 100, 140).is_ok());
}

proptest! {
    #[test]
    fn blocks_cover_what_is_not_held_and_everything_stays_within_memory(
        degrees in proptest::collection::vec(0_u32..50, 1..200),
        resident in 0_u64..1000,
        memory in 1_u64..20_000,
    ) {
        let mut offsets = vec![0];
        for degree in &degrees {
            offsets.push(offsets[offsets.len() - 1] + degree);
        }
        if let Ok(Fit { held, blocks }) = fit(&offsets, resident, memory) {
            let mut next = held;
            let mut largest = 0;
            for rows in &blocks {
                prop_assert!(rows.start == next && rows.end > next);
                next = rows.end;
                largest = largest.max(offsets[rows.end] - offsets[rows.start]);
            }
            prop_assert_eq!(next, degrees.len());
            prop_assert!(resident + EDGE_BYTES * u64::from(offsets[held] + largest) <= memory);
        }
    }
}
