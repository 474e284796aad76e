//! PageRank's iterations alone, on one core, without a network: what `bench/pagerank_vs_networkit.py` and
//! `bench/pagerank_vs_gap.py` set beside other libraries.
//!
//! `pagerank_kernel generate SCALE EDGE_FACTOR SEED EDGES` writes a generated graph to the file EDGES: source and
//! target, 32-bit little-endian.
//!
//! `pagerank_kernel rank EDGES ITERATIONS RANKS` builds the graph in such a file, and prints the seconds that this
//! took. Then, for every line on standard input, it runs the iterations and prints the seconds they took. At the
//! end of the input it writes the ranks to the file RANKS: label, 64-bit; rank, floating-point.

use crosstalk_apps::exchange::Alone;
use crosstalk_apps::pagerank::build::build;
use crosstalk_apps::pagerank::edge::Edge;
use crosstalk_apps::pagerank::ranks::Ranks;
use crosstalk_apps::pagerank::rmat::Rmat;
use crosstalk_apps::pagerank::shard::Shard;
use crosstalk_apps::pagerank::source::Source;
use crosstalk_core::Fault;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write, stdin};
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
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["generate", scale, edge_factor, seed, edges] => {
            write_edges(&Rmat::new(number(scale)? as u32, number(edge_factor)?, number(seed)?), edges)
        }
        ["rank", edges, iterations, ranks] => rank(edges, number(iterations)? as usize, ranks),
        _ => Err(Fault::usage(
            "expected `generate SCALE EDGE_FACTOR SEED EDGES` or `rank EDGES ITERATIONS RANKS`",
        )),
    }
}

fn rank(edges: &str, iterations: usize, ranks: &str) -> Result<(), Fault> {
    let source = read_edges(edges)?;
    let begin = Instant::now();
    let (shard, _) = build(&source, source.extent()?, 0, &mut Alone)?;
    println!("{}", begin.elapsed().as_secs_f64());
    drop(source);

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

fn read_edges(path: &str) -> Result<Source, Fault> {
    let failed = |e: std::io::Error| Fault::environment(format!("cannot read: {e}")).at(path);
    let file = File::open(path).map_err(failed)?;
    let count = file.metadata().map_err(failed)?.len() / 8;
    let mut file = BufReader::new(file);
    let mut number = || {
        let mut bytes = [0; 4];
        file.read_exact(&mut bytes).map(|()| u32::from_le_bytes(bytes))
    };
    let edges: Result<Vec<_>, _> =
        (0..count).map(|_| Ok(Edge { source: number()?, target: number()? })).collect();
    let edges = edges.map_err(failed)?;
    let labels = edges.iter().map(|edge| edge.source.max(edge.target) + 1).max().unwrap_or(0);
    Ok(Source::Held { chunks: vec![edges], labels: Some(labels) })
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
