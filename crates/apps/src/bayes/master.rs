//! The master: sends the corpus, attends the slaves' exchanges in all stages, and checks the answer. Like
//! Hadoop's it has no document.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_work::peer::replay::origin;

use super::config::Config;
use super::confusion::Confusion;
use super::deal::send_pages;
use super::label::Counts;
use super::node::{STAGES, TABLES};
use super::source::Source;
use super::verify::{self, ModelReports};
use crate::account::{MasterAnswer, slave_cores};
use crate::coordination::{broadcast_words, collect_exactly_from_slaves, collect_from_slaves};
use crate::mapreduce::cluster::join_rounds_empty;

/// Shuffles, and distributions of their results: of words, of pairs, of weights.
const EXCHANGES: usize = 6;

/// A slave's report of its disk and memory, by metric.
const MOVED: [&str; 5] = ["bytes_spilled", "bytes_read_back", "spills", "seeks", "bytes_held"];

/// Runs the master. Time counts from the start of the first stage until the last decision has arrived.
pub fn run(config: &Config, pages: u64, part: &Part, rank: &mut Rank) -> Result<MasterAnswer, Fault> {
    if let Source::File(path) = &config.source {
        send_pages(path, pages, rank)?;
    }
    let bytes: u64 = collect_exactly_from_slaves::<1>(rank)?.iter().map(|[bytes]| bytes).sum();
    let loading = rank.now()?;

    rank.restart_clock()?;
    let mut counts = Counts::default();
    collect_exactly_from_slaves(rank)?.iter().for_each(|words| counts.add(&Counts::from_words(words)));
    broadcast_words(rank, counts.to_words())?;
    counts.check_enough()?;
    for _ in 0..EXCHANGES {
        join_rounds_empty(rank)?;
    }
    let mut confusion = Confusion::default();
    collect_from_slaves(rank)?.iter().try_for_each(|words| confusion.add_words(words))?;
    let account = rank.account()?;

    let reports: Vec<[u64; 2]> = collect_exactly_from_slaves(rank)?;
    let moved: Vec<[u64; MOVED.len()]> = collect_exactly_from_slaves(rank)?;
    let segments: Vec<[u64; TABLES.len()]> = collect_exactly_from_slaves(rank)?;
    let stages: Vec<[u64; STAGES.len()]> = collect_exactly_from_slaves(rank)?;
    let testimony = ModelReports::new(&collect_from_slaves(rank)?)?;
    let verdict = verify::check_page_count(pages, counts.pages)
        .and_then(|()| verify::check_decision_count(counts.testing(), confusion.documents()))
        .and_then(|()| testimony.verify());
    let features = reports.first().map_or(0, |[_, features]| *features);
    let throughput = bytes as f64 / (account.total().0 * slave_cores(part));
    let mut own = vec![
        Reading::value("throughput", throughput, origin(part)),
        Reading::value("accuracy", confusion.accuracy(), Origin::Computed),
        Reading::value("documents", counts.documents() as f64, Origin::Computed),
        Reading::value("features", features as f64, Origin::Computed),
    ];
    own.extend(confusion.counted_pairs().map(|(label, given, documents)| {
        Reading::value("confusion", documents as f64, Origin::Computed)
            .label("from", label)
            .label("to", given)
    }));
    for (node, ((moved, segments), stages)) in (1_usize..).zip(moved.iter().zip(&segments).zip(&stages)) {
        own.extend(MOVED.iter().zip(moved).map(|(metric, count)| {
            Reading::value(metric, *count as f64, Origin::Measured).label("node", node)
        }));
        own.extend(TABLES.iter().zip(segments).map(|(table, count)| {
            let count = Reading::value("segments", *count as f64, Origin::Measured);
            count.label("node", node).label("table", table)
        }));
        own.extend(STAGES.iter().zip(stages).map(|(stage, took)| {
            let took = Reading::value("stage_time", f64::from_bits(*took), origin(part));
            took.label("node", node).label("stage", stage.name())
        }));
    }
    Ok(MasterAnswer {
        loading,
        account,
        exchanged: reports.iter().map(|[sent, _]| sent).sum(),
        checksum: testimony.checksum(),
        own,
        verdict,
    })
}
