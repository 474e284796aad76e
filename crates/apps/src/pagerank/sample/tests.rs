//! Tests of `sample`.

use super::*;
use crate::exchange::mock::on_threads;
use crate::pagerank::build::build;
use crate::pagerank::ranks::Ranks;
use crate::pagerank::rmat::Rmat;
use crate::pagerank::shard::Shard;
use crate::pagerank::source::Source;

/// Two iterations on three parts whose shards were tampered with; for each
/// vertex of the sample the rank that its edges give it and the one it has.
fn examined(tamper: impl Fn(&mut Shard) + Sync) -> Vec<(f64, f64)> {
    let source = Source::Rmat(Rmat::new(10, 16, 5));
    let extent = source.extent().expect("known");
    let partition = Partition::new(3);
    let results = on_threads(3, |exchange| {
        let (mut shard, sampled) = build(&source, extent, 11, exchange).expect("builds");
        tamper(&mut shard);
        let mut ranks = Ranks::new(&shard, 0.15);
        for iteration in 1..=2 {
            let packed = ranks.pack_shares();
            ranks.unpack_shares(exchange.exchange(packed).expect("exchanged")).expect("unpacked");
            ranks.iterate(iteration == 2);
        }
        let sums = sampled.partial_sums(exchange, |place| ranks.last_share(place)).expect("summed");
        let own = |label: &u32| {
            let here = partition.owner(*label) == exchange.part();
            here.then(|| ranks.rank(partition.place(*label))).flatten().unwrap_or(0.0)
        };
        let found: Vec<f64> = sampled.sample().labels().iter().map(own).collect();
        (sums, found)
    });
    let count = results[0].0.len();
    (0..count)
        .map(|vertex| {
            let gathered: f64 = results.iter().map(|(sums, _)| sums[vertex]).sum();
            let found: f64 = results.iter().map(|(_, found)| found[vertex]).sum();
            (0.15 + 0.85 * gathered, found)
        })
        .collect()
}

fn off((expected, found): &(f64, f64)) -> bool {
    (found - expected).abs() > 1e-9 * expected
}

#[test]
fn the_edges_kept_aside_give_the_sample_its_ranks() {
    let vertices = examined(|_| ());
    assert!(vertices.len() > 10, "{} vertices", vertices.len());
    assert!(!vertices.iter().any(off), "{vertices:?}");
}

#[test]
fn edges_that_moved_to_another_row_are_found() {
    // Every row but the first begins one edge late: most ranks are wrong.
    let vertices = examined(|shard| {
        let rows = shard.offsets.len() - 1;
        for offset in &mut shard.offsets[1..rows] {
            *offset = (*offset + 1).min(shard.columns.len() as u32);
        }
    });
    assert!(vertices.iter().filter(|v| off(v)).count() > vertices.len() / 2, "{vertices:?}");
}
