//! A workload as a value: its name, and functions of its parameters.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameters;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Timing, Workload};
use crosstalk_core::value::Params;

use crate::peer::record::RECORD;
use crate::peer::replay::REPLAY;

/// Gets one node ready: reads its input, opens its sockets.
pub type Prepare<C> = fn(C, &Part) -> Result<Box<dyn Prepared>, Fault>;

/// A workload whose parameters are a `C`.
pub struct Declared<C> {
    /// Its registered name.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Its parameters.
    pub parameters: Parameters,
    /// Reads and checks the parameters.
    pub read: fn(&Params) -> Result<C, Fault>,
    /// What they deploy.
    pub deploy: fn(&C) -> Deployment,
    /// What they need of each machine.
    pub needs: fn(&C) -> Vec<Need>,
    /// Gets one node ready.
    pub prepare: Prepare<C>,
}

impl<C: PartialEq> Workload for Declared<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn parameters(&self) -> Parameters {
        self.parameters
    }

    fn needs(&self, params: &Params) -> Vec<Need> {
        // Parameters that cannot be read need nothing: `deploy` refuses them.
        (self.read)(params).map_or(Vec::new(), |config| (self.needs)(&config))
    }

    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        let mut deployment = (self.read)(params).map(|config| (self.deploy)(&config))?;
        let of_ranks = [RECORD, REPLAY];
        for flag in of_ranks.into_iter().filter(|flag| self.parameters.contains(flag.name)) {
            if params.flag(flag.name, false)? {
                deployment.timing = Timing::Virtual;
            }
        }
        if replays(params) {
            let effort = deployment.effort;
            deployment.effort =
                Effort { startup: effort.startup + effort.computing, computing: 0.0, ..effort };
        }
        Ok(deployment)
    }

    fn same(&self, one: &Params, other: &Params) -> bool {
        let read = |params| (self.read)(params).ok();
        read(one) == read(other) && replays(one) == replays(other)
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        (self.prepare)((self.read)(&part.params)?, part)
    }
}

/// Whether the work is done once, and replayed in other attempts.
fn replays(params: &Params) -> bool {
    params.flag(REPLAY.name, false).unwrap_or(false)
}
