//! The master: deals the corpus, looks on as the slaves go through the stages,
//! and checks the answer. It holds no document, as Hadoop's.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};

use super::config::Config;
use super::confusion::Confusion;
use super::deal::deal;
use super::label::Counts;
use super::node::STAGES;
use super::source::Source;
use super::verify::{self, Testimony};
use crate::account::{Answer, cores, origin};
use crate::mapreduce::cluster::look_on;
use crate::words::{hear, hear_exactly, tell};

/// Shuffles, and hand-outs of what came out: of words, of pairs, of weights.
const EXCHANGES: usize = 6;

/// What a slave says of its disk and its memory, by metric.
const MOVED: [&str; 5] = ["bytes_spilled", "bytes_read_back", "spills", "seeks", "bytes_held"];

/// Plays the master's part. Time counts from the first stage's begin until the
/// last decision is here.
pub fn run(config: &Config, pages: u64, part: &Part, rank: &mut Rank) -> Result<Answer, Fault> {
    if let Source::File(path) = &config.source {
        deal(path, pages, rank)?;
    }
    let bytes: u64 = hear_exactly::<1>(rank)?.iter().map(|[bytes]| bytes).sum();
    let loading = rank.now();

    rank.restart_clock()?;
    let mut counts = Counts::default();
    hear_exactly(rank)?.iter().for_each(|words| counts.add(&Counts::from_words(words)));
    tell(rank, counts.to_words())?;
    counts.verify()?;
    for _ in 0..EXCHANGES {
        look_on(rank)?;
    }
    let mut confusion = Confusion::default();
    hear(rank)?.iter().try_for_each(|words| confusion.add(words))?;
    let account = rank.account();

    let told: Vec<[u64; 2]> = hear_exactly(rank)?;
    let moved: Vec<[u64; MOVED.len()]> = hear_exactly(rank)?;
    let stages: Vec<[u64; STAGES.len()]> = hear_exactly(rank)?;
    let testimony = Testimony::new(&hear(rank)?)?;
    let verdict = verify::pages(pages, counts.pages)
        .and_then(|()| verify::decided(counts.testing(), confusion.documents()))
        .and_then(|()| testimony.verify());
    let features = told.first().map_or(0, |[_, features]| *features);
    let throughput = bytes as f64 / (account.total().0 * cores(part));
    let mut own = vec![
        Reading::value("throughput", throughput, origin(part)),
        Reading::value("accuracy", confusion.accuracy(), Origin::Computed),
        Reading::value("documents", counts.documents() as f64, Origin::Computed),
        Reading::value("features", features as f64, Origin::Computed),
    ];
    own.extend(confusion.cells().map(|(label, given, documents)| {
        Reading::value("confusion", documents as f64, Origin::Computed)
            .label("from", label)
            .label("to", given)
    }));
    for (node, (moved, stages)) in (1_usize..).zip(moved.iter().zip(&stages)) {
        own.extend(MOVED.iter().zip(moved).map(|(metric, count)| {
            Reading::value(metric, *count as f64, Origin::Measured).label("node", node)
        }));
        own.extend(STAGES.iter().zip(stages).map(|(stage, took)| {
            let took = Reading::value("stage_time", f64::from_bits(*took), origin(part));
            took.label("node", node).label("stage", stage.name())
        }));
    }
    Ok(Answer {
        loading,
        account,
        exchanged: told.iter().map(|[sent, _]| sent).sum(),
        checksum: testimony.checksum(),
        own,
        verdict,
    })
}
