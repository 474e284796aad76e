//! Cells that this host cannot run are reported once, before the run, and not tried.

use crate::common::{command, finish, journal, stderr, stdout};
use std::path::Path;

const STUDY: &str = r#"
schema = "crosstalk.study/1"
title = "Two engines, of which this host has one"
looks = [1]

[experiment.graph]
title = "PageRank"
work.pagerank = { kind = "pagerank", engine = "$engine", slaves = 1, scale = 6, iterations = 2 }
conditions = { fabric = "none" }
factors = { engine = ["native", "spark"] }
compare = { factor = "engine", base = "native" }
"#;

/// `crosstalk ARGS` without Spark.
fn without_spark(dir: &Path, args: &[&str]) -> std::process::Output {
    finish(command(dir, args).env("CROSSTALK_SPARK", dir.join("nowhere")).spawn().expect("starts"))
}

#[test]
fn a_cell_that_cannot_run_here_is_not_run_and_the_report_says_why() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("s.toml"), STUDY).expect("writes");
    let planned = without_spark(dir.path(), &["plan", "./s.toml"]);
    let lacks = "`pagerank` needs Spark (pyspark)";
    assert!(stdout(&planned).contains(lacks), "{}", stdout(&planned));
    assert!(stdout(&planned).contains("not run: 1 cell"), "{}", stdout(&planned));
    let enough = without_spark(dir.path(), &["plan", "./s.toml", "--runs", "12"]);
    assert!(stdout(&enough).contains("nothing is left to compare"), "{}", stdout(&enough));

    let run = without_spark(dir.path(), &["run", "./s.toml", "--out", "out", "--testbed", "local"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    let lines = journal(&dir.path().join("out"));
    let engines: Vec<&str> = lines
        .iter()
        .filter(|line| line["line"] == "attempt")
        .map(|line| line["levels"]["engine"].as_str().expect("a level"))
        .collect();
    assert!(!engines.is_empty() && engines.iter().all(|engine| *engine == "native"), "{engines:?}");
    let page = std::fs::read_to_string(dir.path().join("out/report.md")).expect("reads");
    assert!(page.contains("needs Spark (pyspark)") && page.contains("not run: 1 cell"), "{page}");
}

#[test]
fn a_cell_that_is_not_run_needs_nothing_of_the_testbed() {
    let dir = tempfile::tempdir().expect("a directory");
    // Only the cell that cannot run has shaped links, which the local testbed cannot have.
    let text = STUDY
        .replace(r#"fabric = "none""#, r#"fabric = "$fabric""#)
        .replace(
            r#"["native", "spark"] }"#,
            r#"["native", "spark"], fabric = ["none", "ethernet-10g"] }
exclude = [{ engine = "native", fabric = "ethernet-10g" }, { engine = "spark", fabric = "none" }]"#,
        )
        .replace("compare = { factor = \"engine\", base = \"native\" }\n", "");
    std::fs::write(dir.path().join("s.toml"), text).expect("writes");
    let run = without_spark(dir.path(), &["run", "./s.toml", "--out", "out", "--testbed", "local"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
}

#[test]
fn a_study_without_a_runnable_cell_is_refused_with_the_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    let only = STUDY
        .replace(r#"["native", "spark"]"#, r#"["spark"]"#)
        .replace(r#"base = "native""#, r#"base = "spark""#);
    std::fs::write(dir.path().join("s.toml"), only).expect("writes");
    let run = without_spark(dir.path(), &["run", "./s.toml", "--out", "out"]);
    assert_eq!(run.status.code(), Some(4), "{}", stderr(&run));
    assert!(
        stderr(&run).contains("needs Spark (pyspark)") && stderr(&run).contains("pip install"),
        "{}",
        stderr(&run)
    );
    assert!(!dir.path().join("out").exists(), "no run was begun");
}

const RATINGS: &str = r#"
schema = "crosstalk.study/1"
title = "Generated ratings, and published ones, which are not everywhere"
looks = [1]

[experiment.generated]
work.als = { kind = "als", slaves = 1, scale = 0.1, rank = 2, lambda = 0.1, iterations = 1 }
conditions = { system = "$system" }
factors = { system = ["kosmos-srio"] }

[experiment.published]
work.als = { kind = "als", slaves = 1, data = "movielens-2016" }
conditions = { system = "$system" }
factors = { system = ["kosmos-srio"] }

[claim.published]
statement = "It ends within a day"
experiment = "published"
threshold = { metric = "completion_time" }
expect = "< 86400"
"#;

fn with_data(dir: &Path, data: &Path, args: &[&str]) -> std::process::Output {
    finish(command(dir, args).env("CROSSTALK_DATA", data).spawn().expect("starts"))
}

#[test]
fn work_on_a_data_set_that_is_not_here_is_left_out_with_the_command_that_gets_it() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("s.toml"), RATINGS).expect("writes");
    let data = dir.path().join("sets");
    let run = with_data(dir.path(), &data, &["run", "./s.toml", "--out", "out", "--testbed", "local"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    let tried: Vec<_> = journal(&dir.path().join("out"))
        .into_iter()
        .filter(|line| line["line"] == "attempt")
        .map(|line| line["experiment"].as_str().expect("a name").to_string())
        .collect();
    assert!(!tried.is_empty() && tried.iter().all(|name| name == "generated"), "{tried:?}");
    let page = std::fs::read_to_string(dir.path().join("out/report.md")).expect("reads");
    for said in [
        "`als` needs data set `movielens-2016`",
        "sets/movielens/ratings.csv",
        "crosstalk data get movielens-2016",
        "not run: 1 cell",
    ] {
        assert!(
            page.replace("\\", "").replace("<code>", "`").replace("</code>", "`").contains(said),
            "{said}: {page}"
        );
    }
    let findings = std::fs::read_to_string(dir.path().join("out/findings.json")).expect("reads");
    assert!(findings.contains("was not run: `als` needs data set"), "the claim says so, too: {findings}");
}

#[test]
fn another_file_in_the_place_of_a_data_set_is_refused_with_its_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("sets");
    std::fs::create_dir_all(data.join("movielens")).expect("makes");
    std::fs::write(
        data.join("movielens/ratings.csv"),
        "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n",
    )
    .expect("writes");
    std::fs::write(dir.path().join("s.toml"), RATINGS).expect("writes");
    let planned = stdout(&with_data(dir.path(), &data, &["plan", "./s.toml"]));
    let one_line = planned.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "this is not data set `movielens-2016`: expected SHA-256 b4239649",
        "movielens/ratings.csv",
        "crosstalk data get movielens-2016",
    ] {
        assert!(one_line.contains(said), "{said}: {planned}");
    }
}

#[test]
fn the_bundled_study_is_planned_without_its_published_ratings() {
    let dir = tempfile::tempdir().expect("a directory");
    let planned = with_data(dir.path(), &dir.path().join("none"), &["plan", "kosmos", "--json"]);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    assert!(stdout(&planned).contains("not run: 4 cells"), "{}", stdout(&planned));
}
