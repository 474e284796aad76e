//! The engine Spark for real: master, worker, executor and driver as processes of
//! this host, on addresses of the loopback.

#[path = "../../work/tests/scene/mod.rs"]
mod scene;

use crosstalk_apps::engine::spark;
use crosstalk_apps::{als::ALS, bayes::BAYES, pagerank::PAGERANK};
use crosstalk_core::Fault;
use crosstalk_core::need::NeedState;
use crosstalk_core::record::Reading;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use scene::{part, play_parts, value};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than any attempt takes on a busy machine, in seconds.
const DEADLINE: f64 = 300.0;

/// Whether there is a Spark; else says why not.
fn there() -> bool {
    let missing = spark::needs().into_iter().find(|need| !need.is_found());
    if let Some(need) = &missing {
        eprintln!("skipped: no {} (crosstalk doctor tells what installs it)", need.what);
    }
    missing.is_none()
}

fn on_spark() -> Params {
    Params::default()
        .with("engine", "spark")
        .with("worker_cores", 1)
        .with("worker_memory", "512 MiB")
        .with("passes", 1)
}

/// A master and a slave, whose temporary files are in `scratch`.
fn run(workload: &dyn Workload, params: &Params, scratch: &Path) -> Result<Vec<Reading>, Fault> {
    let nodes = workload.deploy(params)?.nodes;
    let parts = (0..nodes).map(|node| {
        let mut part = part(workload.name(), params, node, nodes, DEADLINE);
        part.addresses = (1..=nodes).map(|host| [127, 0, 0, host as u8].into()).collect();
        part.shared = Some(scratch.to_path_buf());
        part.scratch = scratch.to_path_buf();
        part.artifacts = Some(scratch.join("artifacts"));
        part
    });
    let outcomes = play_parts(workload, parts, &AtomicBool::new(false));
    outcomes.into_iter().collect::<Result<Vec<_>, _>>().map(|all| all.into_iter().flatten().collect())
}

/// Every reading is of a metric that the workload declares.
fn declared(workload: &dyn Workload, params: &Params, readings: &[Reading]) {
    let metrics = workload.deploy(params).expect("deploys").metrics;
    for reading in readings {
        assert!(metrics.iter().any(|metric| metric.name == reading.metric), "{}", reading.metric);
    }
    let always = ["completion_time", "first_time", "load_time", "time_compute", "time_wait"];
    assert!(always.iter().all(|name| readings.iter().any(|r| r.metric == *name)), "{readings:?}");
}

/// Kills a process of ours whose command line contains `what`, once there is one.
fn kill(what: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        if let Some(pid) = descendants().into_iter().find(|pid| says(*pid, what)) {
            let pid = rustix::process::Pid::from_raw(pid).expect("is not zero");
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("no process says {what}");
}

/// The fault where a worker is killed while a long job runs.
fn without_a_worker(params: &Params, scratch: &Path) -> String {
    let long = params.clone().with("scale", 15).with("iterations", 50);
    thread::scope(|scope| {
        scope.spawn(|| {
            // The job's input is written and dealt by then.
            thread::sleep(Duration::from_secs(4));
            // It cannot clean up; the worker would ask it to end, and wait.
            kill("CoarseGrainedExecutorBackend");
            kill("deploy.worker.Worker");
        });
        run(&PAGERANK, &long, scratch).expect_err("its worker is gone").to_string()
    })
}

fn says(pid: i32, what: &str) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(what))
}

/// All that this process has started, and what they have.
fn descendants() -> Vec<i32> {
    let mut found = vec![process::id() as i32];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children: Vec<String> =
            threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok()).collect();
        found.extend(
            children.iter().flat_map(|text| text.split_whitespace()).filter_map(|w| w.parse::<i32>().ok()),
        );
        next += 1;
    }
    found.split_off(1)
}

/// Leaves no cluster behind, however the test ends. This process has but one set of
/// clusters: one test at a time.
struct Closed(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Closed {
    fn alone() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        Closed(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        spark::end_kept_clusters();
    }
}

/// Libraries that Java has unpacked where it puts temporary files unless it is given another place.
fn unpacked() -> BTreeSet<OsString> {
    let all = fs::read_dir("/tmp").into_iter().flatten().flatten().map(|entry| entry.file_name());
    all.filter(|name| name.to_string_lossy().contains(".so")).collect()
}

#[test]
fn three_analytics_on_one_cluster_and_a_worker_that_is_killed() {
    if !there() {
        return;
    }
    let scratch: TempDir = tempfile::tempdir().expect("a folder");
    let _closed = Closed::alone();
    let before = unpacked();
    let graph = on_spark().with("scale", 8).with("iterations", 3);
    let readings = run(&PAGERANK, &graph, scratch.path()).expect("its ranks are those of the recurrence");
    declared(&PAGERANK, &graph, &readings);

    let ratings = on_spark().with("scale", 0.1).with("rank", 4).with("lambda", 0.1).with("iterations", 5);
    let readings = run(&ALS, &ratings, scratch.path()).expect("its model is as good as ours");
    declared(&ALS, &ratings, &readings);
    assert!(value(&readings, "rmse_test") < value(&readings, "rmse_baseline"));

    let pages = on_spark().with("documents", 200).with("document_words", 50).with("categories", 3);
    let readings = run(&BAYES, &pages, scratch.path()).expect("it counts and decides as we do");
    declared(&BAYES, &pages, &readings);

    let logs: Vec<_> =
        fs::read_dir(scratch.path().join("artifacts/spark-events")).expect("is made").collect();
    assert_eq!(logs.len(), 1, "one application for all: {logs:?}");

    let fault = without_a_worker(&on_spark(), scratch.path());
    assert!(fault.contains("worker ended in mid-run") || fault.contains("was lost"), "{fault}");
    assert_eq!(unpacked(), before, "executors, which are killed, leave nothing outside of their folders");
}

#[test]
fn a_small_input_is_work_for_all_nodes() {
    if !there() {
        return;
    }
    let scratch: TempDir = tempfile::tempdir().expect("a folder");
    let _closed = Closed::alone();
    let ratings = on_spark().with("slaves", 2).with("scale", 0.1).with("rank", 4).with("lambda", 0.1);
    let readings =
        run(&ALS, &ratings.with("iterations", 5), scratch.path()).expect("its model is as good as ours");
    let computed = ["1", "2"].map(|node| {
        let own = |one: &&Reading| {
            one.metric == "time_compute" && one.labels.get("node").is_some_and(|n| n == node)
        };
        value(&readings.iter().filter(own).cloned().collect::<Vec<_>>(), "time_compute")
    });
    let most = computed[0].max(computed[1]);
    assert!(computed.iter().all(|seconds| *seconds > 0.2 * most), "s of each slave: {computed:?}");
}

#[test]
fn what_is_broken_in_a_file_is_named_before_spark_gets_a_request() {
    if !there() {
        return;
    }
    let scratch: TempDir = tempfile::tempdir().expect("a folder");
    let _closed = Closed::alone();
    let pages = "<mediawiki><page><title>A</title><revision><text>b</text></revision></page><page>";
    let refused = |workload: &dyn Workload, parameter: &str, name: &str, bytes: &[u8], place: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, bytes).expect("written");
        let params = on_spark().with(parameter, path.display().to_string());
        let fault = run(workload, &params, scratch.path()).expect_err("refused").to_string();
        assert!(fault.contains(name) && fault.contains(place), "{fault}");
        assert!(!scratch.path().join("spark").exists(), "no cluster was started for {name}");
    };
    let ratings = b"userId,movieId,rating,timestamp\n1,2,3.5,4\n1,2\n";
    refused(&BAYES, "corpus", "cut.xml", pages.as_bytes(), "page 2");
    refused(&BAYES, "corpus", "cut.xml.bz2", b"BZh91AY&SY", "is cut short");
    refused(&PAGERANK, "graph", "links.txt", b"0 1\n1 x\n", "links.txt:2");
    refused(&ALS, "ratings", "ratings.csv", ratings, "ratings.csv:3");
}

/// A standalone cluster as a user has it, of one worker with one core.
struct Own(Vec<Child>);

impl Own {
    fn start(port: u16, folder: &Path) -> Self {
        let NeedState::Found { detail: home } = &spark::needs()[0].state else { panic!("was there") };
        let url = format!("spark://127.0.0.1:{port}");
        let run = |class: &str, words: &[&str]| {
            let mut command = Command::new(Path::new(home).join("bin/spark-class"));
            command.arg(format!("org.apache.spark.deploy.{class}")).args(words).env("SPARK_HOME", home);
            command
                .env("SPARK_LOCAL_DIRS", folder)
                .current_dir(folder)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.spawn().expect("starts")
        };
        let master =
            run("master.Master", &["--host", "127.0.0.1", "--port", &port.to_string(), "--webui-port", "0"]);
        let mut own = Own(vec![master]);
        let until = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "the master has not started");
            thread::sleep(Duration::from_millis(50));
        }
        let words = ["--cores", "1", "--memory", "1G", "--webui-port", "0", "--work-dir"];
        let words: Vec<&str> = words.into_iter().chain([folder.to_str().expect("is UTF-8"), &url]).collect();
        own.0.push(run("worker.Worker", &words));
        own
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // What has ended by itself needs no more.
            let _ = child.kill().and_then(|()| child.wait().map(drop));
        }
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port()
}

/// A small graph on the user's own cluster, by an executor with this heap.
fn on_own(port: u16, heap: &str) -> Params {
    let own = on_spark().with("engine", format!("spark://127.0.0.1:{port}"));
    own.with("scale", 8).with("iterations", 3).with("slaves", 1).with("worker_memory", heap)
}

fn answered(params: &Params, scratch: &Path) {
    let readings = run(&PAGERANK, params, scratch).expect("its ranks are right");
    declared(&PAGERANK, params, &readings);
    assert_eq!(readings.iter().filter(|reading| reading.metric == "time_compute").count(), 1);
}

#[test]
fn a_user_s_cluster_is_selected_by_its_masters_address() {
    if !there() {
        return;
    }
    let scratch: TempDir = tempfile::tempdir().expect("a folder");
    let _closed = Closed::alone();
    let port = free_port();
    let params = on_own(port, "512 MiB");
    assert_eq!(PAGERANK.deploy(&params).expect("deploys").nodes, 1, "the driver alone is here");
    let fault = run(&PAGERANK, &params, scratch.path()).expect_err("nobody listens").to_string();
    assert!(fault.contains("no Spark master listens at"), "{fault}");
    let nameless = on_own(port, "512 MiB").with("engine", "spark://no-such-host.invalid:7077");
    let fault = run(&PAGERANK, &nameless, scratch.path()).expect_err("it has no address").to_string();
    assert!(fault.contains("cannot reach the Spark master spark://no-such-host.invalid:7077"), "{fault}");
    let _own = Own::start(port, scratch.path());
    answered(&params, scratch.path());
}

#[test]
fn a_worker_of_the_users_cluster_that_is_killed_is_reported() {
    if !there() {
        return;
    }
    if std::env::var_os("CROSSTALK_LONG").is_none() {
        eprintln!("skipped: until Spark gives a killed worker up takes half a minute (CROSSTALK_LONG=1)");
        return;
    }
    let scratch: TempDir = tempfile::tempdir().expect("a folder");
    let _closed = Closed::alone();
    let port = free_port();
    let params = on_own(port, "512 MiB");
    let _own = Own::start(port, scratch.path());
    let fault = without_a_worker(&params, scratch.path());
    assert!(fault.contains("was lost"), "{fault}");
}

#[test]
fn cores_of_the_users_cluster_are_released_before_others_are_requested() {
    if !there() {
        return;
    }
    if std::env::var_os("CROSSTALK_LONG").is_none() {
        eprintln!("skipped: two applications on a cluster of one core take a minute (CROSSTALK_LONG=1)");
        return;
    }
    let scratch: TempDir = tempfile::tempdir().expect("a folder");
    let _closed = Closed::alone();
    let port = free_port();
    let _own = Own::start(port, scratch.path());
    for heap in ["512 MiB", "576 MiB"] {
        answered(&on_own(port, heap), scratch.path());
    }
}
