//! The workload.

use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameters;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Timing, Workload};
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, FaultKind};

use super::argv::{PARAMETERS, parse_argv, parse_env};
use super::custom_metric::CustomMetric;
use super::metrics::metrics;
use super::part;
use crosstalk_work::program::{find_program_of, need};

/// Whether this machine has the program that the parameters name.
///
/// # Errors
/// A usage fault where it is missing or may not be executed.
pub fn check_program(params: &Params) -> Result<(), Fault> {
    find_program_of(&parse_argv(params)?).map(drop).map_err(|fault| Fault { kind: FaultKind::Usage, ..fault })
}

/// The workload `command`: the user's own program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Command;

impl Workload for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn title(&self) -> &'static str {
        "Your own program, on every node at once"
    }

    fn parameters(&self) -> Parameters {
        PARAMETERS
    }

    fn needs(&self, _: &Params) -> Vec<Need> {
        vec![need()]
    }

    /// The parameter `nodes` is the number of nodes [default: 1].
    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        parse_argv(params)?;
        parse_env(params)?;
        params.text("log", "")?;
        params.text("prepare", "")?;
        let nodes = params.count("nodes", 1, 1)? as usize;
        let custom = CustomMetric::from_params(params)?.map(|custom| custom.metric);
        let metrics = custom.into_iter().chain(metrics()).collect();
        // The first attempt shows how long the program takes.
        Ok(Deployment { nodes, timing: Timing::Real, metrics, effort: Effort::waiting(1.0) })
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        part::prepare(part)
    }
}
