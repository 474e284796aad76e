//! Tests of `share`.

use super::*;
use crate::exchange::Exchange;
use crate::mapreduce::cluster::mock::on_threads;
use crate::mapreduce::record::Number;
use crate::mapreduce::sorted::ListWriter;

/// Every part's list has the numbers that it owns below `end`; returns what every part has then, its rounds,
/// and the bytes that it spilled.
fn shared(parts: usize, end: u64, memory: u64) -> Vec<(Vec<u64>, usize, u64)> {
    on_threads(parts, |cluster| {
        let (budget, scratch) = (Budget::new(memory, parts), Scratch::temporary());
        let mut writer =
            ListWriter::<Number, u64>::new(&scratch, budget.spool_memory(), budget.block_bytes());
        let (mut mine, part) = (0, cluster.part());
        for number in (0..end).map(Number).filter(|number| number.owner(parts) == part) {
            writer.push(&mut cluster.disk, &number, &(3 * number.0)).expect("pushed");
            mine += 1;
        }
        let list = writer.finish(&mut cluster.disk).expect("finished");
        let (shared, sent) = Shared::new(list, (mine, 7), budget, &scratch, cluster).expect("shared");
        assert_eq!(shared.totals(), Totals { emitted: end, arrived: 7 * parts as u64, records: end });
        assert_eq!(sent > 0, parts > 1);
        let mut union = shared.union(None);
        let mut found = Vec::new();
        while let Some(record) = union.next(&mut cluster.disk) {
            let (number, value) = record.expect("reads");
            assert_eq!(value, 3 * number.0);
            found.push(number.0);
        }
        drop(union);
        let (moved, traffic) = (cluster.disk.bytes_and_seeks().0, scratch.traffic());
        assert_eq!(moved, traffic.written + traffic.read, "all is accounted for");
        (found, cluster.rounds, traffic.written)
    })
}

#[test]
fn every_part_has_all_records_in_order_whatever_the_memory() {
    for parts in [1, 2, 5] {
        for memory in [1 << 30, 48 << 10] {
            for (found, rounds, spilled) in shared(parts, 5000, memory) {
                assert!(found.iter().copied().eq(0..5000), "{parts} parts, {memory} bytes");
                assert_eq!(spilled > 0, memory < 1 << 30, "{parts} parts, {memory} bytes");
                assert_eq!(rounds > 1, memory < 1 << 30 && parts > 1, "{parts} parts, {memory} bytes");
            }
        }
    }
}

#[test]
fn empty_lists_are_shared_in_one_round() {
    assert!(shared(3, 0, 1 << 20).iter().all(|(found, rounds, _)| found.is_empty() && *rounds == 1));
}

#[test]
fn a_head_that_ends_early_is_a_fault() {
    let mut message = Vec::new();
    Totals { emitted: 300, arrived: 2, records: 1 << 40 }.write(&mut message);
    let mut totals = Totals::default();
    assert_eq!(totals.add_from(&mut &message[..]), Some(()));
    assert_eq!(totals, Totals { emitted: 300, arrived: 2, records: 1 << 40 });
    assert_eq!(totals.add_from(&mut &message[..message.len() - 1]), None);
}
