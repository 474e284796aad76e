//! The classification of articles through its workload, on ranks that really
//! exchange messages.

use crate::cluster::{emulation, play};
use crate::data::{real, workspace};
use crate::scene::value;
use crosstalk_apps::bayes::BAYES;
use crosstalk_apps::bayes::corpus::Corpus;
use crosstalk_apps::mapreduce::budget;
use crosstalk_core::record::{Observation, Origin, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, FaultKind};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(params: Params, virtual_time: bool) -> Result<Vec<Reading>, Fault> {
    let nodes = BAYES.deploy(&params)?.nodes;
    play(&BAYES, &params, nodes, virtual_time.then(|| emulation(nodes)))
}

/// A metric's values, over all labels.
fn sum(readings: &[Reading], metric: &str) -> f64 {
    let of = |reading: &Reading| match reading.observation {
        Observation::Value(value) => value,
        _ => f64::NAN,
    };
    readings.iter().filter(|reading| reading.metric == metric).map(of).sum()
}

fn small() -> Params {
    Params::default()
        .with("documents", 400)
        .with("document_words", 120)
        .with("vocabulary", 3000)
        .with("categories", 4)
        .with("remove_labels", true)
}

fn corpus(documents: u64) -> Corpus {
    Corpus { documents, words: 120, vocabulary: 3000, categories: 4, topical: 0.3, mislabelled: 0.1, seed: 1 }
}

/// A generated corpus as a file.
fn written(directory: &Path, corpus: &Corpus) -> PathBuf {
    let mut text = String::from("<mediawiki xmlns=\"http://www.mediawiki.org/xml/export-0.10/\">\n");
    (0..corpus.documents).for_each(|number| corpus.write_page(number, &mut text));
    text.push_str("</mediawiki>\n");
    file(directory, "corpus.xml", text.as_bytes())
}

fn file(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).expect("written");
    path
}

fn of_file(path: &Path) -> Params {
    Params::default().with("corpus", path.display().to_string())
}

/// What was decided: page number → category, category given.
type Decisions = BTreeMap<u32, (String, String)>;

fn decisions(directory: &Path) -> Decisions {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        parse(&std::fs::read_to_string(entry.expect("an entry").path()).expect("text"), &mut found);
    }
    found
}

fn parse(text: &str, decisions: &mut Decisions) {
    for line in text.lines() {
        let mut fields = line.split('\t').map(String::from);
        let (Some(number), Some(label), Some(decided), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            panic!("expected three columns, found {line:?}");
        };
        decisions.insert(number.parse().expect("a number"), (label, decided));
    }
}

fn accuracy(decisions: &Decisions) -> f64 {
    let right = decisions.values().filter(|(label, decided)| label == decided).count();
    right as f64 / decisions.len() as f64
}

/// The reference's number of features, and what it decided.
fn reference(corpus: &Path, norm: bool, remove_labels: bool, test_percent: i64) -> Option<(f64, Decisions)> {
    let python = workspace().join(".tools/venv/bin/python");
    let has = |python: &Path| Command::new(python).args(["-c", "import sklearn"]).output();
    if !python.is_file() || !has(&python).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no scikit-learn (tools/venv installs it)");
        return None;
    }
    let mut command = Command::new(python);
    command.arg(workspace().join("tools/bayes_reference.py")).arg(corpus);
    command.args(norm.then_some("--norm")).args(remove_labels.then_some("--remove-labels"));
    command.args(["--test-percent", &test_percent.to_string()]);
    let output = command.output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let (features, lines) = text.split_once('\n').expect("a line");
    let mut decisions = BTreeMap::new();
    parse(lines, &mut decisions);
    Some((features.parse().expect("a number"), decisions))
}

fn agrees_with_the_reference(name: &str, corpus: &Path, norm: bool, remove_labels: bool, test_percent: i64) {
    let Some((features, expected)) = reference(corpus, norm, remove_labels, test_percent) else { return };
    let mut checksums = Vec::new();
    for slaves in [1, 2, 4, 6] {
        let directory = tempfile::tempdir().expect("a directory");
        let params = of_file(corpus)
            .with("slaves", slaves)
            .with("norm", norm)
            .with("remove_labels", remove_labels)
            .with("test_percent", test_percent)
            .with("output", directory.path().display().to_string());
        let readings = run(params, true).expect("runs");
        checksums.push(value(&readings, "answer_checksum"));
        let found = decisions(directory.path());
        assert!(found.keys().eq(expected.keys()), "{slaves} slaves: others are held back");
        let differing = found.iter().filter(|(number, decided)| expected[number] != **decided).count();
        let off = (value(&readings, "accuracy") - accuracy(&expected)).abs();
        println!(
            "{{\"corpus\":\"{name}\",\"slaves\":{slaves},\"accuracy_off\":{off},\"accuracy\":{},\
             \"differing\":{differing},\"tested\":{}}}",
            accuracy(&expected),
            expected.len()
        );
        assert_eq!(value(&readings, "features"), features, "{slaves} slaves");
        assert!(off <= 0.01, "{slaves} slaves: off by {off}");
        assert_eq!(differing, 0, "{slaves} slaves, of {}", expected.len());
    }
    assert!(checksums.windows(2).all(|pair| pair[0] == pair[1]), "{checksums:?}");
}

#[test]
fn wikipedia_agrees_with_scikit_learn() {
    if let Some(corpus) = real("wikipedia/enwiki-pages-articles1-sample.xml.bz2") {
        agrees_with_the_reference("wikipedia", &corpus, false, false, 20);
    }
}

#[test]
fn wikipedia_normalised_agrees_with_scikit_learn() {
    if let Some(corpus) = real("wikipedia/enwiki-pages-articles1-sample.xml.bz2") {
        agrees_with_the_reference("wikipedia norm", &corpus, true, true, 60);
    }
}

#[test]
fn a_generated_corpus_agrees_with_scikit_learn() {
    let directory = tempfile::tempdir().expect("a directory");
    let corpus = Corpus { topical: 0.05, ..corpus(1000) };
    let path = written(directory.path(), &corpus);
    // Revisions in an order that is not that of time, and a sort key that names another category.
    let text = std::fs::read_to_string(&path).expect("text");
    let stub =
        "<revision><timestamp>2001-01-15T13:15:00Z</timestamp><text>[[Category:art]]</text></revision>";
    let odd = text
        .replace("<revision>", "<revision><timestamp>2009-01-15T13:15:00Z</timestamp>")
        .replace("</page>", &format!("{stub}</page>"))
        .replace("\n[[Category:", "\n[[Category:Stubs|history]] [[Category:");
    agrees_with_the_reference(
        "generated",
        &file(directory.path(), "odd.xml", odd.as_bytes()),
        false,
        true,
        20,
    );
}

#[test]
fn a_generated_corpus_has_one_answer_whatever_the_slaves_the_clock_and_the_memory() {
    let mut answers = Vec::new();
    for (slaves, virtual_time, more) in
        [(1, true, None), (2, true, Some(0)), (3, false, Some(100_000)), (6, true, None), (4, false, None)]
    {
        let params = small().with("slaves", slaves as i64);
        let memory = more.map_or(1 << 30, |more| more + budget::least_memory(slaves) as i64);
        let readings = run(params.with("memory_limit", memory), virtual_time).expect("runs");
        answers.push(["answer_checksum", "accuracy", "features"].map(|metric| value(&readings, metric)));
        assert!(value(&readings, "completion_time") > 0.0);
        assert_eq!(value(&readings, "bytes_exchanged") > 0.0, slaves > 1);
        assert_eq!(sum(&readings, "bytes_spilled") > 0.0, more.is_some(), "{memory}");
        assert_eq!(sum(&readings, "time_spill") > 0.0, more.is_some(), "{memory}");
        let origin = if virtual_time { Origin::Emulated } else { Origin::Measured };
        assert!(readings.iter().any(|r| r.metric == "completion_time" && r.origin == origin));
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}

#[test]
fn a_corpus_of_ten_times_the_memory_limit_is_spilled_and_gives_the_same_answer() {
    let directory = tempfile::tempdir().expect("a directory");
    let params = small().with("documents", 6000);
    let plain = run(params.clone(), true).expect("runs");
    // The text without XML and the rare words is less than what was loaded.
    let bytes = value(&plain, "throughput") * value(&plain, "completion_time") * 4.0;
    let limit = bytes / 10.0;
    assert!(limit >= budget::least_memory(1) as f64, "{limit} bytes");
    let scratch = directory.path().display().to_string();
    let limited = params.with("memory_limit", limit as i64).with("scratch", scratch);
    let readings = run(limited, true).expect("runs");
    assert!(sum(&readings, "bytes_spilled") > bytes, "text, words, pairs and vectors were spilled");
    assert!(sum(&readings, "spills") > 10.0);
    assert!(value(&readings, "bytes_held") <= limit / 4.0);
    let tables = |table: &str| {
        let of = readings.iter().filter(|r| r.labels.get("table").is_some_and(|label| label == table));
        sum(&of.cloned().collect::<Vec<_>>(), "segments")
    };
    assert!(tables("features") > 1.0 && tables("model") > 1.0, "features and model do not fit");
    for metric in ["answer_checksum", "accuracy", "features"] {
        assert_eq!(value(&readings, metric), value(&plain, metric), "{metric}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).expect("a directory").count(), 0, "nothing is left");
}

#[test]
fn accuracy_is_what_the_corpus_allows() {
    // A twentieth mislabelled: 0.95, within four standard deviations.
    let params = small().with("documents", 2000).with("mislabelled", 0.05);
    let readings = run(params, true).expect("runs");
    let tested = sum(&readings, "confusion");
    let deviation = (0.95 * 0.05 / tested).sqrt();
    let accuracy = value(&readings, "accuracy");
    assert!((accuracy - 0.95).abs() < 4.0 * deviation, "{accuracy} of {tested}");
    // Without topics there is nothing to learn: one of four.
    let params = small().with("documents", 2000).with("topical", 0.0);
    let accuracy = value(&run(params, true).expect("runs"), "accuracy");
    assert!((accuracy - 0.25).abs() < 4.0 * (0.25 * 0.75 / tested).sqrt(), "{accuracy}");
}

#[test]
fn a_file_gives_the_answer_of_the_corpus_that_was_written_to_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = written(directory.path(), &corpus(400));
    let generated = run(small().with("slaves", 2), true).expect("runs");
    let read = run(of_file(&path).with("slaves", 3).with("remove_labels", true), true).expect("runs");
    for metric in ["answer_checksum", "accuracy", "documents", "features"] {
        assert_eq!(value(&read, metric), value(&generated, metric), "{metric}");
    }
}

#[test]
fn a_file_gives_its_answer_however_it_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = written(directory.path(), &corpus(200));
    let plain = std::fs::read_to_string(&path).expect("text");
    let answer = |path: &Path| {
        let readings = run(of_file(path).with("remove_labels", true), true).expect("runs");
        ["answer_checksum", "documents"].map(|metric| value(&readings, metric))
    };
    let expected = answer(&path);
    // With a revision from before, attributes and blanks in tags, and a category in entities.
    let stub = "<revision><timestamp>2001-01-15T13:15:00Z</timestamp><text>stub</text></revision>";
    let tags = plain
        .replace("<page>", "<page xml:lang=\"en\" >")
        .replace("<revision>", &format!("{stub}<revision ><timestamp>2009-01-15T13:15:00Z</timestamp>"))
        .replace("<text ", "<text\nbytes=\"9\" ")
        .replace("[[Category:a", "[[Category:&#97;")
        .replace("</text>", "</text >");
    assert_ne!(tags, plain);
    let sections = plain.replace("\"preserve\">", "\"preserve\"><![CDATA[").replace("</text>", "]]></text>");
    let ends = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
    for (number, text) in [tags, sections, ends, plain.replace('\n', "\r")].iter().enumerate() {
        assert_eq!(answer(&file(directory.path(), "odd", text.as_bytes())), expected, "variant {number}");
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain.as_bytes()).expect("packs");
    assert_eq!(answer(&file(directory.path(), "packed", &encoder.finish().expect("packs"))), expected);
}

#[test]
fn every_node_says_where_its_time_went() {
    let memory = budget::least_memory(2) as i64;
    let readings = run(small().with("slaves", 2).with("memory_limit", memory), true).expect("runs");
    let completion = value(&readings, "completion_time");
    let declared = BAYES.deploy(&Params::default()).expect("deploys").metrics;
    assert!(readings.iter().all(|r| declared.iter().any(|metric| metric.name == r.metric)));
    assert!(declared.iter().all(|metric| readings.iter().any(|r| r.metric == metric.name)));
    for node in ["1", "2"] {
        let mine: Vec<Reading> = readings
            .iter()
            .filter(|r| r.labels.get("node").is_some_and(|label| label == node))
            .cloned()
            .collect();
        let spent: f64 = TIMES.iter().map(|m| sum(&mine, m)).sum();
        let stages = sum(&mine, "stage_time");
        // Slaves are done a little before the master has heard of it.
        assert!(spent <= completion && spent > 0.5 * completion, "node {node}: {spent} of {completion}");
        assert!(stages <= spent && stages > 0.9 * spent, "node {node}: {stages} of {spent} in stages");
        assert_eq!(mine.iter().filter(|r| r.metric == "stage_time").count(), 8);
    }
}

/// Where a node's time goes.
const TIMES: [&str; 4] = ["time_compute", "time_wait", "time_serialise", "time_spill"];

fn refusal(params: Params) -> Fault {
    run(params, true).expect_err("refused")
}

#[test]
fn what_is_broken_in_a_file_is_named_before_anything_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let whole = std::fs::read(written(directory.path(), &corpus(20))).expect("read");
    let cut = file(directory.path(), "cut.xml", &whole[..whole.len() - 30]);
    let fault = refusal(of_file(&cut));
    assert!(fault.message.contains("the file is cut short"), "{fault}");
    let place = fault.place.expect("a place");
    assert!(place.starts_with(&format!("{}: page 20, byte ", cut.display())), "{place}");

    let untitled = String::from_utf8(whole.clone()).expect("text").replace("Article 7</title>", "Article 7");
    let fault = refusal(of_file(&file(directory.path(), "untitled.xml", untitled.as_bytes())));
    assert!(fault.message.contains("no well-formed XML"), "{fault}");
    assert!(fault.place.expect("a place").contains("page 8"));

    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(&whole).expect("packs");
    let packed = encoder.finish().expect("packs");
    let cut = file(directory.path(), "cut.xml.bz2", &packed[..packed.len() - 10]);
    assert_eq!(refusal(of_file(&cut)).message, "the bzip2 file is cut short");
    assert_eq!(refusal(of_file(Path::new("/nowhere.xml"))).message, "no such file");
}

#[test]
fn a_corpus_with_a_single_category_fails_the_attempt() {
    let fault = refusal(small().with("categories", 1));
    assert!(fault.message.ends_with("found only `art`"), "{fault}");
    let directory = tempfile::tempdir().expect("a directory");
    let text = "<mediawiki><page><title>x</title><text>no category</text></page></mediawiki>";
    let fault = refusal(of_file(&file(directory.path(), "plain.xml", text.as_bytes())).with("slaves", 2));
    assert!(fault.message.ends_with("CloudSuite's words (1 page)"), "{fault}");
    assert_eq!(fault.kind, FaultKind::Usage, "it is the file that is wrong");
}

#[test]
fn a_place_that_cannot_be_written_fails_the_attempt() {
    let fault = refusal(small().with("output", "/proc/nowhere"));
    assert!(fault.to_string().contains("/proc/nowhere/part-00000"), "{fault}");
    let memory = budget::least_memory(1) as i64;
    let fault = refusal(small().with("scratch", "/proc/nowhere").with("memory_limit", memory));
    assert_eq!(fault.place.as_deref(), Some("/proc/nowhere"));
}
