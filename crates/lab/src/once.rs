//! Runs one scene once, for `crosstalk probe`.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::record::{Reading, Status};
use crosstalk_core::registry::Registry;
use crosstalk_core::testbed::Testbed;
use crosstalk_study::plan::Scene;

use crate::agent_pool::AgentPool;
use crate::attempt::{AttemptContext, perform};

/// Runs a scene once on a fresh cluster, in virtual time if there is an emulation. Returns its readings, each with the number of
/// raw observations behind it. `live` gets each reading as it arrives.
///
/// # Errors
/// The fault of the cluster or of the attempt, or an interruption.
pub fn run_once(
    registry: &Registry,
    testbed: &dyn Testbed,
    scene: &Scene,
    emulation: Option<Emulation>,
    deadline: Duration,
    interrupted: &AtomicBool,
    live: &mut dyn FnMut(&Reading),
) -> Result<Vec<(Reading, u64)>, Fault> {
    let mut pool = AgentPool::new(testbed.create(scene.place.nodes())?, interrupted);
    // Links that cannot be set are a fault of the machine, not of the attempt.
    pool.set_links(&scene.place)?;
    let context = AttemptContext {
        registry,
        emulation,
        artifacts: None,
        keep_schedule: false,
        seed: 1,
        deadline,
        interrupted,
    };
    let mut readings = Vec::new();
    let result = perform(&mut pool, scene, &context, &mut |reading, _, n| {
        live(&reading);
        readings.push((reading, n));
        Ok(())
    })?;
    match result.status {
        Status::Finished => Ok(readings),
        Status::Interrupted => Err(Fault::interrupted()),
        _ if result.is_usage_fault => Err(Fault::usage(result.reason.unwrap_or_default())),
        _ => Err(Fault::attempt(result.reason.unwrap_or_default())),
    }
}
