//! Tests of `spark`.

use super::*;
use crosstalk_core::value::Params;

fn config() -> Config {
    let params = Params::default().with("documents", 300).with("document_words", 60);
    Config::from_params(&params.with("categories", 4)).expect("reads")
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
    let read =
        Config::from_params(&Params::default().with("corpus", path.display().to_string())).expect("reads");
    let (written, generated) = (ours(&read).expect("runs"), ours(&config()).expect("runs"));
    assert_eq!((written.features, written.accuracy), (generated.features, generated.accuracy));
}
