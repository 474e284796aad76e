//! The classification alone, on one core, without a network: what
//! `bench/bayes_vs_sklearn.py` sets beside other libraries.
//!
//! `bayes_kernel CORPUS MEMORY_LIMIT` reads a MediaWiki export; then, for every
//! line on standard input, it goes through all stages and prints a JSON object:
//! the seconds of each, the accuracy, the bytes spilled, the segments of
//! dictionary, features and model and the bytes of the largest, and the process's
//! peak memory in bytes. `bayes_kernel --generate
//! DOCUMENTS WORDS` writes a generated corpus to standard output.

use crosstalk_apps::bayes::config::Config;
use crosstalk_apps::bayes::confusion::Confusion;
use crosstalk_apps::bayes::node::{Node, STAGES, TABLES, stage_times};
use crosstalk_apps::bayes::pipeline;
use crosstalk_apps::bayes::source::{Source, write_corpus_export};
use crosstalk_apps::mapreduce::budget::Memory;
use crosstalk_apps::mapreduce::cluster::{Cluster, Single};
use crosstalk_apps::mapreduce::spool::Spool;
use crosstalk_apps::spill::{Scratch, Unmetered};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::Params;
use std::io::{BufWriter, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("bayes_kernel: {fault}");
            ExitCode::from(fault.kind.exit_code())
        }
    }
}

fn run() -> Result<(), Fault> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [generate, documents, words] if generate == "--generate" => write_corpus(documents, words),
        [corpus, limit] => classify(Path::new(corpus), number(limit)? as u64),
        _ => Err(Fault::usage("expected CORPUS MEMORY_LIMIT, or --generate DOCUMENTS WORDS")),
    }
}

fn write_corpus(documents: &str, words: &str) -> Result<(), Fault> {
    let params =
        Params::default().with("documents", number(documents)?).with("document_words", number(words)?);
    let Source::Generated(corpus) = Config::from_params(&params)?.source else {
        return Err(Fault::usage("expected no file"));
    };
    write_corpus_export(&corpus, &mut BufWriter::new(stdout().lock()))
        .map_err(|e| Fault::environment(format!("cannot write: {e}")))
}

fn classify(corpus: &Path, limit: u64) -> Result<(), Fault> {
    let config = Config::from_params(&Params::default().with("remove_labels", true))?;
    let memory = Memory::new(Bytes(limit), 1)?;
    for _ in stdin().lines() {
        let scratch = Scratch::new(config.scratch.clone(), "TMPDIR");
        let mut pages = Spool::new(&scratch, memory.budget().spool_memory());
        Source::File(corpus.into()).spool_all(&mut pages)?;
        let before = scratch.traffic();
        let mut single = Single::default();
        let mut node = Node::new(&config.settings, memory, scratch.clone(), &mut single);
        let learned = pipeline::run(&mut node, pages, |counts, _| Ok(*counts))?;
        let times = stage_times(&node.ended, &node.cluster.marked_times()?);
        let stages =
            STAGES.iter().zip(times).map(|(stage, took)| format!("\"{}\": {}", stage.name(), took.0));
        let mut confusion = Confusion::default();
        learned
            .decisions
            .iter()
            .for_each(|decision| confusion.count_document(decision.label, decision.decided));
        let checksum = learned.model.checksum(&mut Unmetered)?;
        let segments = TABLES.iter().zip(node.segments).map(|(table, count)| format!("\"{table}\": {count}"));
        println!(
            "{{\"stages\": {{{}}}, \"segments\": {{{}}}, \"accuracy\": {}, \"features\": {}, \"checksum\": {}, \
             \"spilled\": {}, \"held\": {}, \"peak\": {}}}",
            stages.collect::<Vec<_>>().join(", "),
            segments.collect::<Vec<_>>().join(", "),
            confusion.accuracy(),
            learned.features,
            checksum,
            scratch.traffic().since(before).written,
            node.memory.peak,
            peak_memory(),
        );
    }
    Ok(())
}

/// `VmHWM` of proc(5), in bytes; 0 where it cannot be read.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}

fn number(text: &str) -> Result<i64, Fault> {
    text.parse().map_err(|_| Fault::usage(format!("expected a whole number, found `{text}`")))
}
