//! A laboratory of mocks: nodes are threads, the workload does what its
//! parameters say, time is what the test says.

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
    Condition, Deployment, Effort, Holding, Observer, Prepared, Scope, Sink, Timing, Watch, Workload,
};
use crosstalk_core::value::{Params, Value};
use crosstalk_lab::agent::{Node, serve};
use crosstalk_lab::clock::Clock;
use crosstalk_lab::progress::{Event, Progress};
use crosstalk_lab::rundir::RunDir;
use crosstalk_lab::{Ending, Lab};
use crosstalk_study::PlanOptions;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::file::Study;
use crosstalk_study::plan::Plan;
use crosstalk_testbed::Mock;

/// Attempts begun on any node, over the whole test.
pub type Count = Arc<AtomicUsize>;

/// Takes `time` (the value it reports) and misbehaves as `does` says: `well`,
/// `fail`, `panic`, `hang`, `die`, `nan`, `doubtful`, or `interrupt` at the
/// given count of attempts; `look`: reports how many neighbours are there.
pub struct Actor {
    pub present: Count,
    pub begun: Count,
    pub interrupt_at: usize,
    pub interrupted: Arc<AtomicBool>,
}

struct Ready {
    present: Count,
    part: Part,
    begun: usize,
    interrupt_at: usize,
    interrupted: Arc<AtomicBool>,
}

impl Workload for Actor {
    fn name(&self) -> &'static str {
        "actor"
    }
    fn title(&self) -> &'static str {
        "plays what it is told"
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
        params.only(self.parameters())?;
        let nodes = params.count("nodes", 2, 1)? as usize;
        let metrics = vec![Metric::new("run_time", "s", Better::Lower)];
        Ok(Deployment { nodes, timing: Timing::Real, metrics, effort: Effort::waiting(0.001) })
    }
    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        if part.params.text("does", "well")? == "refuse" {
            return Err(Fault::attempt("refused to get ready"));
        }
        let begun = if part.node == 0 { self.begun.fetch_add(1, Ordering::SeqCst) + 1 } else { 0 };
        Ok(Box::new(Ready {
            present: Arc::clone(&self.present),
            part: part.clone(),
            begun,
            interrupt_at: self.interrupt_at,
            interrupted: Arc::clone(&self.interrupted),
        }))
    }
}

impl Prepared for Ready {
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
                "look" => self.present.load(Ordering::SeqCst) as f64,
                _ => self.part.params.float("time", 1.0)?,
            };
            out.take(Reading::value("run_time", time, Origin::Measured), 1)?;
        }
        let mut fidelity = Fidelity::default();
        if does == "doubtful" {
            fidelity.reasons.push("a neighbour stole the core".into());
        }
        Ok(Some(fidelity))
    }
}

/// Work that lasts: it is there once it is steady, until it is cancelled, and tells then what it
/// has `donated`. It may as well `fail`, `leave` early, be `restless` (never steady), or, the first time,
/// `deaf` to being cancelled.
pub struct Neighbour {
    pub present: Count,
    pub deaf: Arc<AtomicBool>,
}

impl Workload for Neighbour {
    fn name(&self) -> &'static str {
        "neighbour"
    }
    fn title(&self) -> &'static str {
        "is there"
    }
    fn parameters(&self) -> Parameters {
        Parameters(&[const { &[Parameter::new("does", "", "")] }])
    }
    fn needs(&self, _: &Params) -> Vec<Need> {
        Vec::new()
    }
    fn deploy(&self, _: &Params) -> Result<Deployment, Fault> {
        let metrics = vec![Metric::new("donated", "s", Better::Higher)];
        Ok(Deployment { nodes: 1, timing: Timing::Real, metrics, effort: Effort::waiting(0.001) })
    }
    fn lasts(&self) -> bool {
        true
    }
    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        assert_eq!((part.nodes, part.addresses.len()), (1, 1), "its own nodes only");
        Ok(Box::new(Beside {
            present: Arc::clone(&self.present),
            deaf: Arc::clone(&self.deaf),
            does: part.params.text("does", "well")?.into(),
        }))
    }
}

struct Beside {
    present: Count,
    deaf: Arc<AtomicBool>,
    does: String,
}

impl Prepared for Beside {
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
            "deaf once" if !self.deaf.swap(true, Ordering::SeqCst) => {
                std::thread::sleep(Duration::from_secs(8));
                return Ok(None);
            }
            "restless" => {
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
        out.take(Reading::value("donated", 7.0, Origin::Measured), 1)?;
        Ok(None)
    }
}

/// A condition that tells how many neighbours are there when it is put on and taken off, and which
/// processes it was given; with the value `slips` it does not hold.
pub struct Watched {
    pub present: Count,
    pub told: Told,
}

/// What conditions told, in order.
pub type Told = Arc<Mutex<Vec<String>>>;

struct On {
    present: Count,
    told: Told,
    slips: bool,
}

fn tell(told: &Told, what: &str, present: &Count) {
    let there = present.load(Ordering::SeqCst);
    told.lock().expect("not poisoned").push(format!("{what} beside {there}"));
}

impl Condition for Watched {
    fn name(&self) -> &'static str {
        "watched"
    }
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
    fn check(&self, value: &Value, lasting: bool) -> Result<(), Fault> {
        match value.to_string().as_str() {
            "holds" | "slips" if lasting => Ok(()),
            other => Err(Fault::usage(format!("expected `holds` or `slips`, found `{other}`"))),
        }
    }
    fn apply(
        &self,
        value: &Value,
        background: &dyn Fn() -> Result<Vec<u32>, Fault>,
    ) -> Result<Box<dyn Holding>, Fault> {
        assert_eq!(background(), Ok(vec![std::process::id()]), "the neighbour's agent");
        tell(&self.told, "on", &self.present);
        let (present, told) = (Arc::clone(&self.present), Arc::clone(&self.told));
        Ok(Box::new(On { present, told, slips: *value == "slips".into() }))
    }
}

impl Holding for On {
    fn begin(&mut self) -> Result<(), Fault> {
        tell(&self.told, "begun", &self.present);
        Ok(())
    }
    fn end(&mut self) -> Result<(), Fault> {
        tell(&self.told, "ended", &self.present);
        if self.slips { Err(Fault::attempt("the condition has slipped")) } else { Ok(()) }
    }
}

impl Drop for On {
    fn drop(&mut self) {
        tell(&self.told, "off", &self.present);
    }
}

/// An observer that reports one number where it watches.
pub struct Onlooker {
    pub name: &'static str,
    pub scope: Scope,
}

impl Observer for Onlooker {
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
    fn attach(&self) -> Result<Box<dyn Watch>, Fault> {
        Ok(Box::new(Looking(self.name)))
    }
}

struct Looking(&'static str);

impl Watch for Looking {
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault> {
        out.take(Reading::value(self.0, 1.0, Origin::Measured), 1)
    }
}

/// Until cancelled, but never for ever.
fn wait(cancelled: &AtomicBool) {
    for _ in 0..2000 {
        if cancelled.load(Ordering::SeqCst) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every look advances it by a second.
pub struct Ticking(Cell<f64>);

impl Clock for Ticking {
    fn now(&self) -> f64 {
        self.0.set(self.0.get() + 1.0);
        self.0.get()
    }
}

/// A study of actors with their run's directory.
pub struct Stage {
    pub root: tempfile::TempDir,
    pub study: Study,
    pub plan: Plan,
    pub begun: Count,
    pub told: Told,
    pub events: Mutex<Vec<Event>>,
    /// How many nodes share a host; all where not set.
    pub share: usize,
}

impl Stage {
    pub fn new(toml: &str) -> Self {
        let study = crosstalk_study::parse(toml, "test.toml").expect("the study parses");
        let registry = registry(&Count::default(), &Told::default(), 0, &Arc::default());
        let study = crosstalk_study::resolve(&study, &registry, &PlanOptions::default()).expect("resolves");
        let plan = crosstalk_study::plan(&study, &Catalogues::new(), &registry, &PlanOptions::default())
            .expect("the study plans");
        Stage {
            root: tempfile::tempdir().expect("a directory"),
            study,
            plan,
            begun: Count::default(),
            told: Told::default(),
            events: Mutex::default(),
            share: usize::MAX,
        }
    }

    pub fn dir(&self) -> &Path {
        self.root.path()
    }

    /// Runs, or goes on with, the study; interrupts at the given attempt (0: never).
    pub fn run(&self, interrupt_at: usize) -> Result<Ending, Fault> {
        let mut events: Vec<Event> = Vec::new();
        let ending = self.run_watched(interrupt_at, &mut events);
        self.events.lock().expect("not poisoned").extend(events);
        ending
    }

    /// The same, watched by `progress`.
    pub fn run_watched(&self, interrupt_at: usize, progress: &mut dyn Progress) -> Result<Ending, Fault> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let parts = Arc::new(registry(&self.begun, &self.told, interrupt_at, &interrupted));
        let theirs = Arc::clone(&parts);
        let scratch = self.dir().join("scratch");
        let testbed = Mock::new(move |_, duplex| {
            // A stream that was cut is how a test ends a node.
            let folder = || Ok(scratch.clone());
            let node = Node { registry: &theirs, facts: &Provenance::default, folder: &folder };
            let _ = serve(&node, duplex.reader, duplex.writer);
        })
        .on_hosts_of(self.share);
        let path = self.dir().join("run");
        let dir =
            if path.join("journal.ndjson").exists() { RunDir::open(&path) } else { RunDir::create(&path) }
                .expect("a run's directory");
        let before = dir.journal().exists().then(|| dir.reopen().expect("reads"));
        let catalogues = Catalogues::new();
        let lab = Lab {
            registry: &parts,
            catalogues: &catalogues,
            study: &self.study,
            plan: &self.plan,
            testbed: &testbed,
            dir: &dir,
            clock: &Ticking(Cell::new(0.0)),
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

fn registry(begun: &Count, told: &Told, interrupt_at: usize, interrupted: &Arc<AtomicBool>) -> Registry {
    let present = Count::default();
    let neighbour = Neighbour { present: Arc::clone(&present), deaf: Arc::default() };
    let watched = Watched { present: Arc::clone(&present), told: Arc::clone(told) };
    let actor =
        Actor { present, begun: Arc::clone(begun), interrupt_at, interrupted: Arc::clone(interrupted) };
    Registry {
        workloads: vec![Box::new(actor), Box::new(neighbour)],
        conditions: vec![Box::new(watched)],
        observers: vec![
            Box::new(Onlooker { name: "host", scope: Scope::Host }),
            Box::new(Onlooker { name: "node", scope: Scope::Node }),
            Box::new(Onlooker { name: "background", scope: Scope::Background }),
        ],
    }
}
