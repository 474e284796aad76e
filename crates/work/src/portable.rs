//! A workload whose times on other clusters are known without running there: by replaying what its ranks did, or by a
//! formula.

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameters;
use crosstalk_core::record::Reading;
use crosstalk_core::scene::{Deployment, Prepared, Workload};
use crosstalk_core::value::Params;

use crate::Declared;
use crate::peer::replay::{Report, on_clusters};

/// A declared workload with what it would report on other clusters.
pub struct Portable<C> {
    /// The workload.
    pub declared: Declared<C>,
    /// Where its times on other clusters come from.
    pub elsewhere: Elsewhere<C>,
}

/// Where times on other clusters come from.
pub enum Elsewhere<C> {
    /// A replay; how it is reported, with these parameters.
    Replayed(fn(&C) -> Report),
    /// A replay as well; and whether these parameters have messages alone charged, no computing. Then all that is reported
    /// follows from the cluster.
    Charged(fn(&C) -> Report, fn(&C) -> bool),
    /// A formula of the parameters and the cluster.
    Computed(fn(&C, &Emulation) -> Vec<Reading>),
}

impl<C: PartialEq + Sync> Workload for Portable<C> {
    fn name(&self) -> &'static str {
        self.declared.name()
    }

    fn title(&self) -> &'static str {
        self.declared.title()
    }

    fn parameters(&self) -> Parameters {
        self.declared.parameters()
    }

    fn needs(&self, params: &Params) -> Vec<Need> {
        self.declared.needs(params)
    }

    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        self.declared.deploy(params)
    }

    fn same(&self, one: &Params, other: &Params) -> bool {
        self.declared.same(one, other)
    }

    fn is_computed(&self, params: &Params) -> bool {
        match self.elsewhere {
            Elsewhere::Replayed(_) => false,
            Elsewhere::Charged(_, computed) => {
                (self.declared.read)(params).is_ok_and(|config| computed(&config))
            }
            Elsewhere::Computed(_) => true,
        }
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        self.declared.prepare(part)
    }

    fn on_clusters(&self, part: &Part, clusters: &[Emulation]) -> Result<Option<Vec<Vec<Reading>>>, Fault> {
        let config = (self.declared.read)(&part.params)?;
        match self.elsewhere {
            Elsewhere::Replayed(report) | Elsewhere::Charged(report, _) => {
                on_clusters(part, clusters, || report(&config))
            }
            Elsewhere::Computed(readings) => {
                Ok(Some(clusters.iter().map(|cluster| readings(&config, cluster)).collect()))
            }
        }
    }
}
