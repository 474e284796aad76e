//! The share of each part of the time in a change.
//!
//! Workloads split their nodes' time into `time_compute`, `time_wait`, `time_serialise` and more (unit `s`, label
//! `node`). The shares are taken at the busiest node over both cells of a pair: the one with the most seconds in all
//! parts but `wait`. The others wait for it, and it waits for the network. It may also wait for what others do
//! meanwhile; [`super::network`] says whether they do the same in both cells.
//!
//! A part's share is its change over the change of the whole. Both are summed over the middle half of the blocks, by
//! the change of the whole, so that outliers do not count. `other` is what the parts leave over: shares add up to one.
//!
//! A part is significant where the 95 % interval of its own change over all blocks excludes zero. Sentences name no
//! other part.

use crate::part::{OTHER, TIME_PREFIX};
use std::collections::{BTreeMap, BTreeSet};

use super::contrast::Contrast;
use super::select::View;
use super::split::{busiest_node, parts_of_time};
use crate::estimate;

/// The shares of the parts of the time in a change.
#[derive(Debug, Default)]
pub struct Shares {
    /// Part → share of the change; they add up to one. Empty where the parts are not known.
    pub shares: BTreeMap<String, f64>,
    /// The parts whose own change is significant.
    pub significant: BTreeSet<String>,
}

/// The shares in the change of a metric in seconds over `blocks`, from the denominator's cell to the numerator's. Empty
/// where the parts are not known, and where either side is several cells.
pub fn shares(view: &View, contrast: &Contrast, blocks: &[usize]) -> Shares {
    let Some((other, base)) = contrast.cells() else { return Shares::default() };
    let metric = contrast.metric.as_str();
    // A part has no parts of its own.
    if view.metric(metric).unit != "s" || metric.starts_with(TIME_PREFIX) {
        return Shares::default();
    }
    let Some(node) = busiest_node(&[base, other], TIME_PREFIX) else { return Shares::default() };
    let whole = [base, other].map(|cell| view.experiment.values(cell, metric));
    let mut changes: Vec<(f64, BTreeMap<String, f64>)> = blocks
        .iter()
        .filter_map(|block| {
            let change = whole[1].get(block)? - whole[0].get(block)?;
            let (before, after) = (
                parts_of_time(base, *block, &node, TIME_PREFIX)?,
                parts_of_time(other, *block, &node, TIME_PREFIX)?,
            );
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let at = |parts: &BTreeMap<String, f64>, name: &str| parts.get(name).copied().unwrap_or(0.0);
            let each = names.into_iter().map(|name| (name.clone(), at(&after, name) - at(&before, name)));
            Some((change, each.collect()))
        })
        .collect();
    changes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let cut = changes.len() / 4;
    Shares {
        shares: shares_of_change(&changes[cut..changes.len() - cut]),
        significant: significant(&changes),
    }
}

/// The parts, `other` among them, whose change is significant.
fn significant(changes: &[(f64, BTreeMap<String, f64>)]) -> BTreeSet<String> {
    let mut each: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (change, parts) in changes {
        parts.iter().for_each(|(name, change)| each.entry(name).or_default().push(*change));
        each.entry(OTHER).or_default().push(change - parts.values().sum::<f64>());
    }
    let excludes_zero = |changes: &[f64]| {
        let interval = estimate::estimate_of_values(changes).and_then(|found| found.interval);
        interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    };
    each.into_iter().filter(|(_, changes)| excludes_zero(changes)).map(|(name, _)| name.to_string()).collect()
}

/// Part → its summed change over that of the whole; empty where a share is not finite.
fn shares_of_change(changes: &[(f64, BTreeMap<String, f64>)]) -> BTreeMap<String, f64> {
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
