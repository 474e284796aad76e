//! A workload as a value: what it is called, and what it does with its
//! parameters once they are read.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::scene::{Deployment, Prepared, Timing, Workload};
use crosstalk_core::value::Params;

/// Gets one node ready: reads input, binds listeners.
pub type Prepare<C> = fn(C, &Part) -> Result<Box<dyn Prepared>, Fault>;

/// A workload whose parameters are a `C`.
pub struct Declared<C> {
    /// Its registered name.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
    /// Which clock it is told by.
    pub timing: Timing,
    /// What it needs of each machine.
    pub needs: fn() -> Vec<Need>,
    /// Reads and checks the parameters.
    pub read: fn(&Params) -> Result<C, Fault>,
    /// What they ask for.
    pub deploy: fn(&C) -> Deployment,
    /// Gets one node ready.
    pub prepare: Prepare<C>,
}

impl<C> Workload for Declared<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn parameters(&self) -> &'static [&'static str] {
        self.parameters
    }

    fn timing(&self) -> Timing {
        self.timing
    }

    fn needs(&self) -> Vec<Need> {
        (self.needs)()
    }

    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        (self.read)(params).map(|config| (self.deploy)(&config))
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        (self.prepare)((self.read)(&part.params)?, part)
    }
}
