//! A few vertices whose edges are kept aside as they are read, before they
//! travel, are sorted or renamed: what their ranks must be is computed from
//! these, independently of the shards.

use crosstalk_core::Fault;

use super::edge::Edge;
use super::partition::Partition;
use super::ranked_bits::RankedBits;
use crate::exchange::{Exchange, numbers};
use crate::random::counted;

/// Vertices that each part picks.
const PICKS: u64 = 8;
/// Edges that a vertex may have to be picked.
const LARGEST: u32 = 4096;
/// Bits of the filter that most edges end at.
const FILTER: usize = 4096;

/// The same vertices on all parts.
#[derive(Debug, Clone)]
pub struct Sample {
    labels: Vec<u32>,
    /// Whether a label with this remainder is in the sample.
    filter: Vec<bool>,
}

impl Sample {
    /// Every part picks some of its vertices that have edges, and tells all.
    pub fn agree(
        rows: &RankedBits,
        offsets: &[u32],
        seed: u64,
        exchange: &mut dyn Exchange,
    ) -> Result<Self, Fault> {
        let (part, partition) = (exchange.part(), Partition::new(exchange.parts()));
        let mut picks: Vec<u64> = Vec::new();
        if !rows.is_empty() {
            let draws = (0..PICKS).map(|draw| counted(seed, draw) % rows.len() as u64);
            picks.extend(draws.filter(|row| {
                let edges = offsets[*row as usize + 1] - offsets[*row as usize];
                (1..=LARGEST).contains(&edges)
            }));
            picks.sort_unstable();
            picks.dedup();
        }
        let mut picked = picks.iter().peekable();
        let mut buffer = Vec::new();
        for (row, place) in (0..).zip(rows.iter()) {
            match picked.peek() {
                None => break,
                Some(pick) if **pick == row => {
                    buffer.extend_from_slice(&partition.label(part, place).to_le_bytes());
                    picked.next();
                }
                Some(_) => {}
            }
        }
        let arrived = exchange.exchange(vec![buffer; exchange.parts()])?;
        Ok(Sample::new(arrived.iter().flat_map(|buffer| numbers(buffer)).collect()))
    }

    /// The sample of these labels.
    pub fn new(mut labels: Vec<u32>) -> Self {
        labels.sort_unstable();
        labels.dedup();
        let mut filter = vec![false; FILTER];
        labels.iter().for_each(|label| filter[*label as usize % FILTER] = true);
        Sample { labels, filter }
    }

    /// The labels, ascending.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn position(&self, label: u32) -> Option<usize> {
        if !self.filter[label as usize % FILTER] {
            return None;
        }
        self.labels.binary_search(&label).ok()
    }
}

/// The sample's edges that one part has read.
#[derive(Debug, Clone)]
pub struct Sampled {
    sample: Sample,
    /// (Position of the target in the sample, label of the source).
    edges: Vec<(u32, u32)>,
}

impl Sampled {
    /// None yet.
    pub fn new(sample: Sample) -> Self {
        Sampled { sample, edges: Vec::new() }
    }

    /// Keeps the edge if it points at a vertex of the sample.
    pub fn see(&mut self, edge: &Edge) {
        if let Some(position) = self.sample.position(edge.target) {
            self.edges.push((position as u32, edge.source));
        }
    }

    /// The sample.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    /// This part's contribution to the sums that the sample's vertices should
    /// have gathered, where `share(place)` is what a vertex of this part gave.
    /// Every part's kept edges travel to the owners of their sources.
    pub fn sums(
        &self,
        exchange: &mut dyn Exchange,
        share: impl Fn(u32) -> Option<f64>,
    ) -> Result<Vec<f64>, Fault> {
        let partition = Partition::new(exchange.parts());
        let mut outgoing: Vec<Vec<u8>> = (0..exchange.parts()).map(|_| Vec::new()).collect();
        for (position, source) in &self.edges {
            let buffer = &mut outgoing[partition.owner(*source)];
            buffer.extend_from_slice(&position.to_le_bytes());
            buffer.extend_from_slice(&partition.place(*source).to_le_bytes());
        }
        let mut sums = vec![0.0; self.sample.labels.len()];
        for arrived in exchange.exchange(outgoing)? {
            let mut fields = numbers(&arrived);
            while let (Some(position), Some(place)) = (fields.next(), fields.next()) {
                let given = share(place);
                match (sums.get_mut(position as usize), given) {
                    (Some(sum), Some(given)) => *sum += given,
                    _ => return Err(Fault::attempt("an edge of the sample has no source here")),
                }
            }
        }
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
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
        let told = on_threads(3, |exchange| {
            let (mut shard, sampled) = build(&source, extent, 11, exchange).expect("builds");
            tamper(&mut shard);
            let mut ranks = Ranks::new(&shard, 0.15);
            for iteration in 1..=2 {
                let packed = ranks.pack();
                ranks.unpack(exchange.exchange(packed).expect("exchanged")).expect("unpacked");
                ranks.step(iteration == 2);
            }
            let sums = sampled.sums(exchange, |place| ranks.given(place)).expect("summed");
            let own = |label: &u32| {
                let here = partition.owner(*label) == exchange.part();
                here.then(|| ranks.rank(partition.place(*label))).flatten().unwrap_or(0.0)
            };
            let found: Vec<f64> = sampled.sample().labels().iter().map(own).collect();
            (sums, found)
        });
        let count = told[0].0.len();
        (0..count)
            .map(|vertex| {
                let gathered: f64 = told.iter().map(|(sums, _)| sums[vertex]).sum();
                let found: f64 = told.iter().map(|(_, found)| found[vertex]).sum();
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
}
