//! The program's parts: the registry of workloads, conditions and observers, and the testbed for a plan.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use crosstalk_apps::engine;
use crosstalk_core::Fault;
use crosstalk_core::need::{Need, NeedState};
use crosstalk_core::provenance::Provenance;
use crosstalk_core::registry::Registry;
use crosstalk_core::testbed::{Link, Testbed};
use crosstalk_core::value::Value;
use crosstalk_study::plan::{Place, Plan};
use crosstalk_testbed::{Launcher, LocalTestbed, VirtualTestbed};

use crate::args::TestbedKind;

/// Every workload, condition and observer there is.
pub fn registry() -> Registry {
    Registry {
        workloads: [
            crosstalk_apps::workloads(),
            crosstalk_kernels::workloads(),
            crosstalk_files::workloads(),
            crosstalk_probe::workloads(),
            crosstalk_tools::workloads(),
            crosstalk_boinc::workloads(),
            crosstalk_users::workloads(),
        ]
        .into_iter()
        .flatten()
        .collect(),
        conditions: crosstalk_guard::conditions(),
        observers: crosstalk_observe::observers(),
    }
}

/// The facts of a node: its machine, and the versions of engines on it. The versions are only recorded: another
/// version does not make it another machine.
pub fn facts() -> Provenance {
    let mut facts = crosstalk_host::facts::provenance();
    facts.moment.extend(engine::spark::versions().into_iter().map(|(name, version)| (name.into(), version)));
    facts
}

/// The levels that a factor with `discover` finds on this host.
pub fn discovered_levels() -> BTreeMap<String, Vec<Value>> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as i64);
    let devices =
        crosstalk_host::pci::devices().into_iter().map(|device| Value::from(device.address)).collect();
    BTreeMap::from([
        ("cores".to_string(), (1..=cores).map(Value::Int).collect()),
        ("devices".to_string(), devices),
    ])
}

/// Every testbed that a user can name, in the order of [`TestbedKind`], whether or not this host has what it needs.
pub fn testbeds() -> Vec<Box<dyn Testbed>> {
    let testbed = |kind: &TestbedKind| -> Option<Box<dyn Testbed>> {
        match kind {
            TestbedKind::Auto => None,
            TestbedKind::Virtual => Some(Box::new(VirtualTestbed::new(Launcher::current()))),
            TestbedKind::Local => Some(Box::new(LocalTestbed::new(Launcher::current()))),
        }
    };
    TestbedKind::value_variants().iter().filter_map(testbed).collect()
}

/// The requested testbed, or the one that suits the plan. Shaped links need the virtual one. A cluster of the user is
/// reached from this host's own network. Virtual time only needs processes. The testbed stops when `interrupted` is
/// set.
///
/// # Errors
/// If this host has no such testbed, too little room for the plan's nodes, or can run none of its cells.
pub fn testbed(
    kind: TestbedKind,
    plan: &Plan,
    interrupted: &Arc<AtomicBool>,
) -> Result<Box<dyn Testbed>, Fault> {
    let bed = choose(kind, plan, interrupted)?;
    if plan.runnable().next().is_none() {
        let why = plan.limits().join("; ");
        return Err(Fault::environment(format!("this host can run none of its cells: {why}")));
    }
    bed.check_capacity(plan.nodes())?;
    Ok(bed)
}

fn choose(kind: TestbedKind, plan: &Plan, interrupted: &Arc<AtomicBool>) -> Result<Box<dyn Testbed>, Fault> {
    let shaped = plan.runnable().any(|c| matches!(c.scene.place, Place::Real { link: Link::Rate(_), .. }));
    let outside = plan.cells().any(|c| matches!(c.scene.place, Place::Outside { .. }));
    let local = || Box::new(LocalTestbed::new(Launcher::current()));
    if outside && shaped {
        return Err(Fault::usage("nodes with shaped links have no way to a cluster of yours")
            .remedy("choose one of both by --engine or --set"));
    }
    if outside {
        return match kind {
            TestbedKind::Virtual => Err(Fault::usage("a virtual node has no way to a cluster of yours")
                .at("--testbed virtual")
                .remedy("leave it out")),
            TestbedKind::Local | TestbedKind::Auto => Ok(local()),
        };
    }
    let bed = VirtualTestbed::new(Launcher::current()).interrupted_by(interrupted);
    let missing = bed.needs().into_iter().find(|need| !need.is_found());
    match (kind, missing) {
        (TestbedKind::Local, _) if shaped => Err(Fault::usage("the local testbed cannot shape links")
            .at("--testbed local")
            .remedy("use --testbed virtual, or vary something else than the fabric")),
        (TestbedKind::Local, _) => Ok(local()),
        (TestbedKind::Virtual | TestbedKind::Auto, None) => Ok(Box::new(bed)),
        (TestbedKind::Auto, Some(_)) if !shaped => Ok(local()),
        (_, Some(need)) => Err(missing_fault(&need)),
    }
}

fn missing_fault(need: &Need) -> Fault {
    match &need.state {
        NeedState::Missing { consequence, remedy } => {
            let fault = Fault::environment(format!("{} is missing: {consequence}", need.what));
            Fault { remedy: remedy.clone(), ..fault }
        }
        NeedState::Found { detail } => Fault::environment(format!("{}: {detail}", need.what)),
    }
}

#[cfg(test)]
mod tests;
