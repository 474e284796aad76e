//! PageRank's iterations alone, on one core, without a network: what
//! `bench/pagerank_vs_networkit.py` sets beside other libraries.
//!
//! `pagerank_kernel SCALE EDGE_FACTOR SEED ITERATIONS EDGES RANKS` writes the
//! generated graph to the file EDGES (source and target, 32-bit little-endian)
//! and builds it; then, for every line on standard input, it runs the
//! iterations and prints the seconds they took. At the end of the input it
//! writes the ranks to the file RANKS (label, 64-bit; rank, floating-point).

use crosstalk_apps::exchange::Alone;
use crosstalk_apps::pagerank::build::build;
use crosstalk_apps::pagerank::ranks::Ranks;
use crosstalk_apps::pagerank::rmat::Rmat;
use crosstalk_apps::pagerank::shard::Shard;
use crosstalk_apps::pagerank::source::Source;
use crosstalk_core::Fault;
use std::fs::File;
use std::io::{BufWriter, Write, stdin};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("pagerank_kernel: {fault}");
            ExitCode::from(fault.kind.exit_code())
        }
    }
}

fn run() -> Result<(), Fault> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scale, edge_factor, seed, iterations, edges, ranks] = arguments.as_slice() else {
        return Err(Fault::usage("expected SCALE EDGE_FACTOR SEED ITERATIONS EDGES RANKS"));
    };
    let graph = Rmat::new(number(scale)? as u32, number(edge_factor)?, number(seed)?);
    write_edges(&graph, edges)?;

    let source = Source::Rmat(graph);
    let begin = Instant::now();
    let (shard, _) = build(&source, source.extent()?, 0, &mut Alone)?;
    println!("{} {} {}", begin.elapsed().as_secs_f64(), shard.vertices(), shard.edges());

    let iterations = number(iterations)? as usize;
    let mut last = None;
    for _ in stdin().lines() {
        let begin = Instant::now();
        last = Some(iterate(&shard, iterations)?);
        println!("{}", begin.elapsed().as_secs_f64());
    }
    last.map_or(Ok(()), |found| write_ranks(&found, ranks))
}

fn iterate(shard: &Shard, iterations: usize) -> Result<Ranks<'_>, Fault> {
    let mut ranks = Ranks::new(shard, 0.15);
    for iteration in 1..=iterations {
        let packed = ranks.pack_shares();
        ranks.unpack_shares(packed)?;
        ranks.iterate(iteration == iterations);
    }
    Ok(ranks)
}

fn number(text: &str) -> Result<u64, Fault> {
    text.parse().map_err(|_| Fault::usage(format!("expected a whole number, found `{text}`")))
}

fn write_edges(graph: &Rmat, path: &str) -> Result<(), Fault> {
    let edges = (0..graph.edges()).map(|index| graph.edge(index));
    write(path, edges.flat_map(|edge| [edge.source.to_le_bytes(), edge.target.to_le_bytes()]))
}

fn write_ranks(ranks: &Ranks, path: &str) -> Result<(), Fault> {
    // Alone, a vertex's place is its label.
    write(path, ranks.iter().flat_map(|(label, rank)| [u64::from(label).to_le_bytes(), rank.to_le_bytes()]))
}

fn write<const N: usize>(path: &str, words: impl Iterator<Item = [u8; N]>) -> Result<(), Fault> {
    let write = move || {
        let mut file = BufWriter::new(File::create(path)?);
        for word in words {
            file.write_all(&word)?;
        }
        file.flush()
    };
    write().map_err(|e: std::io::Error| Fault::environment(format!("cannot write: {e}")).at(path))
}
