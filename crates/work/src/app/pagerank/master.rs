//! The master: knows the graph's extent, says when to begin, hears how each
//! iteration went, and checks the answer. It holds no vertex, as Spark's driver.

use crosstalk_comm::{Account, Rank};
use crosstalk_core::Fault;
use crosstalk_core::units::Seconds;

use super::build::exchanges;
use super::config::{Config, Variant};
use super::protocol::{exactly, hear, look_on, tell};
use super::ranks::{Balance, top};
use super::slave::TOP;
use super::source::Extent;
use super::verify;

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// From the first iteration's begin until the highest ranks were here.
    pub completion: Seconds,
    /// What building the parts took before, on the same clock.
    pub loading: Seconds,
    /// Where the master's time went.
    pub account: Account,
    /// Vertices that have an edge.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
    /// The same for the same ranks, bit by bit.
    pub checksum: u64,
    /// Bytes that slaves sent each other in the iterations.
    pub exchanged: u64,
    /// The highest ranks with their labels.
    pub top: Vec<(u32, f64)>,
    /// What is wrong with the answer, if anything.
    pub verdict: Result<(), Fault>,
}

/// Plays the master's part.
pub fn run(config: &Config, extent: Extent, rank: &mut Rank) -> Result<Answer, Fault> {
    tell(rank, extent.to_words())?;
    for _ in 0..exchanges(extent, config.slaves) {
        look_on(rank)?;
    }
    let parts: Vec<[u64; 6]> = all(hear(rank)?)?;
    let vertices = parts.iter().map(|part| part[0]).sum();
    let edges: u64 = parts.iter().map(|part| part[1]).sum();
    let mut balances = vec![total(parts.iter().map(|[_, _, a, b, c, d]| [*a, *b, *c, *d]))];
    let loading = rank.now();

    rank.restart_clock()?;
    for _ in 0..config.iterations {
        tell(rank, [0])?;
        look_on(rank)?;
        balances.push(total(all(hear(rank)?)?.into_iter()));
    }
    let factor = match config.variant {
        Variant::Plain => 1.0,
        Variant::Normalised => {
            let sum = balances.last().map_or(0.0, |balance| balance.all.total());
            let factor = vertices as f64 / sum;
            tell(rank, [factor.to_bits()])?;
            factor
        }
    };
    let best = hear(rank)?;
    let best = best.iter().flat_map(|words| words.as_chunks::<2>().0);
    let top = top(best.map(|[label, value]| (*label as u32, f64::from_bits(*value))), TOP);
    let account = rank.account();

    let sums: Vec<[u64; 2]> = all(hear(rank)?)?;
    look_on(rank)?;
    let testimony = verify::Testimony::new(&hear(rank)?)?;
    let verdict = verify::edges(extent.edges, edges)
        .and_then(|()| verify::balances(vertices, &balances, config.reset))
        .and_then(|()| testimony.verify(config.reset, factor));
    Ok(Answer {
        completion: account.total(),
        loading,
        account,
        vertices,
        edges,
        checksum: sums.iter().fold(0, |sum, [part, _]| sum.wrapping_add(*part)),
        exchanged: sums.iter().map(|[_, sent]| sent).sum(),
        top,
        verdict,
    })
}

fn all<const N: usize>(messages: Vec<Vec<u64>>) -> Result<Vec<[u64; N]>, Fault> {
    messages.iter().map(|words| exactly(words)).collect()
}

fn total(parts: impl Iterator<Item = [u64; 4]>) -> Balance {
    let mut sum = Balance::default();
    parts.for_each(|words| sum.add(&Balance::from_words(words)));
    sum
}
