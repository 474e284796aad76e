//! A slave: has a part of the graph, and iterates when the master says so.

use crosstalk_comm::{Rank, TimeAccount};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::build::build;
use super::config::{Config, RankScale};
use super::loading;
use super::name::Name;
use super::overflow::Overflow;
use super::partition::Partition;
use super::ranks::{Ranks, checksum, highest_ranks};
use super::sample::SampleEdges;
use super::source::Extent;
use crate::coordination::{SlaveExchange, broadcast_words, send_to_master};
use crate::exchange::Exchange;

/// Number of highest ranks that a slave reports to the master.
pub const TOP_RANKS: usize = 10;

/// Runs a slave on a node with so much `memory`, if known; returns where its time went.
pub fn run(config: &Config, seed: u64, memory: Option<Bytes>, rank: &mut Rank) -> Result<TimeAccount, Fault> {
    if config.counts_loading {
        rank.restart_clock()?;
    }
    let extent = Extent::from_words(broadcast_words(rank, [0; 3])?);
    let (mut shard, sampled) = match config.counts_loading {
        false => build(&config.source, extent, seed, &mut SlaveExchange(rank))?,
        true => {
            let received = loading::receive(extent, rank)?;
            rank.compute_in_parallel_spilling(|rank| {
                build(&received, extent, seed, &mut SlaveExchange(rank))
            })?
        }
    };
    let mut overflow = match memory {
        Some(memory) => Overflow::move_excess(&mut shard, memory, rank)?,
        None => None,
    };
    let mut ranks = Ranks::new(&shard, config.reset);
    let [a, b, c, d] = ranks.balance().to_words();
    send_to_master(rank, &[shard.vertices() as u64, shard.edges() as u64, a, b, c, d])?;

    if !config.counts_loading {
        rank.restart_clock()?;
    }
    let sent = iterate(config.iterations, &mut ranks, overflow.as_mut(), rank)?;
    if config.variant == RankScale::Normalised {
        let [factor] = broadcast_words(rank, [0])?;
        rank.compute_in_parallel(|| ranks.scale(f64::from_bits(factor)));
    }
    let partition = Partition::new(rank.size() - 1);
    let part = SlaveExchange(rank).part();
    let best = rank.compute_in_parallel(|| {
        highest_ranks(ranks.iter().map(|(place, value)| (partition.label(part, place), value)), TOP_RANKS)
    });
    let words: Vec<u64> =
        best.iter().flat_map(|(label, value)| [u64::from(*label), value.to_bits()]).collect();
    send_to_master(rank, &words)?;
    let account = rank.account()?;

    let spilled = overflow.as_ref().map_or(0, Overflow::disk_bytes);
    send_to_master(rank, &[checksum(ranks.iter_named()), sent, spilled])?;
    report_sample(&ranks, &sampled, partition, rank)?;
    if let Some(directory) = &config.output {
        write_ranks(&directory.join(format!("part-{part:05}")), ranks.iter_named())?;
    }
    Ok(account)
}

/// Runs all iterations; returns the bytes that were sent to other slaves.
fn iterate(
    iterations: usize,
    ranks: &mut Ranks,
    mut overflow: Option<&mut Overflow>,
    rank: &mut Rank,
) -> Result<u64, Fault> {
    let mut sent = 0;
    for iteration in 1..=iterations {
        broadcast_words(rank, [0])?;
        let packed = rank.serialise(|| ranks.pack_shares());
        sent += packed.iter().map(|buffer| buffer.len() as u64).sum::<u64>();
        let arrived = SlaveExchange(rank).exchange(packed)?;
        rank.serialise(|| ranks.unpack_shares(arrived))?;
        let last = iteration == iterations;
        let mut balance = rank.compute_in_parallel(|| ranks.iterate(last));
        if let Some(overflow) = &mut overflow {
            balance
                .add(&overflow.iterate(ranks, last, rank, |rank, gather| rank.compute_in_parallel(gather))?);
        }
        send_to_master(rank, &balance.to_words())?;
    }
    Ok(sent)
}

/// Reports two numbers for each vertex of the sample to the master: this part's contribution to its sum, from
/// the kept edges, and its rank if the vertex is here, else NaN.
fn report_sample(
    ranks: &Ranks,
    sampled: &SampleEdges,
    partition: Partition,
    rank: &mut Rank,
) -> Result<(), Fault> {
    let part = SlaveExchange(rank).part();
    let sums = sampled.partial_sums(&mut SlaveExchange(rank), |place| ranks.last_share(place))?;
    let found = sampled.sample().labels().iter().map(|label| {
        let here = (partition.owner(*label) == part).then(|| ranks.rank(partition.place(*label)));
        here.flatten().unwrap_or(f64::NAN)
    });
    let words: Vec<u64> =
        sums.iter().copied().zip(found).flat_map(|(s, r)| [s.to_bits(), r.to_bits()]).collect();
    send_to_master(rank, &words)
}

/// Writes name and rank of a vertex on each line.
pub fn write_ranks<'a>(path: &Path, ranks: impl Iterator<Item = (Name<'a>, f64)>) -> Result<(), Fault> {
    let write = || -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut file = BufWriter::new(File::create(path)?);
        for (name, rank) in ranks {
            writeln!(file, "{name}\t{rank}")?;
        }
        file.flush()
    };
    write().map_err(|e| Fault::environment(format!("cannot write: {e}")).at(path.display().to_string()))
}
