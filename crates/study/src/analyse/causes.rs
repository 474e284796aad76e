//! Which part of a change in time each cause bears.
//!
//! Workloads split their nodes' time into `time_compute`, `time_wait`,
//! `time_serialise` … (unit `s`, label `node`). The split is taken at the node
//! that the others wait for: the one that is busiest (all parts but `wait`)
//! over both cells of a pair. There, waiting is the network's doing and not
//! another node's, but for what others do while it has nothing to do; whether
//! they do the same in both cells, [`super::network`] tells. A part's share is its change over the change of the whole,
//! both summed over the middle half of the blocks (by the change of the whole),
//! so that a block that went astray has no say; what the parts leave over is
//! `other`. So shares add up to one.
//!
//! A part is told apart where the interval of its own change (95 %, over all blocks) does not hold zero: the
//! share of one that is not, is noise, and no sentence says it.

use crate::part::{OTHER, WAIT};
use crosstalk_core::record::{Better, Metric, Reading};
use std::collections::{BTreeMap, BTreeSet};

use super::claim::Contrast;
use super::data::{ByBlock, Data};
use super::estimate;
use super::select::View;
use super::summary::at_node;
use crate::samples::Attempt;

/// Metrics that are parts of the time begin so.
pub const TIME: &str = "time_";

/// A cell: experiment by its place, and cell.
pub type Place = (usize, usize);

/// Which part of a change each cause bears.
#[derive(Debug, Default)]
pub struct Shares {
    /// Cause → share of the change; they add up to one. Empty where the parts are not known.
    pub of: BTreeMap<String, f64>,
    /// The causes whose own change is not zero.
    pub apart: BTreeSet<String>,
}

/// The shares in the change of a metric in seconds from the cell below to
/// the one above, over `blocks`. Empty where the parts are not known, and
/// where either side is several cells.
pub fn shares(view: &View, contrast: &Contrast, blocks: &[usize]) -> Shares {
    let Some((other, base)) = contrast.cells() else { return Shares::default() };
    let (data, metric) = (view.data, contrast.metric.as_str());
    let pair = [(view.index, base), (view.index, other)];
    // A part has no parts of its own.
    if view.metric(metric).unit != "s" || metric.starts_with(TIME) {
        return Shares::default();
    }
    let Some(node) = busiest(data, &pair, TIME) else { return Shares::default() };
    let whole = [data.values(view.index, base, metric), data.values(view.index, other, metric)];
    let mut changes: Vec<(f64, BTreeMap<String, f64>)> = blocks
        .iter()
        .filter_map(|block| {
            let change = whole[1].get(block)? - whole[0].get(block)?;
            let (before, after) =
                (parts(data, pair[0], *block, &node, TIME)?, parts(data, pair[1], *block, &node, TIME)?);
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let at = |parts: &BTreeMap<String, f64>, name: &str| parts.get(name).copied().unwrap_or(0.0);
            let each = names.into_iter().map(|name| (name.clone(), at(&after, name) - at(&before, name)));
            Some((change, each.collect()))
        })
        .collect();
    changes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let cut = changes.len() / 4;
    Shares { of: divide(&changes[cut..changes.len() - cut]), apart: apart(&changes) }
}

/// The parts whose change, and what they leave over, is told apart from zero.
fn apart(changes: &[(f64, BTreeMap<String, f64>)]) -> BTreeSet<String> {
    let mut each: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (change, parts) in changes {
        parts.iter().for_each(|(name, change)| each.entry(name).or_default().push(*change));
        each.entry(OTHER).or_default().push(change - parts.values().sum::<f64>());
    }
    let sure = |changes: &[f64]| {
        let interval = estimate::of_plain(changes).and_then(|found| found.interval);
        interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    };
    each.into_iter().filter(|(_, changes)| sure(changes)).map(|(name, _)| name.to_string()).collect()
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

/// The share that the part `metric` has in the time of the node that has the most to do,
/// block by block.
pub fn share(data: &Data, cell: Place, metric: &str) -> ByBlock {
    let Some(part) = metric.strip_prefix(TIME) else { return ByBlock::new() };
    let nodes = nodes(data, cell, TIME);
    let busy = |parts: &BTreeMap<String, f64>| -> f64 {
        parts.iter().filter(|(name, _)| *name != WAIT).map(|(_, seconds)| seconds).sum()
    };
    let of_block = |block: usize| {
        let told = nodes.iter().filter_map(|node| parts(data, cell, block, node, TIME));
        let parts = told.max_by(|a, b| busy(a).total_cmp(&busy(b)))?;
        // What took no time need not be told.
        let mine = parts.get(part).copied().unwrap_or(0.0);
        Some(mine / parts.values().sum::<f64>()).filter(|share| share.is_finite())
    };
    let counted = data.experiments[cell.0].cells[cell.1].counted();
    counted.filter_map(|(block, _)| Some((block, of_block(block)?))).collect()
}

/// The node that has the most to do over these cells, of those that all of them have, by the metrics that begin
/// with `prefix`.
pub fn busiest(data: &Data, cells: &[Place], prefix: &str) -> Option<String> {
    let mut busy: BTreeMap<&str, f64> = BTreeMap::new();
    for (attempt, reading, part, node) in cells.iter().flat_map(|cell| told(data, *cell, prefix)) {
        if part != WAIT {
            let time = at_node(&attempt.readings, &reading.metric, node, &seconds(&reading.metric));
            *busy.entry(node).or_default() += time.unwrap_or(0.0);
        }
    }
    let of_each = cells.iter().map(|cell| nodes(data, *cell, prefix)).filter(|nodes| !nodes.is_empty());
    let everywhere = of_each.reduce(|known, nodes| &known & &nodes)?;
    busy.retain(|node, _| everywhere.contains(*node));
    let most = busy.into_iter().max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)));
    most.map(|(node, _)| node.to_string())
}

/// Every node that tells parts of its time.
pub fn nodes(data: &Data, cell: Place, prefix: &str) -> BTreeSet<String> {
    told(data, cell, prefix).map(|(.., node)| node.to_string()).collect()
}

/// Every reading of a part of a node's time, with its attempt, part and node.
fn told<'a>(
    data: &'a Data,
    (experiment, cell): Place,
    prefix: &'a str,
) -> impl Iterator<Item = (&'a Attempt, &'a Reading, &'a str, &'a str)> {
    let counted = data.experiments[experiment].cells[cell].counted();
    counted.flat_map(move |(_, attempt)| {
        attempt.readings.iter().filter_map(move |reading| {
            let part = reading.metric.strip_prefix(prefix)?;
            Some((attempt, reading, part, reading.labels.get("node")?.as_str()))
        })
    })
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
