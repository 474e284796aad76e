//! A run with mocks: nodes are threads, the workload does what its parameters say,
//! the test sets the clock.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
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
    AppliedCondition, AttachedObserver, Condition, Deployment, Effort, Observer, Prepared, Scope, Sink,
    Timing, Workload,
};
use crosstalk_core::value::{Params, Value};
use crosstalk_lab::agent::{NodeContext, serve_runner};
use crosstalk_lab::clock::Clock;
use crosstalk_lab::progress::{Event, Progress};
use crosstalk_lab::rundir::RunDir;
use crosstalk_lab::{Ending, RunInputs};
use crosstalk_study::PlanOptions;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::file::Study;
use crosstalk_study::plan::Plan;
use crosstalk_testbed::MockTestbed;

/// Attempts begun on any node, over the whole test.
pub type Count = Arc<AtomicUsize>;

/// Reports `time` and behaves as `does` says: `well`, `fail`, `panic`, `hang`,
/// `die`, `nan`, `unfaithful`; `count` reports the number of running neighbours.
/// Interrupts the run at attempt `interrupt_at`.
pub struct ScriptedWorkload {
    pub present: Count,
    pub begun: Count,
    pub interrupt_at: usize,
    pub interrupted: Arc<AtomicBool>,
}

struct PreparedScript {
    present: Count,
    part: Part,
    begun: usize,
    interrupt_at: usize,
    interrupted: Arc<AtomicBool>,
}

impl Workload for ScriptedWorkload {
    fn name(&self) -> &'static str {
        "scripted"
    }
    fn title(&self) -> &'static str {
        "does what its parameters say"
    }
    fn parameters(&self) -> Parameters {
        const fn named(name: &'static str) -> Parameter {
            Parameter::new(name, "", "")
        }
        Parameters(&[const { &[named("nodes"), named("time"), named("does"), named("on")] }])
    }
    fn needs(&self, _: &Params) -> Vec<Need> {
        Vec::new()
    }
    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        params.refuse_unknown(self.parameters())?;
        let nodes = params.count("nodes", 2, 1)? as usize;
        let metrics = vec![Metric::new("run_time", "s", Better::Lower)];
        Ok(Deployment { nodes, timing: Timing::Real, metrics, effort: Effort::waiting(0.001) })
    }
    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        if part.params.text("does", "well")? == "refuse" {
            return Err(Fault::attempt("refused to get ready"));
        }
        let begun = if part.node == 0 { self.begun.fetch_add(1, Ordering::SeqCst) + 1 } else { 0 };
        Ok(Box::new(PreparedScript {
            present: Arc::clone(&self.present),
            part: part.clone(),
            begun,
            interrupt_at: self.interrupt_at,
            interrupted: Arc::clone(&self.interrupted),
        }))
    }
}

impl Prepared for PreparedScript {
    fn endpoint(&self) -> Option<SocketAddr> {
        Some(([127, 0, 0, 1], 1000 + self.part.node as u16).into())
    }
    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        assert_eq!(endpoints.len(), self.part.nodes);
        let does = self.part.params.text("does", "well")?;
        let on = self.part.params.count("on", 0, 0)? as usize;
        if self.begun > 0 && self.begun == self.interrupt_at {
            self.interrupted.store(true, Ordering::SeqCst);
            wait(cancelled);
            return Err(Fault::interrupted());
        }
        if self.part.node == on {
            match does {
                "fail" => return Err(Fault::attempt("the disk is on fire")),
                "panic" => panic!("a defect of the test"),
                "hang" => wait(cancelled),
                _ => {}
            }
        } else if does == "fail" || does == "die" {
            wait(cancelled);
        }
        if self.part.node == 0 {
            let time = match does {
                "nan" => f64::NAN,
                "count" => self.present.load(Ordering::SeqCst) as f64,
                _ => self.part.params.float("time", 1.0)?,
            };
            out.take(Reading::value("run_time", time, Origin::Measured), 1)?;
        }
        let mut fidelity = Fidelity::default();
        if does == "unfaithful" {
            fidelity.reasons.push("a neighbour stole the core".into());
        }
        Ok(Some(fidelity))
    }
}

/// Background work: it counts as present from when it is steady until it is cancelled, and then reports
/// `background_cpu`. It may also `fail`, `leave` early, be `never steady`, or `ignore once` its cancellation.
pub struct Neighbour {
    pub present: Count,
    pub has_ignored: Arc<AtomicBool>,
}

impl Workload for Neighbour {
    fn name(&self) -> &'static str {
        "neighbour"
    }
    fn title(&self) -> &'static str {
        "runs until it is stopped"
    }
    fn parameters(&self) -> Parameters {
        Parameters(&[const { &[Parameter::new("does", "", "")] }])
    }
    fn needs(&self, _: &Params) -> Vec<Need> {
        Vec::new()
    }
    fn deploy(&self, _: &Params) -> Result<Deployment, Fault> {
        let metrics = vec![Metric::new("background_cpu", "s", Better::Higher)];
        Ok(Deployment { nodes: 1, timing: Timing::Real, metrics, effort: Effort::waiting(0.001) })
    }
    fn runs_until_stopped(&self) -> bool {
        true
    }
    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        assert_eq!((part.nodes, part.addresses.len()), (1, 1), "its own nodes only");
        Ok(Box::new(ReadyNeighbour {
            present: Arc::clone(&self.present),
            has_ignored: Arc::clone(&self.has_ignored),
            does: part.params.text("does", "well")?.into(),
        }))
    }
}

struct ReadyNeighbour {
    present: Count,
    has_ignored: Arc<AtomicBool>,
    does: String,
}

impl Prepared for ReadyNeighbour {
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }
    fn run(
        self: Box<Self>,
        _: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault> {
        std::thread::sleep(Duration::from_millis(20));
        match self.does.as_str() {
            "leave" => return Ok(None),
            "ignore once" if !self.has_ignored.swap(true, Ordering::SeqCst) => {
                std::thread::sleep(Duration::from_secs(8));
                return Ok(None);
            }
            "never steady" => {
                wait(cancelled);
                return Ok(None);
            }
            _ => {}
        }
        self.present.fetch_add(1, Ordering::SeqCst);
        out.steady()?;
        if self.does == "fail" {
            return Err(Fault::attempt("it was not welcome"));
        }
        wait(cancelled);
        self.present.fetch_sub(1, Ordering::SeqCst);
        out.take(Reading::value("background_cpu", 7.0, Origin::Measured), 1)?;
        Ok(None)
    }
}

/// A condition that logs the number of present neighbours when it is applied, begins, ends and is undone.
/// With the value `fails` it does not hold.
pub struct LoggedCondition {
    pub present: Count,
    pub log: Log,
}

/// What conditions logged, in order.
pub type Log = Arc<Mutex<Vec<String>>>;

struct AppliedLoggedCondition {
    present: Count,
    log: Log,
    fails: bool,
}

fn add(log: &Log, what: &str, present: &Count) {
    let present = present.load(Ordering::SeqCst);
    log.lock().expect("not poisoned").push(format!("{what} with {present}"));
}

impl Condition for LoggedCondition {
    fn name(&self) -> &'static str {
        "logged"
    }
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
    fn check(&self, value: &Value, background: bool) -> Result<(), Fault> {
        match value.to_string().as_str() {
            "holds" | "fails" if background => Ok(()),
            other => Err(Fault::usage(format!("expected `holds` or `fails`, found `{other}`"))),
        }
    }
    fn apply(
        &self,
        value: &Value,
        background: &dyn Fn() -> Result<Vec<u32>, Fault>,
    ) -> Result<Box<dyn AppliedCondition>, Fault> {
        assert_eq!(background(), Ok(vec![std::process::id()]), "the neighbour's agent");
        add(&self.log, "applied", &self.present);
        let (present, log) = (Arc::clone(&self.present), Arc::clone(&self.log));
        Ok(Box::new(AppliedLoggedCondition { present, log, fails: *value == "fails".into() }))
    }
}

impl AppliedCondition for AppliedLoggedCondition {
    fn begin(&mut self) -> Result<(), Fault> {
        add(&self.log, "begun", &self.present);
        Ok(())
    }
    fn end(&mut self) -> Result<(), Fault> {
        add(&self.log, "ended", &self.present);
        if self.fails { Err(Fault::attempt("the condition did not hold")) } else { Ok(()) }
    }
}

impl Drop for AppliedLoggedCondition {
    fn drop(&mut self) {
        add(&self.log, "undone", &self.present);
    }
}

/// An observer that reports the number one on each of its nodes.
pub struct Constant {
    pub name: &'static str,
    pub scope: Scope,
}

impl Observer for Constant {
    fn name(&self) -> &'static str {
        self.name
    }
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
    fn scope(&self) -> Scope {
        self.scope
    }
    fn metrics(&self) -> Vec<Metric> {
        vec![Metric::new(self.name, "times", Better::Neither)]
    }
    fn attach(&self) -> Result<Box<dyn AttachedObserver>, Fault> {
        Ok(Box::new(AttachedConstant(self.name)))
    }
}

struct AttachedConstant(&'static str);

impl AttachedObserver for AttachedConstant {
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault> {
        out.take(Reading::value(self.0, 1.0, Origin::Measured), 1)
    }
}

/// Waits until cancelled, at most 10 s.
fn wait(cancelled: &AtomicBool) {
    for _ in 0..2000 {
        if cancelled.load(Ordering::SeqCst) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A clock that every reading advances by a second.
pub struct TickingClock(Cell<f64>);

impl Clock for TickingClock {
    fn now(&self) -> f64 {
        self.0.set(self.0.get() + 1.0);
        self.0.get()
    }
}

/// A study of mocks, with its run's directory.
pub struct TestRun {
    pub root: tempfile::TempDir,
    pub study: Study,
    pub plan: Plan,
    pub begun: Count,
    pub log: Log,
    pub events: Mutex<Vec<Event>>,
    /// How many nodes share a host [default: all].
    pub nodes_a_host: usize,
}

impl TestRun {
    pub fn new(toml: &str) -> Self {
        let study = crosstalk_study::parse(toml, "test.toml").expect("the study parses");
        let registry = registry(&Count::default(), &Log::default(), 0, &Arc::default());
        let study = crosstalk_study::resolve(&study, &registry, &PlanOptions::default()).expect("resolves");
        let plan = crosstalk_study::plan(&study, &Catalogues::new(), &registry, &PlanOptions::default())
            .expect("the study plans");
        TestRun {
            root: tempfile::tempdir().expect("a directory"),
            study,
            plan,
            begun: Count::default(),
            log: Log::default(),
            events: Mutex::default(),
            nodes_a_host: usize::MAX,
        }
    }

    pub fn dir(&self) -> &Path {
        self.root.path()
    }

    /// Runs or resumes the study; interrupts at the given attempt (0: never).
    pub fn run(&self, interrupt_at: usize) -> Result<Ending, Fault> {
        let mut events: Vec<Event> = Vec::new();
        let ending = self.run_watched(interrupt_at, &mut events);
        self.events.lock().expect("not poisoned").extend(events);
        ending
    }

    /// The same, with its events sent to `progress`.
    pub fn run_watched(&self, interrupt_at: usize, progress: &mut dyn Progress) -> Result<Ending, Fault> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let parts = Arc::new(registry(&self.begun, &self.log, interrupt_at, &interrupted));
        let agents_parts = Arc::clone(&parts);
        let scratch = self.dir().join("scratch");
        let testbed = MockTestbed::new(move |_, stream| {
            // A test ends a node by closing its stream.
            let folder = || Ok(scratch.clone());
            let node = NodeContext { registry: &agents_parts, facts: &Provenance::default, folder: &folder };
            let _ = serve_runner(&node, stream.reader, stream.writer);
        })
        .on_hosts_of(self.nodes_a_host);
        let path = self.dir().join("run");
        let dir =
            if path.join("journal.ndjson").exists() { RunDir::open(&path) } else { RunDir::create(&path) }
                .expect("a run's directory");
        let before = dir.journal_path().exists().then(|| dir.reopen_journal().expect("reads"));
        let catalogues = Catalogues::new();
        let lab = RunInputs {
            registry: &parts,
            catalogues: &catalogues,
            study: &self.study,
            plan: &self.plan,
            testbed: &testbed,
            dir: &dir,
            clock: &TickingClock(Cell::new(0.0)),
            deadline: Some(Duration::from_millis(1500)),
            pace: 1.0,
            command: "crosstalk run test".into(),
            interrupted: &interrupted,
        };
        crosstalk_lab::run(&lab, before, progress)
    }

    pub fn journal(&self) -> Vec<crosstalk_core::record::Line> {
        let text = std::fs::read(self.dir().join("run/journal.ndjson")).expect("reads");
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        crosstalk_study::journal::lines(&text[..whole]).collect::<Result<_, _>>().expect("whole lines")
    }
}

fn registry(begun: &Count, log: &Log, interrupt_at: usize, interrupted: &Arc<AtomicBool>) -> Registry {
    let present = Count::default();
    let neighbour = Neighbour { present: Arc::clone(&present), has_ignored: Arc::default() };
    let logged = LoggedCondition { present: Arc::clone(&present), log: Arc::clone(log) };
    let scripted = ScriptedWorkload {
        present,
        begun: Arc::clone(begun),
        interrupt_at,
        interrupted: Arc::clone(interrupted),
    };
    Registry {
        workloads: vec![Box::new(scripted), Box::new(neighbour)],
        conditions: vec![Box::new(logged)],
        observers: vec![
            Box::new(Constant { name: "host", scope: Scope::Host }),
            Box::new(Constant { name: "node", scope: Scope::Node }),
            Box::new(Constant { name: "background", scope: Scope::Background }),
        ],
    }
}
