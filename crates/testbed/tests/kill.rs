//! `kill -9` of the owner at any moment (creating, running, shaping, dropping) leaves no process,
//! device, mount or ledger behind after two seconds.
//!
//! `CROSSTALK_KILLS` is the number of moments [default: 8], `CROSSTALK_NODES` the number of nodes
//! that the owner creates [default: 8]. The result is printed as a line of JSON.

#[path = "support/specs.rs"]
mod specs;
mod support;

use crosstalk_core::testbed::{Link, Testbed};
use crosstalk_core::units::BitRate;
use crosstalk_testbed::{Launcher, LocalTestbed, VirtualTestbed};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use support::AgentSession;

/// Carried by the owner and all that it starts.
const TRIAL: &str = "CROSSTALK_TEST_TRIAL";

/// How long it may take until nothing is left.
const SOON: Duration = Duration::from_secs(2);
/// When waiting for it ends.
const NEVER: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    if let Some(code) = support::hidden_verb() {
        return code;
    }
    match std::env::args().nth(1).as_deref() {
        Some("own-virtual") => own(&VirtualTestbed::new(Launcher::current())),
        Some("own-local") => own(&LocalTestbed::new(Launcher::current())),
        _ => specs::run(&[
            ("a_killed_owner_of_a_virtual_cluster_leaves_nothing", virtual_leaves_nothing),
            ("a_killed_owner_of_local_agents_leaves_nothing", local_leaves_nothing),
            ("what_a_killed_reaper_leaves_the_next_start_undoes", next_start_undoes),
        ]),
    }
}

/// Creates, uses and drops clusters until it is killed.
fn own(testbed: &dyn Testbed) -> ExitCode {
    let nodes = setting("CROSSTALK_NODES");
    println!("begun");
    loop {
        let mut cluster = testbed.create(nodes).expect("is created");
        let mut agents: Vec<AgentSession> =
            (0..nodes).map(|node| cluster.start_agent(node, 0).expect("starts").into()).collect();
        for agent in &mut agents {
            assert_eq!(agent.ask("hello"), "hello");
            agent.ask("leave a child");
        }
        if testbed.name() == "virtual" {
            cluster.shape(Link::Rate(BitRate(20e6))).expect("shapes");
        }
    }
}

fn setting(name: &str) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(8)
}

/// An owner with a ledger folder of its own, and the name of its trial.
struct Trial {
    name: String,
    folder: tempfile::TempDir,
    owner: Child,
}

impl Trial {
    fn begin(verb: &str, number: usize) -> Trial {
        let name = format!("{}-{verb}-{number}", std::process::id());
        let folder = tempfile::tempdir().expect("a temporary folder");
        let owner = start(verb, &name, folder.path());
        Trial { name, folder, owner }
    }

    /// The processes that this trial's owner started, or their descendants.
    fn left(&self) -> Vec<String> {
        let wanted = format!("{TRIAL}={}", self.name);
        let processes = fs::read_dir("/proc").expect("is there").flatten().map(|e| e.path());
        let ours = processes.filter(|path| {
            let environ = fs::read(path.join("environ")).unwrap_or_default();
            environ.split(|b| *b == 0).any(|entry| entry == wanted.as_bytes())
        });
        let named = |path: &Path| fs::read_to_string(path.join("comm")).unwrap_or_default();
        ours.map(|path| format!("{} {}", path.display(), named(&path).trim())).collect()
    }

    fn ledgers(&self) -> usize {
        fs::read_dir(self.folder.path().join("crosstalk")).map_or(0, Iterator::count)
    }

    fn kill_owner(&mut self) {
        self.owner.kill().expect("was running");
        let status = self.owner.wait().expect("was ours");
        assert_eq!(status.signal(), Some(9), "the owner ended by itself: {status}");
    }

    /// Seconds until nothing is left.
    fn until_nothing_is_left(&self) -> f64 {
        let began = Instant::now();
        while !(self.left().is_empty() && self.ledgers() == 0) {
            let (left, ledgers) = (self.left(), self.ledgers());
            assert!(began.elapsed() < NEVER, "{}: left are {left:?} and {ledgers} ledgers", self.name);
            std::thread::sleep(Duration::from_millis(2));
        }
        began.elapsed().as_secs_f64()
    }
}

fn start(verb: &str, trial: &str, folder: &Path) -> Child {
    let mut command = Command::new("/proc/self/exe");
    command.arg(verb).env(TRIAL, trial).env("XDG_RUNTIME_DIR", folder).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    let mut byte = [0];
    let mut out = child.stdout.take().expect("is piped");
    std::io::Read::read_exact(&mut out, &mut byte).expect("begins");
    child
}

fn leaves_nothing(verb: &str) {
    let (kills, nodes) = (setting("CROSSTALK_KILLS"), setting("CROSSTALK_NODES"));
    // About two rounds of creating, using and dropping.
    let span = 0.2 + 0.02 * nodes as f64;
    let before = specs::traces_on_host();
    let mut slowest = 0f64;
    // Moments that are spread evenly over the span, in a non-periodic order:
    // multiples of the golden ratio (a Weyl sequence).
    for number in 0..kills {
        let moment = (number as f64 * 0.618_033_988_75).fract() * span;
        let mut trial = Trial::begin(verb, number);
        std::thread::sleep(Duration::from_secs_f64(moment));
        trial.kill_owner();
        slowest = slowest.max(trial.until_nothing_is_left());
    }
    let after = specs::traces_on_host();
    println!(
        "{{\"owner\":\"{verb}\",\"nodes\":{nodes},\"kills\":{kills},\"slowest_seconds\":{slowest:.4},\
         \"host_untouched\":{}}}",
        after == before
    );
    assert_eq!(after, before);
    assert!(slowest < SOON.as_secs_f64(), "the slowest took {slowest} s");
}

fn virtual_leaves_nothing() {
    if let [need] = &VirtualTestbed::new(Launcher::current()).needs()[..]
        && !need.is_found()
    {
        eprintln!("skipped: no virtual clusters here: {need:?}");
        return;
    }
    leaves_nothing("own-virtual");
}

fn local_leaves_nothing() {
    leaves_nothing("own-local");
}

/// An owner and its reaper that were killed. `None` if the owner had no cluster at that moment.
fn killed_with_its_reaper() -> Option<Trial> {
    let mut trial = Trial::begin("own-local", 0);
    let reapers = || -> Vec<String> {
        trial.left().into_iter().filter(|line| line.ends_with("crosstalk-reap")).collect()
    };
    let began = Instant::now();
    while reapers().is_empty() || trial.ledgers() == 0 {
        assert!(began.elapsed() < SOON, "no reaper came up");
        std::thread::sleep(Duration::from_millis(2));
    }
    // Long enough for agents to be started, which the ledger then lists.
    std::thread::sleep(Duration::from_millis(60));
    for line in reapers() {
        let pid = line.trim_start_matches("/proc/").split(' ').next().expect("a number");
        assert!(Command::new("kill").args(["-9", pid]).status().expect("starts").success());
    }
    trial.kill_owner();
    (trial.ledgers() > 0).then_some(trial)
}

/// Local agents that ignore the end of their owner need the ledger.
fn next_start_undoes() {
    // Between two clusters of the owner there is nothing to undo; then another moment is tried.
    let trial = (0..20).find_map(|_| killed_with_its_reaper());
    let trial = trial.expect("nobody was there to undo it");
    let mut next = start("own-local", "next", trial.folder.path());
    let began = Instant::now();
    let own = format!("{}-", next.id());
    let of_others = || {
        let ledgers = fs::read_dir(trial.folder.path().join("crosstalk")).expect("reads").flatten();
        ledgers.filter(|e| !e.file_name().to_string_lossy().starts_with(&own)).count()
    };
    while of_others() + trial.left().len() > 0 {
        assert!(began.elapsed() < SOON, "left are {:?}", trial.left());
        std::thread::sleep(Duration::from_millis(2));
    }
    next.kill().expect("runs");
    next.wait().expect("was ours");
    let folder = trial.folder.path().join("crosstalk");
    while fs::read_dir(&folder).expect("reads").count() > 0 {
        assert!(began.elapsed() < 2 * SOON);
        std::thread::sleep(Duration::from_millis(2));
    }
}
