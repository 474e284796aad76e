//! Which part of a change in time each cause bears.
//!
//! Workloads split their nodes' time into `time_compute`, `time_wait`,
//! `time_serialise` … (unit `s`, label `node`). The split is taken at the node
//! that the others wait for: the one that is busiest (all parts but `wait`)
//! over both cells of a pair. There, waiting is the network's doing and not
//! another node's. A part's share is its change over the change of the whole,
//! both summed over the middle half of the blocks (by the change of the whole),
//! so that a block that went astray has no say; what the parts leave over is
//! `other`. So shares add up to one.

use crate::part::OTHER;
use crosstalk_core::record::{Better, Metric};
use std::collections::{BTreeMap, BTreeSet};

use super::data::Data;
use super::select::View;
use super::summary::at_node;

/// Metrics that are parts of the time begin so.
const PREFIX: &str = "time_";
/// The part that is not work.
const WAIT: &str = "wait";

/// One cell of a comparison: experiment by its place, and cell.
type Place = (usize, usize);

/// Cause → share of the change of `metric` (in seconds) from cell `base` to
/// cell `other`, over `blocks`. Empty where the parts are not known.
pub fn shares(
    view: &View,
    metric: &str,
    base: usize,
    other: usize,
    blocks: &[usize],
) -> BTreeMap<String, f64> {
    let data = view.data;
    let pair = [(view.index, base), (view.index, other)];
    if data.metric(view.index, metric).unit != "s" {
        return BTreeMap::new();
    }
    let Some(node) = busiest(data, &pair, PREFIX) else { return BTreeMap::new() };
    let whole = [data.values(view.index, base, metric), data.values(view.index, other, metric)];
    let mut changes: Vec<(f64, BTreeMap<String, f64>)> = blocks
        .iter()
        .filter_map(|block| {
            let change = whole[1].get(block)? - whole[0].get(block)?;
            let (before, after) =
                (parts(data, pair[0], *block, &node, PREFIX)?, parts(data, pair[1], *block, &node, PREFIX)?);
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let at = |parts: &BTreeMap<String, f64>, name: &str| parts.get(name).copied().unwrap_or(0.0);
            let each = names.into_iter().map(|name| (name.clone(), at(&after, name) - at(&before, name)));
            Some((change, each.collect()))
        })
        .collect();
    changes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let cut = changes.len() / 4;
    divide(&changes[cut..changes.len() - cut])
}

fn divide(changes: &[(f64, BTreeMap<String, f64>)]) -> BTreeMap<String, f64> {
    let whole: f64 = changes.iter().map(|(change, _)| change).sum();
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    for (name, change) in changes.iter().flat_map(|(_, parts)| parts) {
        *shares.entry(name.clone()).or_default() += change / whole;
    }
    if shares.is_empty() || shares.values().any(|share| !share.is_finite()) {
        return BTreeMap::new();
    }
    let left = 1.0 - shares.values().sum::<f64>();
    shares.insert(OTHER.into(), left);
    shares
}

/// The node that has the most to do over these cells, by the metrics that begin with `prefix`.
pub fn busiest(data: &Data, cells: &[Place], prefix: &str) -> Option<String> {
    let mut busy: BTreeMap<&str, f64> = BTreeMap::new();
    for (experiment, cell) in cells {
        for (_, attempt) in data.experiments[*experiment].cells[*cell].counted() {
            for reading in &attempt.readings {
                let part = reading.metric.strip_prefix(prefix).filter(|part| *part != WAIT);
                let (Some(_), Some(node)) = (part, reading.labels.get("node")) else { continue };
                let time = at_node(&attempt.readings, &reading.metric, node, &seconds(&reading.metric));
                *busy.entry(node).or_default() += time.unwrap_or(0.0);
            }
        }
    }
    let most = busy.into_iter().max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)));
    most.map(|(node, _)| node.to_string())
}

/// Part → seconds, of one node in one block. `None` where it has none.
pub fn parts(
    data: &Data,
    (experiment, cell): Place,
    block: usize,
    node: &str,
    prefix: &str,
) -> Option<BTreeMap<String, f64>> {
    let attempt = data.experiments[experiment].cells[cell].last.get(&block)?;
    let names: BTreeSet<&str> = attempt
        .readings
        .iter()
        .filter(|r| r.labels.get("node").is_some_and(|n| n == node))
        .filter_map(|r| r.metric.strip_prefix(prefix))
        .collect();
    let parts: BTreeMap<String, f64> = names
        .into_iter()
        .filter_map(|part| {
            let name = format!("{prefix}{part}");
            Some((part.to_string(), at_node(&attempt.readings, &name, node, &seconds(&name))?))
        })
        .collect();
    (!parts.is_empty()).then_some(parts)
}

fn seconds(name: &str) -> Metric {
    Metric::new(name, "s", Better::Neither)
}
