//! The classification on Spark, through `engine::spark`, checked against our own pipeline, which runs in this
//! process on the same corpus.

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::units::Bytes;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::config::Config;
use super::confusion::Confusion;
use super::corpus::Corpus;
use super::node::Node;
use super::pipeline;
use super::source::{self, Source};
use crate::engine::spark::{Job, Object, number_in_answer};
use crate::mapreduce::budget::Memory;
use crate::mapreduce::cluster::Single;
use crate::mapreduce::spool::Spool;
use crate::spill::Scratch;

/// Largest difference of the two accuracies: a percentage point.
const ALIKE: f64 = 0.01;

/// Memory of our own pipeline for the check, in bytes.
const MEMORY: Bytes = Bytes(1 << 30);

/// The job of the workload `bayes` for Spark, and the check of its answer.
pub fn job(config: Config) -> Job {
    let checked = config.clone();
    Job {
        slaves: config.slaves,
        request: Box::new(move |scratch, cores| request(&config, scratch, cores)),
        check: Box::new(move |answer, _| check(&checked, answer)),
    }
}

fn request(config: &Config, scratch: &Path, cores: usize) -> Result<Value, Fault> {
    let settings = &config.settings;
    // Faults of the file are reported here, with their places, before anything runs.
    config.source.count_pages()?;
    let corpus = export(&config.source, scratch)?;
    Ok(json!({
        "do": "bayes",
        "partitions": partitions(&corpus, cores),
        "corpus": corpus,
        "remove_labels": settings.remove_labels,
        "ngrams": settings.ngrams,
        "min_support": settings.min_support,
        "max_df": settings.max_df,
        "test_percent": settings.split.percent,
        "split_seed": settings.split.seed,
        "alpha": settings.alpha,
        "norm": settings.norm,
        "output": config.output.as_ref().and_then(|path| std::path::absolute(path).ok()),
    }))
}

/// Text of a partition at most, in bytes: what is made of it, and sorted, fits beside others into
/// an executor's heap. (Spark's own partitions of a file have 128 MiB; words and pairs of
/// neighbours with their hashes take several times the text.)
const PARTITION: u64 = 32 << 20;

/// One partition a core, or as many times that as keep them small.
fn partitions(corpus: &Path, cores: usize) -> usize {
    let bytes = fs::metadata(corpus).map_or(0, |facts| facts.len());
    cores * bytes.div_ceil(PARTITION * cores as u64).max(1) as usize
}

/// The corpus as a plain file that every node sees, written once: Spark's functions read no
/// XML, and what is compressed in few ways only.
fn export(source: &Source, scratch: &Path) -> Result<PathBuf, Fault> {
    let failed = |path: &Path, e: io::Error| {
        Fault::environment(format!("cannot hand the corpus to Spark: {e}")).at(path.display().to_string())
    };
    let path = scratch.join(format!("{}.xml", name(source).map_err(|e| failed(scratch, e))?));
    if !path.exists() {
        // Under another name until it is whole.
        let part = path.with_extension("part");
        let mut out = BufWriter::new(File::create(&part).map_err(|e| failed(&part, e))?);
        match source {
            Source::Generated(corpus) => {
                source::write_corpus_export(corpus, &mut out).map_err(|e| failed(&part, e))?
            }
            Source::File(file) => source::write_plain_export(file, &mut out)?,
        }
        fs::rename(&part, &path).map_err(|e| failed(&path, e))?;
    }
    Ok(path)
}

/// A unique name: for a file it changes when the file does.
fn name(source: &Source) -> io::Result<String> {
    Ok(match source {
        Source::Generated(corpus) => {
            let Corpus { documents, words, vocabulary, categories, topical, mislabelled, seed } = corpus;
            format!("corpus-{documents}-{words}-{vocabulary}-{categories}-{topical}-{mislabelled}-{seed}")
        }
        Source::File(path) => {
            let facts = fs::metadata(path)?;
            let (device, inode, bytes) = (facts.dev(), facts.ino(), facts.len());
            format!("file-{device}-{inode}-{bytes}-{}-{}", facts.mtime(), facts.mtime_nsec())
        }
    })
}

fn check(config: &Config, answer: &Object) -> Result<Vec<Reading>, Fault> {
    let ours = ours(config)?;
    for (what, expected) in [("train", ours.training), ("test", ours.testing), ("features", ours.features)] {
        let reported = number_in_answer(answer, what)?;
        if reported != expected as f64 {
            return Err(wrong(format!("it counts {reported} as `{what}`, there are {expected}")));
        }
    }
    let accuracy = number_in_answer(answer, "accuracy")?;
    if (accuracy - ours.accuracy).abs() > ALIKE {
        return Err(wrong(format!("its accuracy is {accuracy}, ours {}", ours.accuracy)));
    }
    let computed = |metric, value| Reading::value(metric, value, Origin::Computed);
    let mut readings = vec![
        computed("accuracy", accuracy),
        computed("documents", (ours.training + ours.testing) as f64),
        computed("features", ours.features as f64),
    ];
    for cell in answer.get("confusion").and_then(Value::as_array).into_iter().flatten() {
        if let (Some(from), Some(to), Some(count)) = (cell[0].as_str(), cell[1].as_str(), cell[2].as_f64()) {
            readings.push(computed("confusion", count).label("from", from).label("to", to));
        }
    }
    Ok(readings)
}

/// The result of our own pipeline.
struct NativeResult {
    training: u64,
    testing: u64,
    features: u64,
    accuracy: f64,
}

fn ours(config: &Config) -> Result<NativeResult, Fault> {
    let scratch = Scratch::new(config.scratch.clone(), "scratch");
    let memory = Memory::new(MEMORY, 1)?;
    let mut pages = Spool::new(&scratch, memory.budget().spool_memory());
    config.source.spool_all(&mut pages)?;
    let mut single = Single::default();
    let mut node = Node::new(&config.settings, memory, scratch, &mut single);
    let (mut training, mut testing) = (0, 0);
    let learned = pipeline::run(&mut node, pages, |counts, _| {
        (training, testing) = (counts.training(), counts.testing());
        Ok(*counts)
    })?;
    let mut confusion = Confusion::default();
    learned.decisions.iter().for_each(|decision| confusion.count_document(decision.label, decision.decided));
    Ok(NativeResult {
        training,
        testing,
        features: u64::from(learned.features),
        accuracy: confusion.accuracy(),
    })
}

fn wrong(what: String) -> Fault {
    Fault::attempt(format!("wrong answer from Spark: {what}"))
}

#[cfg(test)]
mod tests;
