//! What the workload runs, read from its parameters.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::Seconds;
use crosstalk_core::value::{Params, parameter_fault};
use crosstalk_work::threads;

use crate::preferences::Preferences;
use crate::project::Settings;

/// The most tasks at a time.
const MOST: usize = 1000;

/// The parameters of the workload `boinc`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "ncpus",
        "all",
        "processors that the client is set to have, and so tasks at a time; 0: no background work; or: quarter, half, all, twice, four times",
    ),
    Parameter::new("settings", "none", "the client's own limit: none, time N%, processors N%"),
    Parameter::new(
        "task",
        "300 s",
        "CPU time of each task on one core; the client notices one end a second at most",
    ),
    Parameter::new("steady", "120 s", "time within which all tasks must compute"),
]]);

/// What the workload `boinc` runs: how many tasks, how long, and under which limits of the
/// client.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Processors that the client is set to have; 0: no client.
    pub ncpus: u32,
    /// The client's share of the machine.
    pub share: Preferences,
    /// CPU time of a task on one core.
    pub task: Seconds,
    /// Time within which all tasks must compute.
    pub steady: Seconds,
}

impl Spec {
    /// Reads and checks the parameters.
    ///
    /// # Errors
    /// Names the parameter that is wrong.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let all = Params::default().with("ncpus", "all");
        let given = if params.get("ncpus").is_some() { params } else { &all };
        let ncpus = threads(given, "ncpus", 0)?;
        if ncpus > MOST {
            return Err(parameter_fault("ncpus", format!("expected at most {MOST}, found {ncpus}")));
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
                return Err(parameter_fault(
                    name,
                    format!("expected from 100 ms to 24 h, found {} s", value.0),
                ));
            }
        }
        // The project refuses the same tasks.
        let settings = Settings { task: spec.task.0, ..Settings::default() };
        settings.check().map_err(|fault| parameter_fault("task", fault.message))?;
        Ok(spec)
    }
}
