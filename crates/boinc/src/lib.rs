//! BOINC for real: external work as volunteers do it.
//!
//! | file | holds |
//! |---|---|
//! | `collatz` | the work: real, and checkable |
//! | `app` | what a client runs to do it |
//! | `client` | the conversation with a client, by its own interface |
//! | `project` | the server that gives it out and takes it back |
//! | `host` | a real client in a directory of its own |
//! | `known` | a project that it knows when it starts |
//! | `part` | the workload |
//!
//! The workload starts a project and a client that knows of nothing else, is steady once
//! as many tasks compute as the client takes itself to have processors, and lets them run
//! until it is told to stop. Without any processors nothing is started.
//! Neither leaves this machine: the project listens on loopback, and the client is told
//! to look nothing up. Both end with the attempt, and their directory with them.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `donated` | cores | processor seconds that tasks used, a second, from when it was steady |
//! | `tasks_running` | tasks | running at a time, on average |
//! | `tasks_finished` | tasks | whose answer the project has taken in that time |
//! | `tasks_failed` | tasks | reported without one in that time |
//! | `start_time` | s | from the client's start until all its tasks computed; not told where nothing is started |
//!
//! `donated` is counted by the kernel: a client hears of its tasks' processor time a second
//! late.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod app;
pub mod client;
pub mod collatz;
mod host;
mod known;
mod part;
pub mod project;

use crate::client::Preferences;
use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Effort, Timing};
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, parameter};

pub use host::{Host, Setup, find};

use crosstalk_core::scene::Workload;

use self::project::Settings;
use crosstalk_work::Declared;
use crosstalk_work::{Lasting, threads};

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(BOINC)]
}

/// Tasks at a time, at most.
const MOST: usize = 1000;

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "ncpus",
        "as many as there are",
        "processors that the client takes itself to have: tasks at a time; 0: no external work; or: quarter, half, all, twice, four times",
    ),
    Parameter::new(
        "settings",
        "none",
        "of the client, that leave it a share of the machine: none, time N%, processors N%",
    ),
    Parameter::new(
        "task",
        "300 s",
        "of one core, that each task takes; the client sees one end a second at most",
    ),
    Parameter::new("steady", "120 s", "within which all tasks must compute"),
]]);

/// The workload.
pub const BOINC: Lasting<Spec> = Lasting(Declared {
    name: "boinc",
    title: "External work: a BOINC client, attached to a project on this machine",
    parameters: PARAMETERS,
    read: Spec::new,
    deploy: |spec| {
        let metrics = vec![
            Metric::new("donated", "cores", Better::Higher),
            Metric::new("tasks_running", "tasks", Better::Neither),
            Metric::new("tasks_finished", "tasks", Better::Neither),
            Metric::new("tasks_failed", "tasks", Better::Neither),
            Metric::new("start_time", "s", Better::Neither),
        ];
        // The project's start and `start_time`, measured: with one task as with a hundred.
        let effort = Effort::waiting(if spec.ncpus == 0 { 0.0 } else { 7.0 });
        Deployment { nodes: 1, timing: Timing::Real, metrics, effort }
    },
    needs: |spec| if spec.ncpus == 0 { Vec::new() } else { vec![host::need()] },
    prepare: part::prepare,
});

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    ncpus: u32,
    share: Preferences,
    task: Seconds,
    steady: Seconds,
}

impl Spec {
    fn new(params: &Params) -> Result<Self, Fault> {
        params.only(PARAMETERS)?;
        let all = Params::default().with("ncpus", "all");
        let told = if params.get("ncpus").is_some() { params } else { &all };
        let ncpus = threads(told, "ncpus", 0)?;
        if ncpus > MOST {
            return Err(parameter("ncpus", format!("expected at most {MOST}, found {ncpus}")));
        }
        let spec = Spec {
            ncpus: ncpus as u32,
            share: params
                .text("settings", "none")?
                .parse()
                .map_err(|fault: Fault| fault.of_parameter("settings"))?,
            task: params.seconds("task", Seconds(300.0))?,
            steady: params.seconds("steady", Seconds(120.0))?,
        };
        for (name, value) in [("task", spec.task), ("steady", spec.steady)] {
            if !(0.1..=86_400.0).contains(&value.0) {
                return Err(parameter(name, format!("expected from 100 ms to 24 h, found {} s", value.0)));
            }
        }
        // What the project would refuse.
        let settings = Settings { task: spec.task.0, ..Settings::default() };
        settings.check().map_err(|fault| parameter("task", fault.message))?;
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;
    use crosstalk_core::value::Value;

    #[test]
    fn parameters_are_read_and_checked() {
        let params = Params::default().with("ncpus", 50).with("task", "5 s");
        assert_eq!(Spec::new(&params).map(|spec| (spec.ncpus, spec.task)), Ok((50, Seconds(5.0))));
        assert_eq!(BOINC.deploy(&params).expect("is fine").metrics[0].name, "donated");
        let share = |settings: &str| Spec::new(&params.clone().with("settings", settings));
        assert_eq!(share("time 50%").map(|spec| spec.share.time), Ok(0.5));
        assert!(Spec::new(&Params::default().with("ncpus", "twice")).is_ok_and(|spec| spec.ncpus >= 2));
        let cases: [(&str, Value); 6] = [
            ("settings", "half".into()),
            ("task", "2 h".into()),
            ("ncpus", 2000.into()),
            ("task", "0 s".into()),
            ("duration", "5 s".into()),
            ("cpus", 1.into()),
        ];
        for (name, value) in cases {
            let fault = Spec::new(&Params::default().with(name, value)).expect_err("refused");
            assert!(fault.to_string().contains(name), "{fault}");
        }
    }

    #[test]
    fn no_external_work_needs_no_client() {
        let none = Params::default().with("ncpus", 0);
        assert!(BOINC.needs(&none).is_empty());
        assert_eq!(BOINC.deploy(&none).expect("is fine").effort, Effort::default());
        assert_eq!(BOINC.needs(&Params::default().with("ncpus", 1)).len(), 1);
        assert!(BOINC.lasts());
    }
}
