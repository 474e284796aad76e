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

use crate::part::{OTHER, TIME};
use std::collections::{BTreeMap, BTreeSet};

use super::contrast::Contrast;
use super::select::View;
use super::split::{busiest, parts};
use crate::estimate;

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
    let metric = contrast.metric.as_str();
    // A part has no parts of its own.
    if view.metric(metric).unit != "s" || metric.starts_with(TIME) {
        return Shares::default();
    }
    let Some(node) = busiest(&[base, other], TIME) else { return Shares::default() };
    let whole = [base, other].map(|cell| view.experiment.values(cell, metric));
    let mut changes: Vec<(f64, BTreeMap<String, f64>)> = blocks
        .iter()
        .filter_map(|block| {
            let change = whole[1].get(block)? - whole[0].get(block)?;
            let (before, after) = (parts(base, *block, &node, TIME)?, parts(other, *block, &node, TIME)?);
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
