//! The registry of this test: that of the program, a workload that writes what it observes as an artifact, and a
//! condition that makes a folder.

use std::cell::OnceCell;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::provenance::Provenance;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::{
    AppliedCondition, Condition, Deployment, Effort, Prepared, Sink, Timing, Workload,
};
use crosstalk_core::value::{Params, Value};
use crosstalk_host::ledger::TemporaryFolder;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_lab::agent::{NodeContext, serve_runner};
use serde_json::json;

/// The file in the condition's folder.
pub const CONDITION: &str = "condition";

pub fn registry() -> Registry {
    let mut registry = Registry {
        workloads: crosstalk_tools::workloads(),
        conditions: crosstalk_guard::conditions(),
        observers: crosstalk_observe::observers(),
    };
    registry.workloads.push(Box::new(Scribe));
    registry.conditions.push(Box::new(MadeFolder));
    registry
}

/// The hidden verb `agent`.
pub fn agent() -> ExitCode {
    let own: OnceCell<TemporaryFolder> = OnceCell::new();
    let folder = || {
        if own.get().is_none() {
            let made = scratch("temporary files of an agent")?;
            // Set here for the first time.
            let _ = own.set(made);
        }
        own.get().map(|own| own.path().to_path_buf()).ok_or_else(|| Fault::attempt("has no folder"))
    };
    let node = NodeContext { registry: &registry(), facts: &Provenance::default, folder: &folder };
    match serve_runner(&node, std::io::stdin(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(4),
    }
}

fn scratch(what: &str) -> Result<TemporaryFolder, Fault> {
    Ledger::open(&Launcher::current())?.temporary_folder(what)
}

/// Work on two nodes.
struct Scribe;

impl Workload for Scribe {
    fn name(&self) -> &'static str {
        "scribe"
    }

    fn title(&self) -> &'static str {
        "notes what it sees"
    }

    fn parameters(&self) -> Parameters {
        Parameters(&[const { &[Parameter::new("runner", "", ""), Parameter::new("waits", "", "")] }])
    }

    fn needs(&self, _: &Params) -> Vec<Need> {
        Vec::new()
    }

    fn deploy(&self, _: &Params) -> Result<Deployment, Fault> {
        let metrics = vec![Metric::new("notes", "files", Better::Neither)];
        Ok(Deployment { nodes: 2, timing: Timing::Real, metrics, effort: Effort::waiting(0.1) })
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        Ok(Box::new(Ready(part.clone())))
    }
}

struct Ready(Part);

impl Prepared for Ready {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }

    fn run(
        self: Box<Self>,
        _: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        let notes = self.0.artifacts.clone().expect("the agent has a folder for them").join("notes");
        fs::create_dir_all(&notes).expect("makes");
        let seen = look(Path::new(self.0.params.text("runner", "")?));
        fs::write(notes.join(format!("node-{}.json", self.0.node)), seen.to_string()).expect("writes");
        while self.0.params.text("waits", "false")? == "true" && !cancelled.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(5));
        }
        out.take(Reading::value("notes", 1.0, Origin::Measured).label("node", self.0.node), 1)?;
        Ok(None)
    }
}

fn look(runner: &Path) -> serde_json::Value {
    let names = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let processes: Vec<u32> = names("/proc").iter().filter_map(|name| name.parse().ok()).collect();
    let lowered = processes.iter().filter(|pid| nice(**pid) == Some(19)).count();
    let devices = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let devices: Vec<&str> =
        devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    let made = names("/tmp").into_iter().filter(|name| Path::new("/tmp").join(name).join(CONDITION).exists());
    json!({
        "sees_the_runner": runner.exists(),
        "processes": processes.len(),
        "lowered": lowered,
        "devices": devices,
        "folders_of_conditions": made.count(),
    })
}

/// The nice value of a process: proc(5).
fn nice(pid: u32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(16)?.parse().ok()
}

/// A condition that changes the machine: it makes a folder, and writes it into the node's own undo ledger.
struct MadeFolder;

impl Condition for MadeFolder {
    fn name(&self) -> &'static str {
        "folder"
    }

    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    fn check(&self, _: &Value, _: bool) -> Result<(), Fault> {
        Ok(())
    }

    fn apply(
        &self,
        _: &Value,
        _: &dyn Fn() -> Result<Vec<u32>, Fault>,
    ) -> Result<Box<dyn AppliedCondition>, Fault> {
        let made = scratch("a condition's folder")?;
        fs::write(made.path().join(CONDITION), "").expect("writes");
        Ok(Box::new(There { _made: made }))
    }
}

struct There {
    _made: TemporaryFolder,
}

impl AppliedCondition for There {}
