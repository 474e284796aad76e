//! A workload that runs until it is stopped.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameters;
use crosstalk_core::scene::{Deployment, Prepared, Workload};
use crosstalk_core::value::Params;

use crate::declared::Declared;

/// A workload that runs until it is stopped, such as background work.
pub struct Lasting<C>(pub Declared<C>);

impl<C: PartialEq> Workload for Lasting<C> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn title(&self) -> &'static str {
        self.0.title()
    }

    fn parameters(&self) -> Parameters {
        self.0.parameters()
    }

    fn needs(&self, params: &Params) -> Vec<Need> {
        self.0.needs(params)
    }

    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        self.0.deploy(params)
    }

    fn same(&self, one: &Params, other: &Params) -> bool {
        self.0.same(one, other)
    }

    fn runs_until_stopped(&self) -> bool {
        true
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        self.0.prepare(part)
    }
}
