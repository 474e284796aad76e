//! Graphs and ratings in the formats of users' files.

use crate::common::{PACKERS, crosstalk, packed, samples, stderr};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Runs a study of one workload into `out`; its parameter `input` is each of these files in turn.
fn run(dir: &Path, kind: &str, input: &str, files: &[&str], more: &str) -> Output {
    let paths: Vec<String> = files.iter().map(|file| format!("{:?}", dir.join(file))).collect();
    let study = format!(
        r#"
        schema = "crosstalk.study/1"
        title = "Files"
        looks = [2]
        [experiment.e]
        work.w = {{ kind = "{kind}", {input} = "$file", {more} }}
        conditions = {{ system = "microblade" }}
        factors = {{ file = [{}] }}
        "#,
        paths.join(", ")
    );
    fs::write(dir.join("s.toml"), study).expect("writes");
    crosstalk(dir, &["run", "s.toml", "--out", "out", "--testbed", "local"])
}

/// All values of a metric.
fn values(dir: &Path, metric: &str) -> Vec<f64> {
    let samples = samples(&dir.join("out")).into_iter();
    samples.filter(|s| s["metric"] == metric).map(|s| s["value"].as_f64().expect("a number")).collect()
}

/// Name → rank, from the output of one slave.
fn ranks(dir: &Path, text: &[u8]) -> BTreeMap<String, f64> {
    fs::write(dir.join("graph"), text).expect("writes");
    let more = format!("output = {:?}, slaves = 1, iterations = 3", dir.join("ranks"));
    let output = run(dir, "pagerank", "graph", &["graph"], &more);
    assert!(output.status.success(), "{}", stderr(&output));
    fs::remove_dir_all(dir.join("out")).expect("removes");
    let text = fs::read_to_string(dir.join("ranks/part-00000")).expect("ranks");
    let pair = |line: &str| {
        let (name, rank) = line.split_once('\t').expect("two columns");
        (name.to_string(), rank.parse().expect("a rank"))
    };
    text.lines().map(pair).collect()
}

#[track_caller]
fn close(found: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
    assert!(found.keys().map(String::as_str).eq(expected.iter().map(|(name, _)| *name)), "{found:?}");
    for (name, rank) in expected {
        assert!((found[*name] - rank).abs() < 1e-5, "{name}: {}, not {rank}", found[*name]);
    }
}

#[test]
fn a_graph_has_its_ranks_whatever_its_line_ends_and_the_names_of_its_vertices() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = "1 2\r2 3\r3 1\r1 3\r4 1\r";
    let expected = [("1", 1.48875), ("2", 0.78272), ("3", 1.57853), ("4", 0.15)];
    close(&ranks(dir.path(), text.as_bytes()), &expected);
    let renamed = text.replace('1', "4000000000").replace('\r', "\n");
    let expected = [("2", 0.78272), ("3", 1.57853), ("4", 0.15), ("4000000000", 1.48875)];
    close(&ranks(dir.path(), renamed.as_bytes()), &expected);
    let named = text.replace('1', "Graz").replace('4', "Ulm").replace('\r', "\r\n");
    let expected = [("2", 0.78272), ("3", 1.57853), ("Graz", 1.48875), ("Ulm", 0.15)];
    close(&ranks(dir.path(), named.as_bytes()), &expected);
}

#[test]
fn gaps_duplicates_loops_and_sinks_count_as_in_graphx() {
    let dir = tempfile::tempdir().expect("a directory");
    // Vertex 1 gives a third of its rank to each edge; 9 has no outgoing edge; no other id is a vertex.
    let found = ranks(dir.path(), b"# a comment\n1 9 0.5\n\n1 9 7\n1 1 1\n");
    let one = (0..3).fold(1.0, |rank, _| 0.15 + 0.85 * rank / 3.0);
    let before = (0..2).fold(1.0, |rank, _| 0.15 + 0.85 * rank / 3.0);
    close(&found, &[("1", one), ("9", 0.15 + 0.85 * before * 2.0 / 3.0)]);
}

#[test]
fn a_graph_in_any_format_has_one_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    let edges = [(1, 2), (2, 3), (3, 1), (1, 3), (4, 1)];
    let lines = |between: &str, after: &str| -> String {
        edges.iter().map(|(s, t)| format!("{s}{between}{t}{after}\n")).collect()
    };
    let banner = "%%MatrixMarket matrix coordinate";
    let texts = [
        ("blank", lines(" ", "")),
        ("weights", lines("\t", "\t0.5")),
        ("comments", format!("% one\n# two\n\n{}", lines("  ", " "))),
        ("csv", format!("\u{feff}source,target,weight\n{}", lines(",", ",1.5")).replace('\n', "\r\n")),
        ("semicolons", lines(";", "")),
        ("pattern.mtx", format!("{banner} pattern general\n% c\n4 4 5\n{}", lines(" ", ""))),
        ("real.mtx", format!("{banner} real general\n4 4 5\n{}", lines(" ", " -1e3"))),
    ];
    for (name, text) in &texts {
        fs::write(dir.path().join(name), text).expect("writes");
    }
    let mut names: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
    for program in PACKERS {
        if let Some(bytes) = packed(program, &dir.path().join("blank")) {
            fs::write(dir.path().join(program), bytes).expect("writes");
            names.push(program);
        }
    }
    let output = run(dir.path(), "pagerank", "graph", &names, "slaves = 2");
    assert!(output.status.success(), "{}", stderr(&output));
    let checksums = values(dir.path(), "answer_checksum");
    assert!(checksums.len() >= names.len() && checksums.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn memory_follows_the_edges_not_the_largest_id() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("graph"), "268435455 1\n9223372036854775807 1\n").expect("writes");
    let output = run(dir.path(), "pagerank", "graph", &["graph"], "slaves = 2");
    assert!(output.status.success(), "{}", stderr(&output));
    let peaks = values(dir.path(), "peak_memory");
    assert!(!peaks.is_empty() && peaks.iter().all(|peak| *peak < 1e8), "{peaks:?}");

    fs::remove_dir_all(dir.path().join("out")).expect("removes");
    let far = 2_147_483_647_u32;
    let ratings = format!("{far}::{far}::3::10\n{far}::1::3::16\n{far}::2::4::19\n");
    fs::write(dir.path().join("ratings"), ratings).expect("writes");
    let output = run(dir.path(), "als", "ratings", &["ratings"], "slaves = 2, rank = 2");
    assert!(output.status.success(), "{}", stderr(&output));
    let peaks = values(dir.path(), "peak_memory");
    assert!(!peaks.is_empty() && peaks.iter().all(|peak| *peak < 1e8), "{peaks:?}");
}

#[test]
fn ratings_in_movielens_three_formats_have_one_answer() {
    let dir = tempfile::tempdir().expect("a directory");
    let lines = "1,2,3.5,978300760\n2,2,4,978300766\n1,3,1,978300769\n2,3,5,978300761\n";
    let texts = [
        (
            "ratings.csv",
            format!("\u{feff}userId,movieId,rating,timestamp\r\n{}", lines.replace('\n', "\r\n")),
        ),
        ("ratings.dat", lines.replace(',', "::")),
        ("u.data", lines.replace(',', "\t")),
    ];
    for (name, text) in &texts {
        fs::write(dir.path().join(name), text).expect("writes");
    }
    let names = texts.map(|(name, _)| name);
    let output = run(dir.path(), "als", "ratings", &names, "slaves = 2, rank = 2, iterations = 2");
    assert!(output.status.success(), "{}", stderr(&output));
    let checksums = values(dir.path(), "answer_checksum");
    assert!(checksums.len() >= 3 && checksums.windows(2).all(|pair| pair[0] == pair[1]), "{checksums:?}");
}

#[test]
fn ambiguous_input_is_refused_with_its_line_and_a_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused: [(&str, &str, &str, &[&str]); 6] = [
        ("pagerank", "graph", "1 2 3 4\n", &["file:1: ", "found 4 columns", "adjacency lists are not read"]),
        ("pagerank", "graph", "4 4 5\n1 2\n", &["file:2: ", "expected 3 columns", "write one edge a line"]),
        ("pagerank", "graph", "1 2\n\u{1b}]0;PWNED\u{7} 1\n", &["file:2: ", "`\\u{1b}]0;PWNED\\u{7}`"]),
        ("als", "ratings", "1,2,3.5,978300760\n", &["file:1: ", "write the heading above the ratings"]),
        (
            "als",
            "ratings",
            "1::2::3.5::978300760000\n",
            &["file:1: ", "divide time stamps in milliseconds by 1000"],
        ),
        ("als", "ratings", "1\t2\t\u{202e}5\t9\n", &["file:1: ", "from 0.5 to 5, found `\\u{202e}5`"]),
    ];
    for (kind, input, text, reported) in refused {
        fs::write(dir.path().join("file"), text).expect("writes");
        let output = run(dir.path(), kind, input, &["file"], "slaves = 1");
        assert!(!output.status.success());
        let said = stderr(&output);
        // Lines may be wrapped to the terminal's width.
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        reported.iter().for_each(|part| assert!(flat.contains(part), "{part}: {said}"));
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said}");
        if dir.path().join("out").exists() {
            let journal = fs::read_to_string(dir.path().join("out/journal.ndjson")).unwrap_or_default();
            assert!(!journal.contains("\\u001b") && !journal.contains('\u{202e}'), "{journal}");
            fs::remove_dir_all(dir.path().join("out")).expect("removes");
        }
    }
}
