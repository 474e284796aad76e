//! PageRank on Spark: GraphX's own, asked for through `engine::spark`, and held
//! against the recurrence, vertex by vertex.

use crosstalk_core::Fault;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Edge;
use super::config::{Config, Variant};
use super::reference;
use super::source::Source;
use crate::engine::spark::{Job, lines};

/// The largest relative difference that another order of additions can explain,
/// with much to spare: 1 part in a million.
const TOLERANCE: f64 = 1e-6;

/// What GraphX is asked, and how its answer is checked.
pub fn job(config: Config) -> Job {
    let checked = config.clone();
    Job {
        slaves: config.slaves,
        ask: Box::new(move |scratch, cores| {
            // What is broken in a file is named here, with its line, and before anything runs.
            config.source.extent()?;
            Ok(json!({
                "do": "pagerank",
                "edges": edges_file(&config.source, scratch)?,
                "partitions": cores,
                "iterations": config.iterations,
                "reset": config.reset,
                "normalised": config.variant == Variant::Normalised,
                "output": output(&config, scratch),
            }))
        }),
        check: Box::new(move |_, scratch| {
            let found = read_ranks(&output(&checked, scratch))?;
            verify(&expected(&checked)?, found).map(|()| Vec::new())
        }),
    }
}

fn output(config: &Config, scratch: &Path) -> PathBuf {
    // From the root on: the driver has a folder of its own.
    let given = config.output.as_ref().and_then(|path| std::path::absolute(path).ok());
    given.unwrap_or_else(|| scratch.join("pagerank-ranks"))
}

/// The edges as a file that every node sees; a generated graph is written once.
fn edges_file(source: &Source, scratch: &Path) -> Result<PathBuf, Fault> {
    let graph = match source {
        Source::File(path) => return fs::canonicalize(path).map_err(|e| failed("read", path, &e)),
        Source::Rmat(graph) => graph,
    };
    let path = scratch.join(format!("{}.edges", graph.name()));
    if !path.exists() {
        // Under another name until it is whole.
        let part = path.with_extension("part");
        let write = || -> io::Result<()> {
            let mut file = BufWriter::new(File::create(&part)?);
            for index in 0..graph.edges() {
                let Edge { source, target } = graph.edge(index);
                writeln!(file, "{source} {target}")?;
            }
            file.flush()?;
            fs::rename(&part, &path)
        };
        write().map_err(|e| failed("write", &path, &e))?;
    }
    Ok(path)
}

/// The ranks that the recurrence gives.
fn expected(config: &Config) -> Result<Vec<(u32, f64)>, Fault> {
    let (mut edges, mut chunk) = (Vec::new(), Vec::new());
    let mut chunks = config.source.open(0, 1)?;
    while chunks.next(&mut chunk)? {
        edges.extend_from_slice(&chunk);
    }
    let mut ranks = reference::ranks(&edges, config.iterations, config.reset);
    if config.variant == Variant::Normalised {
        let factor = ranks.len() as f64 / ranks.iter().map(|(_, rank)| rank).sum::<f64>();
        ranks.iter_mut().for_each(|(_, rank)| *rank *= factor);
    }
    Ok(ranks)
}

/// The ranks that Spark wrote, by label.
fn read_ranks(folder: &Path) -> Result<Vec<(u32, f64)>, Fault> {
    let mut ranks = lines(folder, |line| {
        let (label, rank) = line.split_once('\t')?;
        Some((label.parse().ok()?, rank.parse().ok()?))
    })?;
    ranks.sort_by_key(|(label, _)| *label);
    Ok(ranks)
}

/// Every vertex has the rank that the recurrence gives it.
fn verify(expected: &[(u32, f64)], found: Vec<(u32, f64)>) -> Result<(), Fault> {
    if expected.len() != found.len() {
        return Err(wrong(format!("the graph has {} vertices, {} have ranks", expected.len(), found.len())));
    }
    for ((label, expected), (found_label, rank)) in expected.iter().zip(found) {
        let close = (rank - expected).abs() <= TOLERANCE * expected;
        if *label != found_label || !close {
            return Err(wrong(format!(
                "vertex {found_label} has rank {rank}; the recurrence gives vertex {label} {expected}"
            )));
        }
    }
    Ok(())
}

fn wrong(what: String) -> Fault {
    Fault::attempt(format!("wrong answer from Spark: {what}"))
}

fn failed(what: &str, path: &Path, e: &io::Error) -> Fault {
    Fault::environment(format!("cannot {what}: {e}")).at(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::Params;

    #[test]
    fn a_rank_that_differs_is_named() {
        let expected = [(1, 1.0), (4, 2.0)];
        assert_eq!(verify(&expected, vec![(1, 1.0), (4, 2.0 + 1e-6)]), Ok(()));
        let refusal = |found: &[(u32, f64)]| verify(&expected, found.to_vec()).expect_err("refused").message;
        assert!(refusal(&[(1, 1.0), (4, 2.00001)]).contains("vertex 4 has rank 2.00001"));
        assert!(refusal(&[(1, 1.0), (4, f64::NAN)]).contains("vertex 4"));
        assert!(refusal(&[(1, 1.0), (5, 2.0)]).contains("vertex 5"));
        assert!(refusal(&[(1, 1.0)]).contains("has 2 vertices, 1 have ranks"));
    }

    #[test]
    fn the_edges_that_spark_reads_are_those_that_are_generated() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let config = Config::new(&Params::default().with("scale", 6).with("iterations", 2)).expect("reads");
        let path = edges_file(&config.source, scratch.path()).expect("writes");
        let params = Params::default().with("graph", path.display().to_string()).with("iterations", 2);
        let read = Config::new(&params).expect("reads");
        assert_eq!(expected(&read), expected(&config));
        assert_eq!(edges_file(&config.source, scratch.path()), Ok(path));
    }
}
