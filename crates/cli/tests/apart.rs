//! A study on nodes that share nothing with the runner: they have mounts, process numbers, a network and a root
//! directory of their own. Conditions and observers act on the nodes, artifacts come back, and nothing is left behind,
//! also by a killed runner. Needs root.

#[path = "apart/machine.rs"]
mod machine;
#[path = "apart/parts.rs"]
mod parts;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crosstalk_core::record::{Line, Status};
use crosstalk_host::user::is_root;
use crosstalk_lab::RunInputs;
use crosstalk_lab::clock::SystemClock;
use crosstalk_lab::progress::Event;
use crosstalk_lab::rundir::RunDir;
use crosstalk_study::PlanOptions;
use crosstalk_study::catalogue::Catalogues;
use machine::{Apart, TRIAL};

/// The longest time for anything, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const STUDY: &str = r#"
schema = "crosstalk.study/1"
title = "Two machines of their own"
looks = [1]

[experiment.e]
work.own = { kind = "scribe", runner = "RUNNER", waits = "WAITS" }
work.external = { kind = "burner", threads = 1, priority = "normal" }
conditions.protect = "nice"
conditions.folder = "$folder"
factors = { folder = ["made"] }
observe = ["faults"]
"#;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["agent", ..] => parts::agent(),
        ["reap", ..] => crosstalk_host::reaper_main(&args[1..]),
        ["machine", root] => machine::live(Path::new(root)),
        ["run", dir, waits] => run(Path::new(dir), waits),
        _ => {
            if let Some(reason) = lacks() {
                println!("skipped: {reason}");
                return ExitCode::SUCCESS;
            }
            conditions_and_observers_act_on_the_nodes_and_artifacts_come_back();
            a_killed_runner_leaves_nothing_on_the_nodes();
            the_changes_of_a_killed_agent_are_undone_on_its_node();
            println!("test result: ok. 3 passed");
            ExitCode::SUCCESS
        }
    }
}

/// Why this host cannot have such machines; `None` if it can.
fn lacks() -> Option<String> {
    if !is_root() {
        return Some("machines of their own take root".into());
    }
    let conditions = crosstalk_guard::conditions();
    let mut needs = conditions.iter().flat_map(|condition| condition.needs());
    needs.find(|need| !need.is_found()).map(|need| format!("{} is missing", need.what))
}

/// The runner's own process: the study, with its results and machines in `dir`.
fn run(dir: &Path, waits: &str) -> ExitCode {
    let text = STUDY.replace("RUNNER", &dir.display().to_string()).replace("WAITS", waits);
    let (registry, catalogues, options) = (parts::registry(), Catalogues::new(), PlanOptions::default());
    let study = crosstalk_study::parse(&text, "apart.toml").expect("the study parses");
    let study = crosstalk_study::resolve(&study, &registry, &options).expect("it resolves");
    let plan = crosstalk_study::plan(&study, &catalogues, &registry, &options).expect("it plans");
    let lab = RunInputs {
        registry: &registry,
        catalogues: &catalogues,
        study: &study,
        plan: &plan,
        testbed: &Apart::new(dir),
        dir: &RunDir::create(&dir.join("run")).expect("a run's directory"),
        clock: &SystemClock,
        deadline: Some(PATIENCE),
        pace: 1.0,
        command: "crosstalk run apart.toml".into(),
        interrupted: &AtomicBool::new(false),
    };
    let mut events: Vec<Event> = Vec::new();
    match crosstalk_lab::run(&lab, Default::default(), &mut events) {
        Ok(_) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}\n{events:?}");
            ExitCode::from(4)
        }
    }
}

/// A runner in a process of its own, with its folder.
struct Trial {
    dir: tempfile::TempDir,
    name: String,
    runner: Child,
}

impl Trial {
    fn begin(waits: bool) -> Trial {
        let dir = tempfile::tempdir().expect("a folder");
        let name = format!("{}-{waits}", std::process::id());
        let mut command = Command::new(std::env::current_exe().expect("has a name"));
        command.arg("run").arg(dir.path()).arg(waits.to_string()).env(TRIAL, &name);
        let runner = command.spawn().expect("starts");
        Trial { dir, name, runner }
    }

    fn root(&self, machine: usize) -> PathBuf {
        machine::root(self.dir.path(), machine)
    }

    /// The content of a folder of a machine.
    fn listed(&self, machine: usize, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root(machine).join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Processes of the trial, and temporary files and ledgers on its machines.
    fn left(&self) -> Vec<String> {
        let mark = format!("{TRIAL}={}", self.name);
        let carries = |pid: &String| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
        };
        let entries = fs::read_dir("/proc").expect("is there").flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut left: Vec<String> = numbers.filter(carries).map(|pid| format!("process {pid}")).collect();
        for machine in 0..machine::COUNT {
            left.extend(self.listed(machine, "tmp"));
            left.extend(self.listed(machine, "run/crosstalk").into_iter().filter(|n| n.ends_with("ndjson")));
        }
        left
    }

    /// Waits until foreground work runs under its condition on both machines.
    fn await_work(&self) {
        let at_work = |machine: usize| {
            let temporary = self.root(machine).join("tmp");
            let has = |what: &str| {
                self.listed(machine, "tmp").iter().any(|name| temporary.join(name).join(what).exists())
            };
            has("artifacts/notes") && has(parts::CONDITION)
        };
        await_that("own work runs", || (0..machine::COUNT).all(at_work));
    }

    fn await_nothing_left(&self) {
        await_that("nothing is left", || self.left().is_empty());
    }
}

fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        sleep(Duration::from_millis(10));
    }
}

fn conditions_and_observers_act_on_the_nodes_and_artifacts_come_back() {
    let mut trial = Trial::begin(false);
    let status = trial.runner.wait().expect("ends");
    let text = fs::read(trial.dir.path().join("run/journal.ndjson")).expect("a journal");
    let lines: Vec<Line> =
        crosstalk_study::journal::lines(text.as_slice()).collect::<Result<_, _>>().expect("whole lines");
    assert!(status.success(), "{lines:?}");
    let ended = |line: &&Line| matches!(line, Line::Attempt { status, .. } if *status != Status::Started);
    let ended: Vec<&Line> = lines.iter().filter(ended).collect();
    assert!(matches!(ended[..], [Line::Attempt { status: Status::Finished, .. }]), "{ended:?}");

    let mut watched: BTreeMap<String, usize> = BTreeMap::new();
    for line in &lines {
        if let Line::Sample { reading, .. } = line
            && reading.metric == "page_faults_major"
        {
            *watched.entry(reading.labels["node"].clone()).or_default() += 1;
        }
    }
    assert_eq!(watched, BTreeMap::from([("0".into(), 1), ("1".into(), 1)]), "one on each host");

    for machine in 0..machine::COUNT {
        let path = trial.dir.path().join(format!("run/artifacts/notes/node-{machine}.json"));
        let notes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let notes: serde_json::Value = serde_json::from_slice(&notes).expect("is JSON");
        assert_eq!(notes["sees_the_runner"], false, "{notes}");
        assert_eq!(notes["devices"], serde_json::json!(["lo"]), "{notes}");
        let processes = notes["processes"].as_u64().expect("a number");
        assert!(processes < 20, "those of its machine alone: {notes}");
        assert_eq!(notes["folders_of_conditions"], 1, "{notes}");
        // Background work is on the first node.
        assert_eq!(notes["lowered"].as_u64().expect("a number") > 0, machine == 0, "{notes}");
    }
    trial.await_nothing_left();
    println!("test conditions_and_observers_act_on_the_nodes_and_artifacts_come_back ... ok");
}

fn a_killed_runner_leaves_nothing_on_the_nodes() {
    let mut trial = Trial::begin(true);
    trial.await_work();
    trial.runner.kill().expect("is ours");
    let status = trial.runner.wait().expect("ends");
    assert_eq!(status.signal(), Some(9), "it was still at it");
    trial.await_nothing_left();
    println!("test a_killed_runner_leaves_nothing_on_the_nodes ... ok");
}

fn the_changes_of_a_killed_agent_are_undone_on_its_node() {
    let mut trial = Trial::begin(true);
    trial.await_work();
    let before = trial.listed(0, "tmp");
    let on_it = |pid: &u32| {
        let root = fs::read_link(format!("/proc/{pid}/root"));
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        root.is_ok_and(|root| root == trial.root(0)) && line.split('\0').nth(1) == Some("agent")
    };
    let entries = fs::read_dir("/proc").expect("is there").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let agents: Vec<String> = numbers.filter(on_it).map(|pid| pid.to_string()).collect();
    // Two workloads, and the keeper, which applies conditions.
    assert_eq!(agents.len(), 3, "{agents:?}");
    let killed = Command::new("kill").arg("-KILL").args(&agents).status().expect("kill starts");
    assert!(killed.success());
    await_that("what they did is undone", || {
        let now = trial.listed(0, "tmp");
        !before.iter().any(|name| now.contains(name))
    });
    trial.runner.kill().expect("is ours");
    trial.runner.wait().expect("ends");
    trial.await_nothing_left();
    println!("test the_changes_of_a_killed_agent_are_undone_on_its_node ... ok");
}
