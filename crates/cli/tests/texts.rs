//! Input files in every encoding, format and compression.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{PACKERS, crosstalk, journal, packed, samples, stderr};

/// More levels than the stack of a recursive parser holds.
const DEEP: usize = 100_000;

/// A study that runs one workload with each of `files` for its `parameter`.
fn study(dir: &Path, work: &str, parameter: &str, files: &[String]) {
    let files: Vec<String> = files.iter().map(|file| format!("{:?}", dir.join(file))).collect();
    let text = format!(
        "schema = \"crosstalk.study/1\"\ntitle = \"Texts\"\nlooks = [1]\nseed = 1\n\
         [headline]\nexperiment = \"e\"\nlevel = {}\n\
         [experiment.e]\ntitle = \"Texts\"\nconditions = {{ fabric = \"none\" }}\n\
         work.w = {{ {work}, {parameter} = \"$file\" }}\n\
         factors = {{ file = [{}] }}\ncompare = {{ factor = \"file\", base = {} }}\n",
        files[files.len() - 1],
        files.join(", "),
        files[0]
    );
    std::fs::write(dir.join("s.toml"), text).expect("writes");
}

fn run(dir: &Path) -> (Option<i32>, String) {
    let output = crosstalk(dir, &["run", "./s.toml", "--testbed", "local", "--out", "out"]);
    (output.status.code(), stderr(&output))
}

/// File → the values of a metric, one for each label.
fn values(dir: &Path, metric: &str) -> BTreeMap<String, BTreeMap<String, f64>> {
    let lines = journal(&dir.join("out"));
    let of = |attempt: &serde_json::Value| {
        let line = lines.iter().find(|line| line["line"] == "attempt" && line["attempt"] == *attempt);
        let file = line.expect("an attempt")["levels"]["file"].as_str().expect("a file").to_string();
        file.rsplit_once('/').map_or(file.clone(), |(_, name)| name.into())
    };
    let mut found: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for sample in samples(&dir.join("out")) {
        if sample["metric"] == metric {
            let value = sample["value"].as_f64().expect("a number");
            found.entry(of(&sample["attempt"])).or_default().insert(sample["labels"].to_string(), value);
        }
    }
    found
}

/// Twenty pages about two categories, as dumps have them.
fn export(page: impl Fn(&str, &str) -> String) -> String {
    let pages: String = (0..20)
        .map(|number| {
            let category = ["Art", "Sports"][number % 2];
            page(&format!("Page {number}"), &format!("some words on {category} [[Category:{category}]]"))
        })
        .collect();
    format!("<mediawiki>\n<siteinfo/>\n{pages}</mediawiki>\n")
}

#[test]
fn wikipedias_pages_are_read_as_xml_and_by_their_first_bytes() {
    let dir = tempfile::tempdir().expect("a directory");
    let page = |title: &str, text: &str| {
        format!("<page><title>{title}</title><revision><text>{text}</text></revision></page>\n")
    };
    let plain = export(page);
    let variants = [
        ("plain", plain.clone()),
        (
            "revisions",
            export(|title, text| page(title, &format!("stub</text></revision><revision><text>{text}"))),
        ),
        (
            "tags",
            plain
                .replace("<page>", "<page xml:lang=\"en\" >")
                .replace("<text>", "<text\n>")
                .replace("</text>", "</text >"),
        ),
        ("sections", export(|title, text| page(title, &format!("<![CDATA[{text}]]>")))),
        ("entities", plain.replace("[[Category:A", "[[Category:&#65;")),
        ("sorted", plain.replace("]]", "|history]]")),
        ("cases", plain.replace("[[Category:", "[[ category :")),
        (
            "german",
            plain.replace("[[Category:", "[[kategorie:").replace(
                "<siteinfo/>",
                "<siteinfo><namespaces><namespace key=\"14\">Kategorie</namespace></namespaces></siteinfo>",
            ),
        ),
        ("returns", format!("\u{feff}{}", plain.replace('\n', "\r"))),
        ("nested", plain.replace("<siteinfo/>", &["<a>".repeat(DEEP), "</a>".repeat(DEEP)].concat())),
    ];
    let mut files = Vec::new();
    for (name, text) in &variants {
        std::fs::write(dir.path().join(name), text).expect("writes");
        files.push(name.to_string());
    }
    for program in PACKERS {
        if let Some(bytes) = packed(program, &dir.path().join("plain")) {
            let name = format!("{program} without a suffix");
            std::fs::write(dir.path().join(&name), bytes).expect("writes");
            files.push(name);
        }
    }
    study(dir.path(), "kind = \"bayes\", slaves = 1, test_percent = 50, min_support = 1", "corpus", &files);
    let (code, reported) = run(dir.path());
    assert_eq!(code, Some(0), "{reported}");
    let (documents, confusion) = (values(dir.path(), "documents"), values(dir.path(), "confusion"));
    for file in &files {
        assert_eq!(documents[file].values().sum::<f64>(), 20.0, "{file}");
        assert_eq!(confusion[file], confusion["plain"], "{file}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused_before_anything_runs() {
    let bayes = "kind = \"bayes\", slaves = 1";
    let pagerank = "kind = \"pagerank\", slaves = 1";
    let als = "kind = \"als\", slaves = 1";
    let cases: [(&str, &str, Option<&[u8]>, &str); 6] = [
        (bayes, "corpus", None, "no such file"),
        (bayes, "corpus", Some(b"1 2\n"), "found no <mediawiki>"),
        (pagerank, "graph", None, "no such file"),
        (pagerank, "graph", Some(b"PK\x03\x04\0\0"), "found a zip archive"),
        (als, "ratings", None, "no such file"),
        (als, "ratings", Some(b"\xFF\xFEu\0s\0"), "found text in UTF-16"),
    ];
    for (work, parameter, bytes, reason) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        if let Some(bytes) = bytes {
            std::fs::write(dir.path().join("file"), bytes).expect("writes");
        }
        study(dir.path(), work, parameter, &["file".into()]);
        let (code, reported) = run(dir.path());
        assert_eq!(code, Some(2), "{reported}");
        assert!(reported.contains(reason) && reported.contains("/file"), "{reported}");
        assert!(!dir.path().join("out").exists(), "nothing was run: {reported}");
    }
}

#[test]
fn an_error_in_an_input_file_is_reported_after_one_attempt() {
    let cases = [
        (
            "kind = \"bayes\", slaves = 1",
            "corpus",
            "<mediawiki><page><title>A</title></page></mediawiki>",
            "no <text>",
        ),
        (
            "kind = \"bayes\", slaves = 1",
            "corpus",
            "<mediawiki><page><title>A</title><text>[[Category:Zoo]]</text></page></mediawiki>",
            "no article in it has a category",
        ),
        ("kind = \"pagerank\", slaves = 1", "graph", "1 2\n2 3\n3\n", "file:3"),
        ("kind = \"als\", slaves = 1", "ratings", "userId,movieId,rating,timestamp\n1,2,9,4\n", "file:2"),
    ];
    for (work, parameter, text, reason) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("file"), text).expect("writes");
        study(dir.path(), work, parameter, &["file".into()]);
        let (code, reported) = run(dir.path());
        assert_eq!(code, Some(2), "{reported}");
        assert!(reported.contains(reason), "{reported}");
        let started = journal(&dir.path().join("out"))
            .iter()
            .filter(|line| line["line"] == "attempt" && line["status"] == "started")
            .count();
        assert_eq!(started, 1, "{reported}");
    }
}

#[test]
fn files_that_are_nested_too_deeply_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused = |args: &[&str], schema: &str| {
        let dotted = "a.".repeat(DEEP);
        for deep in [
            format!("looks = {}{}", "[".repeat(DEEP), "]".repeat(DEEP)),
            format!("a = {}1{}", "{ a = ".repeat(DEEP), " }".repeat(DEEP)),
            format!("{dotted}a = 1"),
            format!("[{dotted}a]\nb = 1"),
            format!("[[{dotted}a]]\nb = 1"),
        ] {
            let text = format!("schema = \"{schema}\"\n{deep}\n");
            std::fs::write(dir.path().join("deep.toml"), text).expect("writes");
            let output = crosstalk(dir.path(), args);
            let reported = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{}: {reported}", &deep[..20]);
            assert!(
                reported.contains("deep.toml") && reported.contains("nested too deeply"),
                "{}: {reported}",
                &deep[..20]
            );
        }
    };
    refused(&["plan", "./deep.toml"], "crosstalk.study/1");
    refused(&["guard", "--rules", "deep.toml", "--for", "1 s"], "crosstalk.guard/1");
}

#[test]
fn a_journal_line_that_is_nested_too_deeply_is_reported_with_its_number() {
    let dir = tempfile::tempdir().expect("a directory");
    crate::common::study(dir.path());
    let args = ["run", "./s.toml", "--testbed", "local", "--looks", "1", "--out", "out"];
    assert_eq!(crosstalk(dir.path(), &args).status.code(), Some(0));
    let path = dir.path().join("out/journal.ndjson");
    let text = std::fs::read_to_string(&path).expect("reads");
    // Lines without a checksum may only come first.
    let deep = [r#"{"line":"sample","x":"#, &"[".repeat(DEEP), &"]".repeat(DEEP), "}"].concat();
    std::fs::write(&path, [deep, text].join("\n")).expect("writes");
    let output = crosstalk(dir.path(), &["report", "out"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let findings = std::fs::read_to_string(dir.path().join("out/findings.json")).expect("reads");
    assert!(findings.contains("journal.ndjson:1 ("), "{findings}");
    assert!(findings.contains("nested too deeply"), "{findings}");
}
