//! The driver's answer as readings.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `completion_time` | s | the last pass, when Java is warm |
//! | `first_time` | s | the first pass that was asked for: where the cluster is fresh, Java is cold |
//! | `load_time` | s | reading the input, before the clock starts |
//! | `time_compute` | s | of a node's executor in the last pass: processor time of its tasks over its cores; label `node` |
//! | `time_serialise` | s | likewise, reading and writing objects for the network and for shuffles |
//! | `time_wait` | s | `completion_time` less these: waiting for the network, other nodes, the driver, a core |
//! | `bytes_exchanged` | B | shuffled from one node to another |

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Sink, Timing};
use serde_json::Value;

use super::driver::number;
use super::job::Object;
use crate::app::account;

/// What an application on Spark reports; `own` metrics come beside those that every
/// application has.
pub fn deployment(nodes: usize, own: Vec<Metric>, seconds: f64) -> Deployment {
    let mut metrics = account::metrics(own);
    // Of these Spark tells nothing.
    metrics.retain(|metric| !["answer_checksum", "peak_memory"].contains(&metric.name.as_str()));
    metrics.push(Metric::new("first_time", "s", Better::Neither));
    // Starting a cluster on two cores takes a minute at worst, once.
    Deployment { nodes, timing: Timing::Real, metrics, seconds: 8.0 + 2.0 * nodes as f64 + seconds }
}

/// Tells all readings of an answer.
pub fn tell(
    answer: &Object,
    own: Vec<Reading>,
    part: &Part,
    cores: usize,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    let times: Vec<f64> = answer
        .get("times")
        .and_then(Value::as_array)
        .map(|times| times.iter().filter_map(Value::as_f64).collect())
        .unwrap_or_default();
    let [first, ..] = times[..] else { return Err(Fault::attempt("Spark's driver told no time")) };
    let last = times[times.len() - 1];
    let mut take = |name: &str, value: f64| out.take(Reading::value(name, value, Origin::Measured), 1);
    take("completion_time", last)?;
    take("first_time", first)?;
    take("load_time", number(answer, "loading")?)?;
    let mut exchanged = 0.0;
    for (index, (host, split)) in nodes(answer).into_iter().enumerate() {
        // On the user's own cluster hosts are told by their order.
        let node = part.addresses.iter().position(|address| address.to_string() == *host);
        let of = |name: &str| split.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let (compute, serialise) = (of("compute") / cores as f64, of("serialise") / cores as f64);
        let wait = (last - compute - serialise).max(0.0);
        for (name, time) in [("time_compute", compute), ("time_serialise", serialise), ("time_wait", wait)] {
            let reading = Reading::value(name, time, Origin::Measured);
            out.take(reading.label("node", node.unwrap_or(index + 1)), 1)?;
        }
        exchanged += of("remote_bytes");
    }
    out.take(Reading::value("bytes_exchanged", exchanged, Origin::Measured), 1)?;
    own.into_iter().try_for_each(|reading| out.take(reading, 1))
}

/// Host → where its executor's time went.
fn nodes(answer: &Object) -> Vec<(&String, &Object)> {
    let nodes = answer.get("nodes").and_then(Value::as_object);
    nodes.into_iter().flatten().filter_map(|(host, split)| Some((host, split.as_object()?))).collect()
}
