//! The classification on Spark, asked for through `engine::spark`, and held
//! against our own pipeline, run in this process on the same corpus.

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
use crate::engine::spark::{Job, Object, number};
use crate::mapreduce::budget::Memory;
use crate::mapreduce::cluster::Single;
use crate::mapreduce::spool::Spool;
use crate::spill::Scratch;

/// How far the two accuracies may lie apart: a percentage point.
const ALIKE: f64 = 0.01;

/// What our own pipeline may hold while it checks, in bytes.
const MEMORY: Bytes = Bytes(1 << 30);

/// What Spark is asked, and how its answer is checked.
pub fn job(config: Config) -> Job {
    let checked = config.clone();
    Job {
        slaves: config.slaves,
        ask: Box::new(move |scratch, cores| ask(&config, scratch, cores)),
        check: Box::new(move |answer, _| check(&checked, answer)),
    }
}

fn ask(config: &Config, scratch: &Path, cores: usize) -> Result<Value, Fault> {
    let settings = &config.settings;
    // What is broken in a file is named here, with its place, and before anything runs.
    config.source.pages()?;
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
            Source::Generated(corpus) => source::export(corpus, &mut out).map_err(|e| failed(&part, e))?,
            Source::File(file) => source::plain(file, &mut out)?,
        }
        fs::rename(&part, &path).map_err(|e| failed(&path, e))?;
    }
    Ok(path)
}

/// A name that no other corpus has: a file's is that of this very file, as long as nobody
/// writes to it.
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
        let told = number(answer, what)?;
        if told != expected as f64 {
            return Err(wrong(format!("it counts {told} as `{what}`, there are {expected}")));
        }
    }
    let accuracy = number(answer, "accuracy")?;
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

/// What our own pipeline finds.
struct Ours {
    training: u64,
    testing: u64,
    features: u64,
    accuracy: f64,
}

fn ours(config: &Config) -> Result<Ours, Fault> {
    let scratch = Scratch::new(config.scratch.clone(), "scratch");
    let memory = Memory::new(MEMORY, 1)?;
    let mut pages = Spool::new(&scratch, memory.budget().spool());
    config.source.all(&mut pages)?;
    let mut single = Single::default();
    let mut node = Node::new(&config.settings, memory, scratch, &mut single);
    let (mut training, mut testing) = (0, 0);
    let learned = pipeline::run(&mut node, pages, |counts, _| {
        (training, testing) = (counts.training(), counts.testing());
        Ok(*counts)
    })?;
    let mut confusion = Confusion::default();
    learned.decisions.iter().for_each(|decision| confusion.see(decision.label, decision.decided));
    Ok(Ours { training, testing, features: learned.features as u64, accuracy: confusion.accuracy() })
}

fn wrong(what: String) -> Fault {
    Fault::attempt(format!("wrong answer from Spark: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::Params;

    fn config() -> Config {
        let params = Params::default().with("documents", 300).with("document_words", 60);
        Config::new(&params.with("categories", 4)).expect("reads")
    }

    #[test]
    fn large_corpora_have_more_partitions_than_cores() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let of = |bytes: u64| {
            file.as_file().set_len(bytes).expect("grows");
            partitions(file.path(), 4)
        };
        assert_eq!((of(0), of(1), of(4 * PARTITION), of(4 * PARTITION + 1)), (4, 4, 4, 8));
    }

    #[test]
    fn an_answer_that_differs_is_named() {
        let (config, found) = (config(), ours(&config()).expect("runs"));
        let answer = |train: u64, features: u64, accuracy: f64| {
            let answer = json!({
                "train": train, "test": found.testing, "features": features, "accuracy": accuracy,
                "confusion": [["Arts", "Arts", 40]],
            });
            answer.as_object().expect("an object").clone()
        };
        let right = answer(found.training, found.features, found.accuracy - 0.009);
        let readings = check(&config, &right).expect("is right");
        assert!(readings.iter().any(|reading| reading.metric == "confusion"));
        let refusal = |answer: Object| check(&config, &answer).expect_err("refused").message;
        let (train, features, accuracy) = (found.training, found.features, found.accuracy);
        assert!(refusal(answer(train - 1, features, accuracy)).contains("as `train`, there are"));
        assert!(refusal(answer(train, features + 1, accuracy)).contains("as `features`, there are"));
        assert!(refusal(answer(train, features, accuracy - 0.011)).contains("its accuracy is"));
    }

    #[test]
    fn spark_reads_a_file_without_a_parser() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let corpus = scratch.path().join("corpus");
        let page = |inner: &str| format!("<page a=\"b\"><title>A &amp; b</title>{inner}</page>");
        let text = "<revision><text >a <![CDATA[<i>]]></text></revision>";
        let pages = [page(text), page("<redirect /><text/>")].concat();
        fs::write(&corpus, format!("<mediawiki>\r{pages}</mediawiki>")).expect("written");
        let path = export(&Source::File(corpus), scratch.path()).expect("writes");
        assert_eq!(
            fs::read_to_string(path).expect("reads"),
            "<mediawiki>\n<page><title>A &amp; b</title><text>a &lt;i&gt;</text></page>\n\
             <page><title/><redirect/><text/></page>\n</mediawiki>\n"
        );
    }

    #[test]
    fn spark_reads_the_corpus_that_is_generated() {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let path = export(&config().source, scratch.path()).expect("writes");
        let read = Config::new(&Params::default().with("corpus", path.display().to_string())).expect("reads");
        let (written, generated) = (ours(&read).expect("runs"), ours(&config()).expect("runs"));
        assert_eq!((written.features, written.accuracy), (generated.features, generated.accuracy));
    }
}
