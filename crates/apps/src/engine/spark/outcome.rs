//! The driver's answer as readings.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `completion_time` | s | the last pass, when Java is warm |
//! | `first_time` | s | the first pass, where the cluster was not asked for this before: Java is cold |
//! | `passes` | | how many were made; where they are the most that may be, Java may not have been warm |
//! | `load_time` | s | reading the input, before the clock starts |
//! | `time_compute` | s | of a node's executor in the last pass: processor time of its tasks over its cores; label `node` |
//! | `time_serialise` | s | likewise, reading the tasks themselves and writing their results; what records of a shuffle cost is in `time_compute` |
//! | `time_wait` | s | `completion_time` less these: waiting for the network, other nodes, the driver, a core |
//! | `bytes_exchanged` | B | shuffled from one node to another |

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Effort, Sink, Timing};
use serde_json::Value;

use super::driver::number_in_answer;
use super::job::Object;
use crate::account;
use crate::engine::settings::Spark;

/// Seconds until a cluster has started, and Java has loaded what the driver needs, on the
/// yardstick.
const START: f64 = 50.0;

/// Extra time of the first attempt, in passes, until Java is warm.
const WARMING: f64 = 3.5;

/// Deploys an application on Spark, which reports its `own` metrics and those of every application.
/// `seconds`: about how long an attempt computes once Java is warm.
pub fn deployment(settings: &Spark, slaves: usize, own: Vec<Metric>, seconds: f64) -> Deployment {
    let mut metrics = account::metrics(own);
    // Spark does not report these.
    metrics.retain(|metric| !["answer_checksum", "peak_memory"].contains(&metric.name.as_str()));
    metrics.push(Metric::new("first_time", "s", Better::Neither));
    metrics.push(Metric::new("passes", "", Better::Neither));
    let once = START + WARMING * seconds;
    match settings.own {
        None => {
            let effort = Effort { waiting: 0.0, computing: seconds, startup: once };
            Deployment { nodes: slaves + 1, timing: Timing::Real, metrics, effort }
        }
        // The driver is here, the executors on the user's workers: at another speed, and started again
        // whenever another number of them is requested, which may be every time.
        Some(_) => {
            let effort = Effort::waiting(once + seconds);
            Deployment { nodes: 1, timing: Timing::Outside, metrics, effort }
        }
    }
}

/// Reports all readings of an answer, by executors of so many cores; `fresh`: whether it was a new cluster's
/// first such request.
pub fn report_answer(
    answer: &Object,
    own: Vec<Reading>,
    part: &Part,
    (cores, fresh): (usize, bool),
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    let times = times(answer);
    let [first, ..] = times[..] else { return Err(Fault::attempt("Spark's driver reported no time")) };
    let last = times[times.len() - 1];
    let mut take = |name: &str, value: f64| out.take(Reading::value(name, value, Origin::Measured), 1);
    take("completion_time", last)?;
    if fresh {
        take("first_time", first)?;
    }
    take("passes", times.len() as f64)?;
    take("load_time", number_in_answer(answer, "loading")?)?;
    let mut exchanged = 0.0;
    for (index, split) in executors(answer).into_iter().enumerate() {
        let node = node_of(split, part).unwrap_or(index + 1);
        let of = |name: &str| split.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let (compute, serialise) = (of("compute") / cores as f64, of("serialise") / cores as f64);
        let wait = (last - compute - serialise).max(0.0);
        for (name, time) in [("time_compute", compute), ("time_serialise", serialise), ("time_wait", wait)] {
            let reading = Reading::value(name, time, Origin::Measured);
            out.take(reading.label("node", node), 1)?;
        }
        exchanged += of("remote_bytes");
    }
    out.take(Reading::value("bytes_exchanged", exchanged, Origin::Measured), 1)?;
    own.into_iter().try_for_each(|reading| out.take(reading, 1))
}

/// The passes' times.
fn times(answer: &Object) -> Vec<f64> {
    let times = answer.get("times").and_then(Value::as_array);
    times.into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Whether the passes show that Java is warm.
pub fn is_warm(answer: &Object) -> bool {
    answer.get("warm").and_then(Value::as_bool).unwrap_or(false)
}

/// Where each executor's time went, by their numbers.
fn executors(answer: &Object) -> Vec<&Object> {
    let executors = answer.get("nodes").and_then(Value::as_object);
    let mut executors: Vec<_> =
        executors.into_iter().flatten().filter_map(|(id, split)| Some((id, split.as_object()?))).collect();
    executors.sort_by_key(|(id, _)| (id.len(), *id));
    executors.into_iter().map(|(_, split)| split).collect()
}

/// The node that an executor runs on; `None` on the user's own machines.
fn node_of(split: &Object, part: &Part) -> Option<usize> {
    let host = split.get("host").and_then(Value::as_str)?;
    let node = part.addresses.iter().position(|address| address.to_string() == host);
    node.filter(|_| part.nodes > 1)
}
