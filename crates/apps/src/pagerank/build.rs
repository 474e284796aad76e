//! Builds every part's shard by counting, then placing: the edges are generated or read twice, and sent to
//! their owners in chunks; no list of all edges ever exists. Apart from the shard, at four bytes an edge,
//! there are only tables by label.
//!
//! Then rows are sorted, and their sources become slots ([`super::slots`]).

use crosstalk_core::Fault;
use crosstalk_host::pages::vec_in_huge_pages;

use super::agree::{self, agree_on_names};
use super::edge::Edge;
use super::names::Names;
use super::partition::Partition;
use super::ranked_bits::{Bits, RankedBits};
use super::sample::{Sample, SampleEdges};
use super::shard::Shard;
use super::slots::{SourceKeys, assign_slots, request_places};
use super::source::{Extent, Source, changed_file_fault};
use crate::exchange::{Exchange, read_numbers};

/// Marks a label as a source where sources and targets travel together; labels
/// are below 2^28.
const SOURCE: u32 = 1 << 31;

/// Builds this part's shard, while all other parts build theirs. `seed` selects the vertices whose edges are
/// kept to check the answer.
pub fn build(
    source: &Source,
    extent: Extent,
    seed: u64,
    exchange: &mut dyn Exchange,
) -> Result<(Shard, SampleEdges), Fault> {
    let names = agree_on_names(source, extent, exchange)?;
    let graph = Graph { source, chunks: extent.chunks, names: &names };
    let degrees = count(graph, exchange)?;
    let (rows, out_degree, offsets) = degrees.compact()?;
    let sample = Sample::agree_on_sample(&rows, &offsets, seed, exchange)?;
    let keys = SourceKeys::agree_on_keys(&rows, &out_degree, names.label_bound(), exchange)?;
    let (mut columns, sampled) = place(graph, &keys, &rows, &offsets, sample, exchange)?;
    for row in offsets.windows(2) {
        columns[row[0] as usize..row[1] as usize].sort_unstable();
    }
    let (slots, wanted) = assign_slots(&mut columns, &keys, exchange.parts());
    let supplies = request_places(wanted, &rows, exchange)?;
    let (part, held) = (exchange.part(), rows.len());
    let names = names.keep_part(part, Partition::new(exchange.parts()));
    Ok((Shard { part, names, rows, out_degree, offsets, columns, held, slots, supplies }, sampled))
}

/// The edges, between labels.
#[derive(Clone, Copy)]
struct Graph<'a> {
    source: &'a Source,
    chunks: u64,
    names: &'a Names,
}

/// Number of exchanges that [`build`] makes among so many parts.
pub fn exchanges(extent: Extent, parts: usize) -> u64 {
    // Both passes' rounds; one to agree on the sample, one on the keys, and one
    // to order shares; and those that give labels.
    let names = if extent.labels.is_some() { 0 } else { agree::EXCHANGES };
    2 * rounds(extent.chunks, parts) + 3 + names
}

/// Number of chunks that the busiest part generates or reads.
fn rounds(chunks: u64, parts: usize) -> u64 {
    chunks.div_ceil(parts as u64)
}

/// Edges by place, while they are counted.
struct Degrees {
    into: Vec<u32>,
    out_of: Vec<u32>,
}

impl Degrees {
    /// Keeps the vertices that have an edge, as GraphX knows no others: place →
    /// row, row → out-degree, row → where its edges begin.
    fn compact(self) -> Result<(RankedBits, Vec<u32>, Vec<u32>), Fault> {
        let mut present = Bits::new(self.into.len());
        let (mut out_degree, mut offsets, mut edges) = (Vec::new(), vec![0], 0_u32);
        for (place, (into, out_of)) in (0..).zip(self.into.iter().zip(&self.out_of)) {
            if into | out_of != 0 {
                present.insert(place);
                out_degree.push(*out_of);
                edges = edges.checked_add(*into).ok_or_else(|| {
                    Fault::usage("more than 2^32 edges on one slave").remedy("use more slaves")
                })?;
                offsets.push(edges);
            }
        }
        out_degree.shrink_to_fit();
        offsets.shrink_to_fit();
        Ok((present.finish(), out_degree, offsets))
    }
}

/// First pass: how many edges leave and enter each vertex.
fn count(graph: Graph, exchange: &mut dyn Exchange) -> Result<Degrees, Fault> {
    let partition = Partition::new(exchange.parts());
    let places = partition.count_places(exchange.part(), graph.names.label_bound());
    let mut degrees = Degrees { into: vec![0; places], out_of: vec![0; places] };
    let pack = |edge: &Edge, outgoing: &mut [Vec<u8>]| {
        let (source, target) = (partition.place(edge.source) | SOURCE, partition.place(edge.target));
        outgoing[partition.owner(edge.source)].extend_from_slice(&source.to_le_bytes());
        outgoing[partition.owner(edge.target)].extend_from_slice(&target.to_le_bytes());
    };
    deal(graph, exchange, pack, |arrived| {
        for number in read_numbers(arrived) {
            let table = if number & SOURCE == 0 { &mut degrees.into } else { &mut degrees.out_of };
            table[(number & !SOURCE) as usize] += 1;
        }
    })?;
    Ok(degrees)
}

/// Second pass: every edge's source, by key, in its target's row; and aside,
/// from the edges as they are read here, those of the sample.
fn place(
    graph: Graph,
    keys: &SourceKeys,
    rows: &RankedBits,
    offsets: &[u32],
    sample: Sample,
    exchange: &mut dyn Exchange,
) -> Result<(Vec<u32>, SampleEdges), Fault> {
    let partition = Partition::new(exchange.parts());
    let mut next = offsets[..rows.len()].to_vec();
    let edges = offsets[rows.len()] as usize;
    let mut columns = vec_in_huge_pages(edges);
    columns.resize(edges, 0);
    let mut sampled = SampleEdges::new(sample);
    let pack = |edge: &Edge, outgoing: &mut [Vec<u8>]| {
        sampled.keep_if_sampled(edge);
        let buffer = &mut outgoing[partition.owner(edge.target)];
        buffer.extend_from_slice(&keys.key_of(edge.source).to_le_bytes());
        buffer.extend_from_slice(&partition.place(edge.target).to_le_bytes());
    };
    let mut astray = false;
    deal(graph, exchange, pack, |arrived| {
        for pair in arrived.as_chunks::<8>().0 {
            let [a, b, c, d, e, f, g, h] = *pair;
            let (key, place) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            match rows.rank(place).map(|row| &mut next[row as usize]) {
                Some(next) if (*next as usize) < columns.len() => {
                    columns[*next as usize] = key;
                    *next += 1;
                }
                _ => astray = true,
            }
        }
    })?;
    if astray || next != offsets[1..] {
        return Err(changed_file_fault());
    }
    Ok((columns, sampled))
}

/// Generates or reads this part's chunks, lets `pack` put their edges into messages, and passes received ones
/// to `unpack`.
fn deal(
    graph: Graph,
    exchange: &mut dyn Exchange,
    mut pack: impl FnMut(&Edge, &mut [Vec<u8>]),
    mut unpack: impl FnMut(&[u8]),
) -> Result<(), Fault> {
    let parts = exchange.parts();
    let mut chunks = graph.source.open_chunks(graph.names, exchange.part(), parts)?;
    let mut edges = Vec::new();
    for _ in 0..rounds(graph.chunks, parts) {
        chunks.next(&mut edges)?;
        let mut outgoing: Vec<Vec<u8>> = (0..parts).map(|_| Vec::new()).collect();
        edges.iter().for_each(|edge| pack(edge, &mut outgoing));
        for arrived in exchange.exchange(outgoing)? {
            unpack(&arrived);
        }
    }
    Ok(())
}
