//! A few vertices whose edges are kept as they are read, before they are sent, sorted or renamed: their ranks
//! are computed from these, independently of the shards.

use crosstalk_core::Fault;

use super::edge::Edge;
use super::partition::Partition;
use super::ranked_bits::RankedBits;
use crate::exchange::{Exchange, read_numbers};
use crate::random::random_at;

/// Vertices that each part selects.
const PICKS: u64 = 8;
/// The most edges of a selected vertex.
const LARGEST: u32 = 4096;
/// Bits of the filter, which excludes most edges.
const FILTER: usize = 4096;

/// A sample of vertices, the same on all parts, whose ranks are checked.
#[derive(Debug, Clone)]
pub struct Sample {
    labels: Vec<u32>,
    /// Whether a label with this remainder is in the sample.
    filter: Vec<bool>,
}

impl Sample {
    /// Every part selects some of its vertices with edges, and sends them to all.
    pub fn agree_on_sample(
        rows: &RankedBits,
        offsets: &[u32],
        seed: u64,
        exchange: &mut dyn Exchange,
    ) -> Result<Self, Fault> {
        let (part, partition) = (exchange.part(), Partition::new(exchange.parts()));
        let mut picks: Vec<u64> = Vec::new();
        if !rows.is_empty() {
            let draws = (0..PICKS).map(|draw| random_at(seed, draw) % rows.len() as u64);
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
        Ok(Sample::new(arrived.iter().flat_map(|buffer| read_numbers(buffer)).collect()))
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
pub struct SampleEdges {
    sample: Sample,
    /// (Position of the target in the sample, label of the source).
    edges: Vec<(u32, u32)>,
}

impl SampleEdges {
    /// An empty sample.
    pub fn new(sample: Sample) -> Self {
        SampleEdges { sample, edges: Vec::new() }
    }

    /// Keeps the edge if it points at a vertex of the sample.
    pub fn keep_if_sampled(&mut self, edge: &Edge) {
        if let Some(position) = self.sample.position(edge.target) {
            self.edges.push((position as u32, edge.source));
        }
    }

    /// The sample.
    pub fn sample(&self) -> &Sample {
        &self.sample
    }

    /// This part's contribution to the sums of the sample's vertices, where `share(place)` is the share of a
    /// vertex of this part. Every part's kept edges are sent to the owners of their sources.
    pub fn partial_sums(
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
            let mut fields = read_numbers(&arrived);
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
mod tests;
