//! Habits of hyperfine's users, and plans.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{command, crosstalk, stderr, stdout, study};

/// `crosstalk ARGS -- sh -c LINE` on this machine alone.
fn run(dir: &Path, args: &[&str], line: &str) -> Output {
    crosstalk(dir, &[&["run", "--testbed", "local"], args, &["--", "sh", "-c", line]].concat())
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path.as_ref()).unwrap_or_else(|e| panic!("{}: {e}", path.as_ref().display()))
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

/// The last line of `crosstalk ARGS --json`.
fn reported(dir: &Path, args: &[&str]) -> serde_json::Value {
    let output = crosstalk(dir, &[args, &["--json"]].concat());
    json(stdout(&output).lines().last().unwrap_or_else(|| panic!("{args:?}: {}", stderr(&output))))
}

#[test]
fn save_never_overwrites_an_edited_study() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mine, edited) = (dir.path().join("my.toml"), "# edited by hand\n");
    std::fs::write(&mine, edited).expect("writes");
    let output = run(dir.path(), &["--runs", "1", "--save", "my.toml"], "true");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("--save") && said.contains("my.toml is there already") && said.contains("--force"),
        "{said}"
    );
    assert!(!dir.path().join("runs").exists(), "nothing is run");
    // A refused run writes nothing, also with --force.
    let refused =
        ["--save", "my.toml", "--force", "--nodes", "2", "--vary", "fabric=ethernet-1g,none", "--runs", "1"];
    assert_eq!(run(dir.path(), &refused, "true").status.code(), Some(2));
    assert_eq!(read(&mine), edited);
    let output = run(dir.path(), &["--runs", "1", "--out", "out", "--save", "my.toml", "--force"], "true");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(read(&mine).contains("schema = \"crosstalk.study/1\""));
    let repeat = json(&read(dir.path().join("out/findings.json")))["headline"]["command"].clone();
    assert_eq!(repeat, "crosstalk run --testbed local --runs 1 -- sh -c true");
    // The run exists already, so this one is refused.
    std::fs::write(&mine, edited).expect("writes");
    let output = run(dir.path(), &["--runs", "1", "--out", "out", "--save", "my.toml", "--force"], "true");
    assert_eq!((output.status.code(), read(&mine).as_str()), (Some(2), edited));
}

#[test]
fn a_run_of_a_file_is_repeated_from_the_copy_in_its_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let args = ["run", "./s.toml", "--testbed", "local", "--looks", "2", "--out", "out"];
    let output = crosstalk(dir.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let repeat = json(&read(dir.path().join("out/findings.json")))["headline"]["command"].clone();
    assert_eq!(repeat, "crosstalk run out/study.toml --testbed local");
    let again: Vec<&str> = repeat.as_str().expect("text").split(' ').skip(1).collect();
    let output = crosstalk(dir.path(), &[&again[..], &["--out", "again"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(read(dir.path().join("out/study.toml")), read(dir.path().join("again/study.toml")));
}

#[test]
fn runs_warmup_prepare_quiet_and_exports_are_as_in_hyperfine() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let prepare = format!("echo prepared >> '{}'", at("prepared"));
    let args = [
        &["--runs", "2", "--warmup", "1", "--prepare", &prepare, "--vary", "env.N=1,2", "--quiet"][..],
        &["--export-csv", "a.csv", "--export-json", "a.json", "--export-markdown", "a.md", "--out", "out"],
    ]
    .concat();
    std::fs::write(dir.path().join("a.csv"), "old").expect("writes");
    let output = run(dir.path(), &args, &format!("echo $N >> '{}'", at("ran")));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "quiet");
    let said = stdout(&output);
    assert!(said.lines().count() == 2 && said.contains("report: out/report.html"), "{said}");
    // Two levels: one warm-up and two runs each, all of them prepared.
    assert_eq!(read(at("ran")).lines().count(), 6);
    assert_eq!(read(at("prepared")).lines().count(), 6);
    let finished = crate::common::journal(&dir.path().join("out"));
    assert_eq!(finished.iter().filter(|l| l["line"] == "attempt" && l["status"] == "finished").count(), 4);
    let results = json(&read(at("a.json")));
    let results = results["results"].as_array().expect("a list");
    assert_eq!(results.len(), 2);
    for (row, level) in results.iter().zip(["1", "2"]) {
        assert_eq!(row["parameters"]["N"], level);
        assert_eq!((row["times"].as_array().map(Vec::len), &row["metric"]), (Some(2), &"run_time".into()));
        assert!(
            row["min"].as_f64() <= row["median"].as_f64() && row["median"].as_f64() <= row["max"].as_f64()
        );
    }
    let csv = read(at("a.csv"));
    assert!(csv.starts_with("command,mean,stddev,median,min,max,") && csv.lines().count() == 3, "{csv}");
    assert!(read(at("a.md")).contains("| Command | N | Metric | Hodges-Lehmann |"), "{}", read(at("a.md")));
    // The same again, from the journal.
    let output = crosstalk(dir.path(), &["report", "out", "--quiet", "--export-json", "b.json"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), said), "{}", stderr(&output));
    assert_eq!(read(at("a.json")), read(at("b.json")));
}

#[test]
fn the_first_note_says_what_a_number_of_runs_can_decide() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = run(dir.path(), &["--runs", "2", "--vary", "env.N=1,2"], "true");
    let said = stderr(&output);
    assert!(said.contains("note: 2 runs of each cell can decide nothing: one comparison needs 6"), "{said}");
    let reported = stdout(&output);
    assert!(reported.contains("too few runs (2; 6 or more decide)"), "{reported}");
    assert!(
        !reported.contains("faster") && !reported.contains("slower"),
        "nothing decides a direction: {reported}"
    );
    let plan = crosstalk(dir.path(), &["plan", "--runs", "9", "--vary", "env.N=1,2,3", "--", "true"]);
    assert!(
        stdout(&plan)
            .contains("9 runs of each cell are enough to decide 2 questions, if the differences are clear"),
        "{plan:?}"
    );
    for (args, said) in [
        (&["plan", "--runs", "0", "--", "true"][..], "at least 1"),
        (&["plan", "--runs", "3", "--looks", "3", "--", "true"], "--looks"),
        (&["plan", "kosmos", "--quick", "--prepare", "true"], "--prepare"),
        (&["run", "--export-csv", "nowhere/a.csv", "--", "true"], "no such directory"),
        (&["run", "--export-json", ".", "--", "true"], "expected a file"),
    ] {
        let output = crosstalk(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_prepare_that_fails_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = run(dir.path(), &["--runs", "1", "--prepare", "echo no room >&2; exit 3"], "true");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("`prepare`") && said.contains("no room"), "{said}");
}

#[test]
fn one_node_has_no_link_to_compare_fabrics_over() {
    let dir = tempfile::tempdir().expect("a directory");
    for nodes in [&[][..], &["--nodes", "1"]] {
        let args = [&["run"], nodes, &["--vary", "fabric=ethernet-1g,ethernet-10g", "--", "true"]].concat();
        let output = crosstalk(dir.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("one node has no link") && said.contains("--nodes 2"), "{said}");
    }
    let two = ["plan", "--nodes", "2", "--vary", "fabric=ethernet-1g,ethernet-10g", "--", "true"];
    assert_eq!(crosstalk(dir.path(), &two).status.code(), Some(0));
}

#[test]
fn a_plan_begins_with_its_summary_and_lists_many_cells_only_when_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = stdout(&crosstalk(dir.path(), &["plan", "latency"]));
    let summary = text.lines().nth(2).expect("a third line");
    assert!(summary.contains("(estimated)") && summary.contains(" cells"), "{text}");
    assert!(text.lines().count() < 60 && text.contains("--cells lists every cell"), "{text}");
    let whole = stdout(&crosstalk(dir.path(), &["plan", "latency", "--cells"]));
    assert!(whole.lines().count() > text.lines().count() + 50, "{whole}");
}

#[test]
fn bundled_studies_have_blocks_to_spare() {
    let dir = tempfile::tempdir().expect("a directory");
    let all = reported(dir.path(), &["list", "studies"]);
    let names: Vec<&str> =
        all["studies"].as_array().expect("a list").iter().filter_map(|s| s["name"].as_str()).collect();
    assert!(names.len() >= 5, "{names:?}");
    let variants: [&[&str]; 4] =
        [&[], &["--quick"], &["--engine", "spark"], &["--engine", "spark", "--quick"]];
    for (name, more) in names.iter().flat_map(|name| variants.iter().map(move |more| (name, more))) {
        let plan = reported(dir.path(), &[&["plan", name], *more].concat());
        // Not every study has an engine.
        if plan["result"] != "plan" {
            assert!(!more.is_empty() && more[0] == "--engine", "{name} {more:?}: {plan}");
            continue;
        }
        let short = |w: &&serde_json::Value| {
            let text = w.as_str().unwrap_or_default();
            text.contains("can decide nothing") || text.contains("too few spare ones")
        };
        let warned = plan["warnings"].as_array().expect("a list").iter().find(short);
        assert!(warned.is_none(), "{name} {more:?}: {warned:?}");
    }
}

#[test]
fn a_budget_without_spare_blocks_is_named_when_it_is_planned() {
    let dir = tempfile::tempdir().expect("a directory");
    let plan = |looks: &str| {
        let args = ["plan", "--looks", looks, "--vary", "env.N=1,2,3,4,5,6,7,8", "--", "true"];
        stdout(&crosstalk(dir.path(), &args))
    };
    assert!(
        plan("8").contains("can decide nothing, even if all agree: to decide 7 questions"),
        "{}",
        plan("8")
    );
    let none_spare = plan("9");
    assert!(
        none_spare.contains("9 blocks leave too few spare ones") && none_spare.contains("--runs 11"),
        "{none_spare}"
    );
    assert!(!plan("11").contains("to spare"), "{}", plan("11"));
}

#[test]
fn a_busy_machine_is_named_before_a_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh starts");
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut spinners: Vec<_> = (0..cores).map(|_| spin()).collect();
    let runs = run(dir.path(), &["--runs", "1"], "true");
    let plan = crosstalk(dir.path(), &["plan", "--", "true"]);
    for spinner in &mut spinners {
        spinner.kill().and_then(|()| spinner.wait()).expect("is ours");
    }
    for said in [stderr(&runs), stdout(&plan)] {
        assert!(
            said.contains("this machine is busy: other programs use ") && said.contains("`top`"),
            "{said}"
        );
    }
}

#[test]
fn the_report_of_an_interrupted_run_names_resume() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = run(dir.path(), &["--runs", "2", "--out", "out"], "true");
    assert!(!stdout(&output).contains("crosstalk resume"), "{}", stdout(&output));
    let path = dir.path().join("out/journal.ndjson");
    let text = read(&path);
    // A kill leaves it without its last line.
    let end = text.trim_end().rfind('\n').expect("lines") + 1;
    std::fs::write(&path, &text[..end]).expect("cuts");
    let report = crosstalk(dir.path(), &["report", "out"]);
    assert!(stdout(&report).contains("resume it with: crosstalk resume out"), "{}", stdout(&report));
}

#[test]
fn times_and_shares_are_written_in_one_way_everywhere() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |share: &str| {
        let args = ["path", "tia-942-ethernet", "--size", "1500 B", "--utilisation", share];
        stdout(&crosstalk(dir.path(), &args))
    };
    assert!(path("70 %").contains("waiting"), "{}", path("70 %"));
    assert_eq!((path("70%"), path("0.7")), (path("70 %"), path("70 %")));
    // A plain number is seconds.
    let output = run(dir.path(), &["--runs", "1", "--deadline", "0.3"], "sleep 60");
    assert!(stderr(&output).contains("not finished after"), "{}", stderr(&output));
    for (args, said) in [
        (&["guard", "--for", "0"][..], "0.1 s"),
        (&["trace", "--port", "1", "--for", "0"], "0.1 s"),
        (&["guard", "--slowdown", "5"], "--slowdown 1%"),
        (&["path", "tia-942-ethernet", "--size", "1500 B", "--utilisation", "70"], "70 %"),
    ] {
        let output = crosstalk(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn no_two_entries_of_a_list_read_the_same() {
    let dir = tempfile::tempdir().expect("a directory");
    let all = reported(dir.path(), &["list"]);
    for (name, entries) in all.as_object().expect("lists").iter().filter(|(_, entries)| entries.is_array()) {
        let entries = entries.as_array().expect("a list");
        for key in ["name", "title"] {
            let mut seen = std::collections::BTreeSet::new();
            let twice = entries.iter().find(|entry| !seen.insert(entry[key].to_string()));
            assert!(twice.is_none() || name == "components", "{name}: {twice:?}");
        }
    }
}

#[test]
fn completions_and_manual_pages_have_the_visible_verbs_only() {
    let dir = tempfile::tempdir().expect("a directory");
    for shell in ["bash", "zsh", "fish"] {
        let output = crosstalk(dir.path(), &["completions", shell]);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(text.contains("export-csv") && text.contains("warmup"), "{shell}");
        assert!(!text.contains("boinc-app") && !text.contains("reap"), "{shell}: the program's own verbs");
    }
    let output = crosstalk(dir.path(), &["man", "pages"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = read(dir.path().join("pages/crosstalk-run.1"));
    assert!(page.contains("warmup") && page.contains(".TH"), "{page}");
    assert!(!dir.path().join("pages/crosstalk-reap.1").exists());
}

#[test]
fn every_help_writes_defaults_in_one_way() {
    let dir = tempfile::tempdir().expect("a directory");
    let verbs = [
        "run",
        "resume",
        "plan",
        "list",
        "show",
        "data",
        "path",
        "trace",
        "exec",
        "guard",
        "report",
        "doctor",
        "boinc-project",
    ];
    for verb in verbs {
        let text = stdout(&crosstalk(dir.path(), &[verb, "--help"]));
        for vague in ["where not given", "where nobody says", "where not named"] {
            assert!(!text.contains(vague), "{verb}: {text}");
        }
    }
}

/// On a terminal: `script` gives it one.
#[test]
fn a_dumb_terminal_gets_no_colour_and_no_bar() {
    let dir = tempfile::tempdir().expect("a directory");
    let shown = |term: &str| {
        let line = format!("{} run --testbed local --runs 1 -- true", env!("CARGO_BIN_EXE_crosstalk"));
        let mut script = Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .current_dir(dir.path())
            .env("TERM", term)
            .stdin(Stdio::null());
        script.output().ok().map(|output| stdout(&output))
    };
    let (Some(dumb), Some(able)) = (shown("dumb"), shown("xterm")) else {
        eprintln!("skipped: there is no script(1) here");
        return;
    };
    assert!(dumb.contains("report: ") && !dumb.contains('\u{1b}'), "{dumb:?}");
    assert!(able.contains('\u{1b}'), "{able:?}");
}

#[test]
fn text_uses_the_terminal_s_width() {
    let dir = tempfile::tempdir().expect("a directory");
    let widest = |columns: &str| {
        let output = command(dir.path(), &["list"]).env("COLUMNS", columns).output().expect("runs");
        stdout(&output).lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let (narrow, wide) = (widest("60"), widest("160"));
    assert!(narrow <= 60 && wide > 100 && wide <= 160, "{narrow} {wide}");
    let help = |columns: &str| {
        let output = command(dir.path(), &["run", "--help"]).env("COLUMNS", columns).output().expect("runs");
        stdout(&output).lines().count()
    };
    assert!(help("120") < help("70"));
}

#[test]
fn an_export_overwrites_no_study_and_no_part_of_a_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let ran =
        crosstalk(dir.path(), &["run", "--testbed", "local", "--runs", "2", "--out", "out", "--", "true"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let read = |name: &str| std::fs::read(dir.path().join(name)).expect("reads");
    for name in ["out/journal.ndjson", "out/study.toml", "out/findings.json"] {
        let before = read(name);
        let refused = crosstalk(dir.path(), &["report", "out", "--export-csv", name]);
        assert_eq!(refused.status.code(), Some(2), "{name}");
        assert!(
            stderr(&refused).contains("--export-csv") && before == read(name),
            "{name}: {}",
            stderr(&refused)
        );
    }
    let saved = ["run", "--testbed", "local", "--save", "s.toml", "--export-csv", "s.toml", "--", "true"];
    assert_eq!(crosstalk(dir.path(), &saved).status.code(), Some(2), "the study that is saved");
    let twice = ["report", "out", "--export-csv", "x", "--export-json", "x"];
    assert_eq!(crosstalk(dir.path(), &twice).status.code(), Some(2), "two exports to one file");
    let fine = crosstalk(dir.path(), &["report", "out", "--export-csv", "out/mine.csv"]);
    assert_eq!(fine.status.code(), Some(0), "{}", stderr(&fine));
}
