//! What the program is made of: the registry, and the testbed that suits a plan.

use std::collections::BTreeMap;

use crosstalk_core::Fault;
use crosstalk_core::registry::Registry;
use crosstalk_core::testbed::{Link, Testbed};
use crosstalk_core::value::Value;
use crosstalk_study::plan::{Place, Plan};

use crate::args::TestbedKind;

/// Every workload, condition and observer there is.
pub fn registry() -> Registry {
    Registry { workloads: crosstalk_work::workloads(), ..Registry::default() }
}

/// What factors can be discovered on this host.
pub fn discovered() -> BTreeMap<String, Vec<Value>> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as i64);
    BTreeMap::from([("cores".to_string(), (1..=cores).map(Value::Int).collect())])
}

/// The testbed asked for, or the one that suits: links to be shaped need the
/// virtual one; virtual time is content with processes.
pub fn testbed(kind: TestbedKind, plan: &Plan) -> Result<Box<dyn Testbed>, Fault> {
    let shaped = plan.cells().any(|c| matches!(c.scene.place, Place::Real { link: Link::Rate(_), .. }));
    let virtual_bed = crosstalk_testbed::Virtual::new()?;
    let refused = virtual_bed.refusal();
    match (kind, refused) {
        (TestbedKind::Local, _) if shaped => Err(Fault::usage("the local testbed cannot shape links")
            .at("--testbed local")
            .remedy("use --testbed virtual, or vary something else than the fabric")),
        (TestbedKind::Local, _) => Ok(Box::new(crosstalk_testbed::Local::new()?)),
        (TestbedKind::Virtual | TestbedKind::Auto, None) => Ok(Box::new(virtual_bed)),
        (TestbedKind::Auto, Some(_)) if !shaped => Ok(Box::new(crosstalk_testbed::Local::new()?)),
        (_, Some(fault)) => Err(fault),
    }
}
