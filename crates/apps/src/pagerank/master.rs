//! The master: knows the graph's extent, starts the iterations, collects each one's balance, and checks the
//! answer. Like Spark's driver it has no vertex.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_work::peer::replay::origin;

use super::build::exchanges;
use super::config::{Config, RankScale};
use super::loading::EdgeText;
use super::ranks::{Balance, highest_ranks};
use super::slave::TOP_RANKS;
use super::source::Extent;
use super::verify;
use crate::account::{MasterAnswer, slave_cores};
use crate::coordination::{
    broadcast_words, collect_exactly_from_slaves, collect_from_slaves, join_exchange_empty,
};

/// Runs the master. Time counts from the start of the first iteration, or from that of loading, until the highest ranks
/// have arrived.
pub fn run(config: &Config, extent: Extent, part: &Part, rank: &mut Rank) -> Result<MasterAnswer, Fault> {
    let text = config.counts_loading.then(|| EdgeText::of(&config.source, extent)).transpose()?;
    if config.counts_loading {
        rank.restart_clock()?;
    }
    broadcast_words(rank, extent.to_words())?;
    if let Some(text) = text {
        text.send(config.slaves, rank)?;
    }
    for _ in 0..exchanges(extent, config.slaves) {
        join_exchange_empty(rank)?;
    }
    let parts: Vec<[u64; 6]> = collect_exactly_from_slaves(rank)?;
    let vertices = parts.iter().map(|part| part[0]).sum();
    let edges: u64 = parts.iter().map(|part| part[1]).sum();
    let mut balances = vec![total(parts.iter().map(|[_, _, a, b, c, d]| [*a, *b, *c, *d]))];
    let loading = rank.now()?;

    if !config.counts_loading {
        rank.restart_clock()?;
    }
    for _ in 0..config.iterations {
        broadcast_words(rank, [0])?;
        join_exchange_empty(rank)?;
        balances.push(total(collect_exactly_from_slaves(rank)?.into_iter()));
    }
    let factor = match config.variant {
        RankScale::Plain => 1.0,
        RankScale::Normalised => {
            let sum = balances.last().map_or(0.0, |balance| balance.all.to_number());
            let factor = vertices as f64 / sum;
            broadcast_words(rank, [factor.to_bits()])?;
            factor
        }
    };
    let best = collect_from_slaves(rank)?;
    let best = best.iter().flat_map(|words| words.as_chunks::<2>().0);
    let top = highest_ranks(best.map(|[label, value]| (*label as u32, f64::from_bits(*value))), TOP_RANKS);
    let account = rank.account()?;

    let sums: Vec<[u64; 3]> = collect_exactly_from_slaves(rank)?;
    join_exchange_empty(rank)?;
    let testimony = verify::SampleCheck::new(&collect_from_slaves(rank)?)?;
    let verdict = verify::check_edge_count(extent.edges, edges)
        .and_then(|()| verify::check_balances(vertices, &balances, config.reset))
        .and_then(|()| verify::check_highest(&top, vertices))
        .and_then(|()| testimony.verify(config.reset, factor));
    let gathered = edges as f64 * config.iterations as f64;
    let before = if config.counts_loading { loading.0 } else { 0.0 };
    let speed = gathered / ((account.total().0 - before) * slave_cores(part));
    let spilled: u64 = sums.iter().map(|[_, _, spilled]| spilled).sum();
    Ok(MasterAnswer {
        loading,
        account,
        exchanged: sums.iter().map(|[_, sent, _]| sent).sum(),
        checksum: sums.iter().fold(0, |sum, [part, ..]| sum.wrapping_add(*part)),
        own: vec![
            Reading::value("edges_per_second", speed, origin(part)),
            Reading::value("bytes_spilled", spilled as f64, Origin::Computed),
        ],
        verdict,
    })
}

fn total(parts: impl Iterator<Item = [u64; 4]>) -> Balance {
    let mut sum = Balance::default();
    parts.for_each(|words| sum.add(&Balance::from_words(words)));
    sum
}
