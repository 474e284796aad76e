//! How the time of nodes is split: `time_compute`, `time_wait` … (unit `s`, label `node`).

use crosstalk_core::record::{Better, Metric, Reading};
use std::collections::{BTreeMap, BTreeSet};

use super::cell::{ByBlock, Cell};
use super::summary::value_at_node;
use crate::part::{TIME_PREFIX, WAIT};
use crate::samples::Attempt;

/// The share of the part `metric` (`time_wait`) in the time of the busiest node, by block.
pub fn share_of_time(cell: &Cell, metric: &str) -> ByBlock {
    let Some(part) = metric.strip_prefix(TIME_PREFIX) else { return ByBlock::new() };
    let nodes = nodes_with_parts(cell, TIME_PREFIX);
    let busy = |parts: &BTreeMap<String, f64>| -> f64 {
        parts.iter().filter(|(name, _)| *name != WAIT).map(|(_, seconds)| seconds).sum()
    };
    let of_block = |block: usize| {
        let of_nodes = nodes.iter().filter_map(|node| parts_of_time(cell, block, node, TIME_PREFIX));
        let parts = of_nodes.max_by(|a, b| busy(a).total_cmp(&busy(b)))?;
        // A part that took no time may be missing.
        let seconds_of_part = parts.get(part).copied().unwrap_or(0.0);
        Some(seconds_of_part / parts.values().sum::<f64>()).filter(|share| share.is_finite())
    };
    cell.counted_attempts().filter_map(|(block, _)| Some((block, of_block(block)?))).collect()
}

/// The busiest of the nodes that all of these cells have: the one with the most seconds in all parts but waiting. Parts
/// are the metrics that begin with `prefix`.
pub fn busiest_node(cells: &[&Cell], prefix: &str) -> Option<String> {
    let mut busy: BTreeMap<&str, f64> = BTreeMap::new();
    for (attempt, reading, part, node) in cells.iter().flat_map(|cell| part_readings(cell, prefix)) {
        if part != WAIT {
            let time = value_at_node(&attempt.readings, &reading.metric, node, &seconds(&reading.metric));
            *busy.entry(node).or_default() += time.unwrap_or(0.0);
        }
    }
    let of_each = cells.iter().map(|cell| nodes_with_parts(cell, prefix)).filter(|nodes| !nodes.is_empty());
    let everywhere = of_each.reduce(|known, nodes| &known & &nodes)?;
    busy.retain(|node, _| everywhere.contains(*node));
    let most = busy.into_iter().max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)));
    most.map(|(node, _)| node.to_string())
}

/// Every node that reports parts of its time.
pub fn nodes_with_parts(cell: &Cell, prefix: &str) -> BTreeSet<String> {
    part_readings(cell, prefix).map(|(.., node)| node.to_string()).collect()
}

/// Every reading of a part of a node's time, with its attempt, part and node.
fn part_readings<'a, 'b>(
    cell: &'b Cell<'a>,
    prefix: &'b str,
) -> impl Iterator<Item = (&'a Attempt, &'a Reading, &'a str, &'a str)> + use<'a, 'b> {
    cell.counted_attempts().flat_map(move |(_, attempt)| {
        attempt.readings.iter().filter_map(move |reading| {
            let part = reading.metric.strip_prefix(prefix)?;
            Some((attempt, reading, part, reading.labels.get("node")?.as_str()))
        })
    })
}

/// Part → seconds, of one node in one block; `None` where the node reports none.
pub fn parts_of_time(cell: &Cell, block: usize, node: &str, prefix: &str) -> Option<BTreeMap<String, f64>> {
    let attempt = cell.last_try.get(&block)?;
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
            Some((part.to_string(), value_at_node(&attempt.readings, &name, node, &seconds(&name))?))
        })
        .collect();
    (!parts.is_empty()).then_some(parts)
}

fn seconds(name: &str) -> Metric {
    Metric::new(name, "s", Better::Neither)
}
