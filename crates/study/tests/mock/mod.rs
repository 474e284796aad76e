//! A registry of mocks: workloads, conditions and observers that deploy and do
//! nothing else. What runs is no matter here, only what is planned.
#![allow(dead_code, reason = "each test program uses a part of it")]

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::{
    AppliedCondition, AttachedObserver, Condition, Deployment, Effort, Observer, Prepared, Timing, Workload,
};
use crosstalk_core::value::{Params, Value};
use crosstalk_study::Catalogues;

/// Parameters of which nothing is known but the names.
macro_rules! named {
    ($($name:literal),*) => {
        Parameters(&[&[$(Parameter::new($name, "", "")),*]])
    };
}

/// A workload that needs what no host has.
pub const ABSENT: &str = "absent";

/// A workload that takes any of its parameters and reports its metrics.
pub struct Mock {
    pub name: &'static str,
    pub timing: Timing,
    pub parameters: Parameters,
    /// Nodes in addition to those of the parameters `slaves` and `nodes`.
    pub nodes: usize,
    pub metrics: &'static [(&'static str, &'static str, Better)],
}

impl Workload for Mock {
    fn name(&self) -> &'static str {
        self.name
    }
    fn title(&self) -> &'static str {
        "a mock"
    }
    fn parameters(&self) -> Parameters {
        self.parameters
    }
    fn needs(&self, _: &Params) -> Vec<Need> {
        match self.name {
            ABSENT => vec![Need::missing("boinc-client", "nothing is donated", "apt install boinc-client")],
            _ => vec![Need::found("nothing", "a mock")],
        }
    }
    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        if params.get("size").is_some() {
            params.size("size", crosstalk_core::units::Bytes(1))?;
        }
        let more = params.count("slaves", 0, 0)? + params.count("nodes", 0, 0)?;
        let metrics = self.metrics.iter().map(|(name, unit, better)| Metric::new(name, unit, *better));
        let timing = match params.text("engine", "native")? {
            "native" => self.timing,
            own if own.contains("://") => Outside,
            _ => Real,
        };
        Ok(Deployment {
            nodes: self.nodes + more as usize,
            timing,
            metrics: metrics.collect(),
            effort: Effort::computing(2.0),
        })
    }
    /// As on a machine of two processors.
    fn same(&self, one: &Params, other: &Params) -> bool {
        let counted = |params: &Params| {
            let half = |value: &Value| if *value == "quarter".into() { "half".into() } else { value.clone() };
            params.0.iter().map(|(name, value)| (name.clone(), half(value))).collect::<Vec<_>>()
        };
        counted(one) == counted(other)
    }
    /// A stream's messages cost what the cluster says.
    fn is_computed(&self, _: &Params) -> bool {
        self.name == "stream"
    }
    fn runs_until_stopped(&self) -> bool {
        ["boinc", ABSENT].contains(&self.name)
    }
    fn prepare(&self, _: &Part) -> Result<Box<dyn Prepared>, Fault> {
        Err(Fault::attempt("a mock does not run"))
    }
}

struct Named(&'static str, &'static [(&'static str, &'static str, Better)]);

impl Condition for Named {
    fn name(&self) -> &'static str {
        self.0
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
        Err(Fault::attempt("a mock does not apply"))
    }
}

impl Observer for Named {
    fn name(&self) -> &'static str {
        self.0
    }
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
    fn metrics(&self) -> Vec<Metric> {
        self.1.iter().map(|(name, unit, better)| Metric::new(name, unit, *better)).collect()
    }
    fn attach(&self) -> Result<Box<dyn AttachedObserver>, Fault> {
        Err(Fault::attempt("a mock does not watch"))
    }
}

use Better::{Higher, Lower, Neither};
use Timing::{Either, Outside, Real, Virtual};

/// What every application on a master and slaves reports.
const APPLICATION: &[(&str, &str, Better)] = &[
    ("completion_time", "s", Lower),
    ("time_compute", "s", Neither),
    ("time_wait", "s", Neither),
    ("time_serialise", "s", Neither),
];

const MOCKS: [Mock; 23] = [
    Mock {
        name: "stream",
        timing: Virtual,
        parameters: named!["size"],
        nodes: 2,
        metrics: &[("bandwidth", "bit/s", Higher)],
    },
    Mock {
        name: "pagerank",
        timing: Either,
        parameters: named!["slaves", "scale", "iterations", "clock", "seed", "engine", "record"],
        nodes: 1,
        metrics: APPLICATION,
    },
    Mock {
        name: "als",
        timing: Either,
        parameters: named!["slaves", "scale", "ratings", "data", "seed", "engine"],
        nodes: 1,
        metrics: APPLICATION,
    },
    Mock {
        name: "bayes",
        timing: Either,
        parameters: named!["slaves", "documents", "corpus", "seed", "engine"],
        nodes: 1,
        metrics: APPLICATION,
    },
    Mock {
        name: "command",
        timing: Real,
        parameters: named!["argv", "nodes", "env"],
        nodes: 0,
        metrics: &[
            ("run_time", "s", Lower),
            ("time_compute", "s", Lower),
            ("time_wait", "s", Lower),
            ("time_queue", "s", Neither),
            ("parallel_cpu_time", "s", Neither),
        ],
    },
    Mock {
        name: "path",
        timing: Real,
        parameters: named!["interconnect", "size", "utilisation"],
        nodes: 1,
        metrics: &[
            ("end_to_end", "s", Lower),
            ("end_to_end_most", "s", Lower),
            ("unexplained", "%", Lower),
            ("part", "s", Neither),
        ],
    },
    Mock {
        name: "pcie",
        timing: Real,
        parameters: named!["device", "duration"],
        nodes: 1,
        metrics: &[("access_time", "s", Lower), ("call_time", "s", Lower)],
    },
    Mock {
        name: "memory",
        timing: Real,
        parameters: named!["size", "duration"],
        nodes: 1,
        metrics: &[("load_time", "s", Lower)],
    },
    Mock {
        name: "cores",
        timing: Real,
        parameters: named!["cpus"],
        nodes: 1,
        metrics: &[("hand_over", "s", Lower)],
    },
    Mock {
        name: "kernel",
        timing: Real,
        parameters: named!["duration"],
        nodes: 1,
        metrics: &[
            ("system_call", "s", Lower),
            ("timer", "s", Lower),
            ("wake_up", "s", Lower),
            ("scheduling", "s", Lower),
        ],
    },
    Mock {
        name: "wire",
        timing: Real,
        parameters: named!["transport", "mode", "ends", "size", "measure", "memory", "stages", "duration"],
        nodes: 1,
        metrics: &[("one_way", "s", Lower), ("stage_time", "s", Neither), ("lost", "ratio", Lower)],
    },
    Mock {
        name: "latency",
        timing: Real,
        parameters: named!["transport", "mode", "size", "pin", "duration", "stages"],
        nodes: 2,
        metrics: &[
            ("round_trip", "s", Lower),
            ("one_way", "s", Lower),
            ("stage_time", "s", Neither),
            ("matched", "%", Neither),
            ("unexplained", "%", Lower),
        ],
    },
    Mock {
        name: "load",
        timing: Real,
        parameters: named!["transport", "mode", "rate", "pin", "duration"],
        nodes: 2,
        metrics: &[("latency", "s", Lower)],
    },
    Mock {
        name: "users",
        timing: Real,
        parameters: named!["users", "mix", "groups"],
        nodes: 1,
        metrics: &[("jobs_per_minute", "jobs/min", Higher)],
    },
    Mock {
        name: "collective",
        timing: Either,
        parameters: named!["function", "size", "nodes"],
        nodes: 0,
        metrics: &[("time", "s", Lower)],
    },
    Mock {
        name: "mpi-function",
        timing: Real,
        parameters: named!["function", "size", "nodes"],
        nodes: 0,
        metrics: &[("call_time", "s", Lower)],
    },
    Mock {
        name: "hpl",
        timing: Real,
        parameters: named!["n", "block", "nodes"],
        nodes: 0,
        metrics: &[("flops", "flop/s", Higher)],
    },
    Mock {
        name: "npb",
        timing: Real,
        parameters: named!["kernel", "class", "nodes"],
        nodes: 0,
        metrics: &[("run_time", "s", Lower), ("time_communicating", "s", Neither)],
    },
    Mock {
        name: "files",
        timing: Real,
        parameters: named!["operation", "nodes"],
        nodes: 0,
        metrics: &[("operation_time", "s", Lower)],
    },
    Mock {
        name: "primes",
        timing: Real,
        parameters: named!["threads", "limit"],
        nodes: 1,
        metrics: &[("run_time", "s", Lower)],
    },
    Mock {
        name: "oltp",
        timing: Real,
        parameters: named!["threads", "duration"],
        nodes: 1,
        metrics: &[("requests", "requests", Higher)],
    },
    Mock {
        name: "boinc",
        timing: Real,
        parameters: named!["ncpus"],
        nodes: 1,
        metrics: &[("donated_time", "s", Higher)],
    },
    Mock {
        name: ABSENT,
        timing: Real,
        parameters: named!["ncpus"],
        nodes: 1,
        metrics: &[("donated_time", "s", Higher)],
    },
];

/// Everything that the fixtures name.
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    for mock in MOCKS {
        registry.workloads.push(Box::new(mock));
    }
    for condition in ["groups", "protect"] {
        registry.conditions.push(Box::new(Named(condition, &[])));
    }
    registry.observers.push(Box::new(Named("stages", &[("unexplained", "ratio", Neither)])));
    registry.observers.push(Box::new(Named("pressure", &[("memory_pressure", "ratio", Lower)])));
    registry.observers.push(Box::new(Named("faults", &[("major_faults", "faults", Lower)])));
    registry
}

/// The bundled catalogues, and two fabrics that only the fixtures know.
pub fn catalogues() -> Catalogues {
    let mut catalogues = Catalogues::bundled();
    for (name, rate) in [("infiniband-4x-sdr", "8 Gbit/s"), ("myrinet-2000", "2 Gbit/s")] {
        let text = format!(
            "title = \"{name}\"\nrate = \"{rate}\"\nsource = {{}}\n\
             costs = {{ L = \"5 µs\", o = \"1 µs\", g = \"1 µs\", G = \"1 ns\" }}"
        );
        catalogues.add_fabric(name, &text, name).expect("reads");
    }
    catalogues
}
