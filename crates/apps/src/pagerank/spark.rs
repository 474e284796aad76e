//! PageRank on Spark: GraphX's, through `engine::spark`, checked against the recurrence, vertex by vertex.

use crosstalk_core::Fault;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::agree::agree_on_names;
use super::config::{Config, RankScale};
use super::edge::Edge;
use super::name::Name;
use super::names::Names;
use super::reference;
use super::slave::write_ranks;
use super::source::Source;
use crate::engine::spark::{Job, parse_lines};
use crate::exchange::Alone;

/// The largest relative difference that another order of additions can explain,
/// with much to spare: 1 part in a million.
const TOLERANCE: f64 = 1e-6;

/// The job of the workload `pagerank` for Spark: the request to GraphX, and the check of its answer.
pub fn job(config: Config) -> Job {
    let checked = config.clone();
    Job {
        slaves: config.slaves,
        request: Box::new(move |scratch, cores| {
            // Faults of the file are reported here, with their lines, before anything runs.
            let graph = Graph::of(&config.source)?;
            Ok(json!({
                "do": "pagerank",
                "edges": graph.file(scratch)?,
                "partitions": cores,
                "iterations": config.iterations,
                "reset": config.reset,
                "normalised": config.variant == RankScale::Normalised,
                "output": graph.output(&config, scratch),
            }))
        }),
        check: Box::new(move |_, scratch| {
            let graph = Graph::of(&checked.source)?;
            let found = read_ranks(&graph.output(&checked, scratch))?;
            verify(&graph.expected(&checked)?, &found)?;
            if let (Some(folder), true) = (&checked.output, graph.renamed) {
                let named = found.iter().map(|(id, rank)| (graph.names.name_of(*id as u32), *rank));
                write_ranks(&folder.join("part-00000"), named)?;
            }
            Ok(Vec::new())
        }),
    }
}

/// A graph as Spark sees it.
struct Graph<'a> {
    source: &'a Source,
    names: Names,
    /// Whether Spark gets labels instead of names: some names are not its numbers.
    renamed: bool,
}

impl<'a> Graph<'a> {
    fn of(source: &'a Source) -> Result<Self, Fault> {
        let names = agree_on_names(source, source.extent()?, &mut Alone)?;
        // The last label's name is the largest number.
        let last = names.label_bound().checked_sub(1).map(|label| names.name_of(label));
        let renamed = !matches!(last, Some(Name::Number(number)) if i64::try_from(number).is_ok());
        Ok(Graph { source, names, renamed })
    }

    /// Spark's id of the vertex with this label.
    fn id(&self, label: u32) -> u64 {
        match self.names.name_of(label) {
            Name::Number(number) if !self.renamed => number,
            _ => u64::from(label),
        }
    }

    fn output(&self, config: &Config, scratch: &Path) -> PathBuf {
        // Absolute: the driver has another working directory.
        let given = config.output.as_ref().filter(|_| !self.renamed);
        let given = given.and_then(|path| std::path::absolute(path).ok());
        given.unwrap_or_else(|| scratch.join("pagerank-ranks"))
    }

    /// The edges as a file that every node sees, written as GraphX reads them; a generated graph is
    /// written once.
    fn file(&self, scratch: &Path) -> Result<PathBuf, Fault> {
        let path = match self.source {
            Source::File(_) | Source::Held { .. } => scratch.join("graph.edges"),
            Source::Rmat(graph) => scratch.join(format!("{}.edges", graph.name())),
        };
        if matches!(self.source, Source::Rmat(_)) && path.exists() {
            return Ok(path);
        }
        // Under another name until it is whole.
        let part = path.with_extension("part");
        let failed = |e: io::Error| failed("write", &path, &e);
        let mut file = BufWriter::new(File::create(&part).map_err(failed)?);
        self.chunks(|chunk| {
            let mut edges = chunk.iter().map(|edge| (self.id(edge.source), self.id(edge.target)));
            edges.try_for_each(|(source, target)| writeln!(file, "{source} {target}")).map_err(failed)
        })?;
        file.flush().and_then(|()| fs::rename(&part, &path)).map_err(failed)?;
        Ok(path)
    }

    fn chunks(&self, mut take: impl FnMut(&[Edge]) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut chunks = self.source.open_chunks(&self.names, 0, 1)?;
        let mut chunk = Vec::new();
        while chunks.next(&mut chunk)? {
            take(&chunk)?;
        }
        Ok(())
    }

    /// The ranks that the recurrence gives.
    fn expected(&self, config: &Config) -> Result<Vec<(u64, f64)>, Fault> {
        let mut edges = Vec::new();
        self.chunks(|chunk| {
            edges.extend_from_slice(chunk);
            Ok(())
        })?;
        let ranks = reference::ranks(&edges, config.iterations, config.reset);
        let factor = match config.variant {
            RankScale::Plain => 1.0,
            RankScale::Normalised => ranks.len() as f64 / ranks.iter().map(|(_, rank)| rank).sum::<f64>(),
        };
        Ok(ranks.into_iter().map(|(label, rank)| (self.id(label), rank * factor)).collect())
    }
}

/// The ranks that Spark wrote, by id.
fn read_ranks(folder: &Path) -> Result<Vec<(u64, f64)>, Fault> {
    let mut ranks = parse_lines(folder, |line| {
        let (id, rank) = line.split_once('\t')?;
        Some((id.parse().ok()?, rank.parse().ok()?))
    })?;
    ranks.sort_by_key(|(id, _)| *id);
    Ok(ranks)
}

/// Every vertex has the rank that the recurrence gives it.
fn verify(expected: &[(u64, f64)], found: &[(u64, f64)]) -> Result<(), Fault> {
    if expected.len() != found.len() {
        return Err(wrong(format!("the graph has {} vertices, {} have ranks", expected.len(), found.len())));
    }
    for ((id, expected), (found_id, rank)) in expected.iter().zip(found) {
        let close = (rank - expected).abs() <= TOLERANCE * expected;
        if id != found_id || !close {
            return Err(wrong(format!(
                "vertex {found_id} has rank {rank}; the recurrence gives vertex {id} {expected}"
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
        assert_eq!(verify(&expected, &[(1, 1.0), (4, 2.0 + 1e-6)]), Ok(()));
        let refusal = |found: &[(u64, f64)]| verify(&expected, found).expect_err("refused").message;
        assert!(refusal(&[(1, 1.0), (4, 2.00001)]).contains("vertex 4 has rank 2.00001"));
        assert!(refusal(&[(1, 1.0), (4, f64::NAN)]).contains("vertex 4"));
        assert!(refusal(&[(1, 1.0), (5, 2.0)]).contains("vertex 5"));
        assert!(refusal(&[(1, 1.0)]).contains("has 2 vertices, 1 have ranks"));
    }

    #[test]
    fn the_edges_that_spark_reads_are_those_that_are_generated() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let config =
            Config::from_params(&Params::default().with("scale", 6).with("iterations", 2)).expect("reads");
        let graph = Graph::of(&config.source).expect("known");
        let path = graph.file(scratch.path()).expect("writes");
        let params = Params::default().with("graph", path.display().to_string()).with("iterations", 2);
        let read = Config::from_params(&params).expect("reads");
        let same = Graph::of(&read.source).expect("known");
        assert_eq!(same.expected(&read), graph.expected(&config));
        assert_eq!(graph.file(scratch.path()), Ok(path));
    }

    #[test]
    fn spark_reads_every_file_that_we_read_and_names_go_by_numbers() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let file = scratch.path().join("graph");
        for (text, written) in
            [("source,target\r1,4000000000\r", "1 4000000000\n"), ("% c\n9223372036854775808 7\n", "1 0\n")]
        {
            fs::write(&file, text).expect("writes");
            let source = Source::File(file.clone());
            let graph = Graph::of(&source).expect("known");
            let path = graph.file(scratch.path()).expect("writes");
            assert_eq!(fs::read_to_string(path).expect("text"), written);
        }
        fs::write(&file, "Graz Wien\nWien Linz\n").expect("writes");
        let params = Params::default().with("graph", file.display().to_string()).with("output", "ranks");
        let config = Config::from_params(&params).expect("reads");
        let graph = Graph::of(&config.source).expect("known");
        assert!(graph.renamed && graph.output(&config, scratch.path()).starts_with(scratch.path()));
        let ids: Vec<u64> = graph.expected(&config).expect("reads").iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [0, 1, 2]);
    }
}
