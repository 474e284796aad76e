//! Timing the loads.

use crosstalk_core::Fault;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::units::Seconds;
use crosstalk_host::pages::{MemoryFromNode, memory_nodes};
use crosstalk_stats::rng::Rng;

use super::ring::Ring;
use super::spec::Spec;
use crate::batches::{Timed, time_batches};
use crate::clock;
use crate::pin::pin;
use crate::readings::Readings;
use crosstalk_work::peer::Deadline;

/// Measures every size on every node.
///
/// # Errors
/// Where memory cannot be had on a node; interrupted; at the deadline.
pub fn measure(spec: &Spec, seed: u64, until: &Deadline) -> Result<Readings, Fault> {
    let _pinned = pin(spec.pin)?;
    let mut readings = Vec::new();
    for &node in &spec.nodes {
        let _memory = from(node).map_err(|fault| fault.of_parameter("node"))?;
        for &size in &spec.sizes {
            let ring = Ring::new(size, &mut Rng::seeded(seed))?;
            let (timed, loads) = time(&ring, spec.duration, until)?;
            let labelled = |metric, value| {
                Reading::value(metric, value, Origin::Measured).label("size", size.0).label("node", node)
            };
            readings.push((labelled("load_time", timed.each), timed.batches));
            readings.extend(ring.memory.huge_share().map(|share| (labelled("huge_pages", share), 1)));
            readings.push((labelled("own_overhead", clock::timing_overhead() / loads as f64), 1));
        }
    }
    Ok(readings)
}

/// Has new memory come from `node` only, if there are several.
fn from(node: usize) -> Result<Option<MemoryFromNode>, Fault> {
    if memory_nodes() == [node] { Ok(None) } else { MemoryFromNode::begin(node).map(Some) }
}

/// About the time of a batch in seconds: long compared with a read of the clock, short compared with the
/// time between interrupts.
const BATCH: f64 = 20e-6;

/// The time of a load, and how many loads a batch has.
fn time(ring: &Ring, duration: Seconds, until: &Deadline) -> Result<(Timed, usize), Fault> {
    // Once round, to fill the caches and to choose the loads of a batch.
    let begin = clock::now();
    let mut at = ring.chase(0, ring.lines.max(1 << 10));
    let one = (clock::now() - begin) as f64 * 1e-9 / ring.lines.max(1 << 10) as f64;
    let loads = ((BATCH / one.max(1e-10)) as usize).clamp(64, 1 << 20);
    let timed = time_batches(duration, until, "the loads to be timed", || {
        let begin = clock::now();
        at = ring.chase(at, loads);
        (clock::now() - begin) as f64 * 1e-9 / loads as f64
    })?;
    std::hint::black_box(at);
    Ok((timed, loads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::{Params, Value};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_larger_working_set_is_slower() {
        let never = AtomicBool::new(false);
        let params = Params::default()
            .with("size", Value::List(vec!["8 KiB".into(), "128 MiB".into()]))
            .with("node", 0)
            .with("duration", "20 ms");
        let spec = Spec::from_params(&params).expect("reads");
        let readings = measure(&spec, 1, &Deadline::new(Seconds(60.0), &never)).expect("measures");
        let times: Vec<f64> = readings
            .iter()
            .filter(|(reading, _)| reading.metric == "load_time")
            .filter_map(|(reading, _)| reading.number())
            .collect();
        // The smaller one fits into a first-level cache, the larger one into none.
        assert!(times[0] > 0.0 && times[1] > 2.0 * times[0], "{times:?}");
    }
}
