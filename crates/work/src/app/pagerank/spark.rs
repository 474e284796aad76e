//! PageRank on Spark: GraphX's own, asked for through `engine::spark`, and held
//! against the recurrence, vertex by vertex.

use crosstalk_core::Fault;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Edge;
use super::config::{Config, Variant};
use super::reference;
use super::source::Source;
use crate::engine::spark::Job;

/// The largest relative difference that another order of additions can explain,
/// with much to spare: 1 part in a million.
const TOLERANCE: f64 = 1e-6;

/// What GraphX is asked, and how its answer is checked.
pub fn job(config: Config) -> Job {
    let checked = config.clone();
    Job {
        slaves: config.slaves,
        ask: Box::new(move |scratch, cores| {
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
    config.output.clone().unwrap_or_else(|| scratch.join("pagerank-ranks"))
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

/// The ranks that Spark wrote, by label: a file, or a folder of files.
fn read_ranks(path: &Path) -> Result<Vec<(u32, f64)>, Fault> {
    let files = if path.is_dir() {
        let listed = fs::read_dir(path).map_err(|e| failed("read", path, &e))?.flatten();
        let parts = listed.filter(|file| file.file_name().to_string_lossy().starts_with("part-"));
        parts.map(|file| file.path()).collect()
    } else {
        vec![path.to_path_buf()]
    };
    let mut ranks = Vec::new();
    for file in files {
        let lines = BufReader::new(File::open(&file).map_err(|e| failed("read", &file, &e))?).lines();
        for line in lines {
            let line = line.map_err(|e| failed("read", &file, &e))?;
            let parsed = line.split_once('\t').and_then(|(label, rank)| Some((label.parse().ok()?, rank.parse().ok()?)));
            ranks.push(parsed.ok_or_else(|| wrong(format!("expected a vertex and its rank, found `{line}`")))?);
        }
    }
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

    #[test]
    fn ranks_come_from_all_parts_in_any_order() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("writes");
        write("part-00000", "7\t0.5\n");
        write("part-00001", "3\t1.25\n");
        write("_SUCCESS", "");
        assert_eq!(read_ranks(folder.path()), Ok(vec![(3, 1.25), (7, 0.5)]));
        write("part-00002", "3 1.25\n");
        assert!(read_ranks(folder.path()).expect_err("refused").message.contains("found `3 1.25`"));
    }
}
