//! Foreground work beside background work: one scene, real processes.

mod common;

use common::{command, crosstalk, finish, journal, samples, stderr};
use crosstalk_boinc::client::NAMES;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

const STUDY: &str = r#"
schema = "crosstalk.study/1"
title = "Foreground work beside background work"
looks = [6]
seed = 1

[experiment.owner]
work.own = { kind = "primes", threads = "all", limit = 3000, events = 4000 }
work.external = { kind = "burner", threads = "$external", priority = "normal", start = "steady before own" }
observe = ["pressure", "faults"]
factors = { external = ["quarter", "four times"] }

[claim.more-is-worse]
statement = "The more background work, the longer foreground work takes"
experiment = "owner"
ratio = { metric = "run_time", of = { external = "four times" }, to = { external = "quarter" } }
expect = "> 1"
"#;

fn run(dir: &Path, study: &str) -> std::process::Output {
    fs::write(dir.join("owner.toml"), study).expect("writes");
    crosstalk(dir, &["run", "./owner.toml", "--out", "run", "--testbed", "local"])
}

#[test]
fn background_work_costs_the_owner_and_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = run(dir.path(), STUDY);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let samples = samples(&dir.path().join("run"));
    let metrics: BTreeSet<&str> = samples.iter().filter_map(|line| line["metric"].as_str()).collect();
    for metric in ["run_time", "run_delay", "time_queue", "donated", "donated_rounds", "page_faults_major"] {
        assert!(metrics.contains(metric), "{metric} is not among {metrics:?}");
    }
    let findings: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("run/findings.json")).expect("reads"))
            .expect("JSON");
    let claim = &findings["claims"][0];
    assert_eq!(claim["verdict"], "reproduced", "{claim:#}");
    // Six blocks of two cells, in each of which background work was steady and gave something.
    let donated: Vec<f64> = samples
        .iter()
        .filter(|line| line["metric"] == "donated")
        .filter_map(|line| line["value"].as_f64())
        .collect();
    assert!(donated.len() == 12 && donated.iter().all(|cores| *cores > 0.0), "{donated:?}");
}

#[test]
fn background_work_alone_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let alone = STUDY
        .replace("work.own = {", "work.unused = {")
        .replace("kind = \"primes\", threads = \"all\", limit = 3000, events = 4000", "kind = \"burner\"");
    let output = run(dir.path(), &alone);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("owner.toml:"), "{}", stderr(&output));
}

#[test]
fn transactions_run_on_a_server_of_their_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let missing = |program: &str| {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .any(|folder| folder.join(program).is_file());
        !found
    };
    if ["sysbench", "mariadbd", "mariadb-install-db"].into_iter().any(missing) {
        eprintln!("skipped: sysbench or mariadb-server-core is missing");
        return;
    }
    let study = r#"
schema = "crosstalk.study/1"
title = "Transactions"
looks = [2]

[experiment.database]
work.own = { kind = "oltp", threads = 2, duration = "1 s", tables = 1, rows = 1000 }
work.external = { kind = "burner", threads = "$external" }
factors = { external = [1] }
"#;
    let output = run(dir.path(), study);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let samples = samples(&dir.path().join("run"));
    let of = |metric: &str| -> Vec<f64> {
        samples
            .iter()
            .filter(|line| line["metric"] == metric)
            .filter_map(|line| line["value"].as_f64())
            .collect()
    };
    assert!(
        of("transaction_rate").len() == 2 && of("transaction_rate").iter().all(|rate| *rate > 1.0),
        "{samples:?}"
    );
    assert!(of("transaction_p99").iter().all(|seconds| *seconds > 0.0), "{samples:?}");
}

/// One at a time: background work of one would keep that of the other from ever being steady.
static ONE: Mutex<()> = Mutex::new(());

/// The bundled study: quick, one block of its fewest cells, and programs from `path` alone.
fn volunteer(dir: &Path, path: &OsStr) -> Value {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let args = [
        &["run", "volunteer", "--quick", "--looks", "1", "--out", "out", "--testbed", "local"][..],
        &["--set", "owner.own.events=200", "--set", "owner.external=0,2"],
        &["--set", "owner-burner.own.events=200", "--set", "owner-burner.external=0,2"],
        &["--set", "owner-burner.protect=none"],
        &["--set", "pareto.own.events=200", "--set", "pareto.protect=none"],
    ]
    .concat();
    let mut command = command(dir, &args);
    command.env("PATH", path);
    let output = finish(command.spawn().expect("crosstalk starts"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = |name: &str| fs::read_to_string(dir.join("out").join(name)).expect("reads");
    assert!(read("report.html").contains("What background work costs the owner of a computer"));
    serde_json::from_str(&read("findings.json")).expect("JSON")
}

/// How the attempt beside so many of BOINC's tasks ended.
fn beside(dir: &Path, external: u64) -> Option<Value> {
    let lines = journal(&dir.join("out")).into_iter();
    let ended = lines.filter(|line| line["line"] == "attempt" && line["status"] != "started");
    let mut here =
        ended.filter(|line| line["experiment"] == "owner" && line["levels"]["external"] == external);
    here.next_back()
}

fn names(findings: &Value, of: &str) -> BTreeSet<String> {
    let all = findings[of].as_array().expect("a list").iter();
    all.map(|one| one["name"].as_str().expect("a name").to_string()).collect()
}

#[test]
fn the_bundled_study_of_volunteers_ends_with_its_report_where_there_is_no_boinc() {
    let dir = tempfile::tempdir().expect("a directory");
    let findings = volunteer(dir.path(), dir.path().as_os_str());
    // Foreground work alone takes no client; beside BOINC's tasks it is not tried, and the reason is said once.
    assert_eq!(beside(dir.path(), 0).expect("was tried")["status"], "finished");
    assert_eq!(beside(dir.path(), 2), None);
    let warnings = findings["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
    let lacking: Vec<&str> = warnings.filter(|text| text.contains("needs a BOINC client")).collect();
    assert!(lacking.len() == 1 && lacking[0].contains("not run: "), "{lacking:?}");
    let claim = |name: &str| {
        let all = findings["claims"].as_array().expect("a list");
        all.iter().find(|claim| claim["name"] == name).expect("is one").clone()
    };
    assert_eq!(claim("costs")["found"], Value::Null, "{:#}", claim("costs"));
    let figures = names(&findings, "figures");
    assert!(figures.contains("time-burner") && figures.contains("pareto-cpu"), "{figures:?}");
    assert!(names(&findings, "tables").contains("why-burner"), "{findings:#}");
}

fn lacks_client() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let lacks =
        !std::env::split_paths(&path).any(|folder| NAMES.iter().any(|name| folder.join(name).is_file()));
    if lacks {
        eprintln!("skipped: there is no BOINC client here");
    }
    lacks
}

#[test]
fn a_client_keeps_to_the_settings_that_a_study_gives_it() {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if cores < 2 {
        eprintln!("skipped: one processor cannot be halved");
        return;
    }
    if lacks_client() {
        return;
    }
    let study = r#"
schema = "crosstalk.study/1"
title = "A client's own settings"
looks = [1]

[experiment.owner]
work.own = { kind = "primes", threads = 1, limit = 10_000, events = 2000 }
work.external = { kind = "boinc", ncpus = "all", settings = "$settings", start = "steady before own" }
factors = { settings = ["processors 50%"] }
"#;
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().expect("a directory");
    let output = run(dir.path(), study);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let samples = samples(&dir.path().join("run"));
    let running = samples.iter().find(|line| line["metric"] == "tasks_running").expect("is reported");
    let half = (cores / 2) as f64;
    assert!(
        running["value"].as_f64().is_some_and(|tasks| tasks > 0.0 && tasks <= half),
        "{running} of {cores}"
    );
}

#[test]
fn the_bundled_study_of_volunteers_measures_beside_boinc() {
    if lacks_client() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let findings = volunteer(dir.path(), &std::env::var_os("PATH").unwrap_or_default());
    for external in [0, 2] {
        let ended = beside(dir.path(), external).expect("was tried");
        assert_eq!(ended["status"], "finished", "{ended}");
    }
    let samples = samples(&dir.path().join("out"));
    assert!(samples.iter().any(|line| line["metric"] == "tasks_running"), "{samples:?}");
    assert!(names(&findings, "figures").contains("time"), "{:?}", names(&findings, "figures"));
}
