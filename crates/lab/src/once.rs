//! One scene, now: what `crosstalk probe` does.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::record::{Reading, Status};
use crosstalk_core::registry::Registry;
use crosstalk_core::testbed::Testbed;
use crosstalk_study::plan::Scene;

use crate::attempt::{Given, perform};
use crate::troupe::Troupe;

/// Performs a real-time scene once on a fresh cluster; returns what it observed,
/// each with the number of raw observations behind it, and hands it to `live` as it arrives.
pub fn once(
    registry: &Registry,
    testbed: &dyn Testbed,
    scene: &Scene,
    deadline: Duration,
    interrupted: &AtomicBool,
    live: &mut dyn FnMut(&Reading),
) -> Result<Vec<(Reading, u64)>, Fault> {
    let mut troupe = Troupe::new(testbed.raise(scene.place.nodes())?, interrupted);
    // Links that cannot be held are the machine's fault, with a remedy, and no attempt's.
    troupe.link(&scene.place)?;
    let given = Given { registry, emulation: None, artifacts: None, seed: 1, deadline, interrupted };
    let mut readings = Vec::new();
    let ended = perform(&mut troupe, scene, &given, &mut |reading, _, n| {
        live(&reading);
        readings.push((reading, n));
        Ok(())
    })?;
    match ended.status {
        Status::Finished => Ok(readings),
        Status::Interrupted => Err(Fault::interrupted()),
        _ if ended.asked => Err(Fault::usage(ended.reason.unwrap_or_default())),
        _ => Err(Fault::attempt(ended.reason.unwrap_or_default())),
    }
}
