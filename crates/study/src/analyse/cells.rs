//! What became of each cell.

use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::record::Status;
use std::collections::{BTreeMap, BTreeSet};

use super::data::{Data, faithful};
use super::estimate;
use super::words::distinct;
use crate::findings::CellFinding;

/// Every planned cell, in plan order.
pub fn findings(data: &Data) -> Vec<CellFinding> {
    (0..data.experiments.len())
        .flat_map(|experiment| {
            (0..data.experiments[experiment].cells.len()).map(move |cell| finding(data, experiment, cell))
        })
        .collect()
}

fn finding(data: &Data, experiment: usize, cell: usize) -> CellFinding {
    let known = &data.experiments[experiment].cells[cell];
    let mut fidelity = Fidelity::default();
    let mut reasons = BTreeSet::new();
    let (mut failed, mut unfaithful) = (0, 0);
    let watched = known.attempts.iter().any(|attempt| attempt.fidelity.is_some());
    for attempt in &known.attempts {
        if let Some(seen) = &attempt.fidelity {
            fidelity.merge(seen.clone());
        }
        if attempt.status == Status::Failed {
            failed += 1;
            reasons.insert(attempt.reason.clone().unwrap_or_else(|| "failed without a reason".into()));
        } else if !faithful(attempt) {
            unfaithful += 1;
        }
    }
    fidelity.reasons = distinct(&fidelity.reasons);
    reasons.extend(fidelity.reasons.iter().map(|reason| format!("not faithful: {reason}")));
    CellFinding {
        experiment: data.experiments[experiment].planned.name.clone(),
        levels: known.levels.clone(),
        finished: known.counted().count(),
        failed,
        unfaithful: watched.then_some(unfaithful),
        reasons: distinct(&reasons),
        fidelity,
        metrics: metrics(data, experiment, cell),
    }
}

fn metrics(data: &Data, experiment: usize, cell: usize) -> BTreeMap<String, crate::findings::Estimate> {
    let known = &data.experiments[experiment].cells[cell];
    let names: BTreeSet<&str> =
        known.counted().flat_map(|(_, a)| a.readings.iter().map(|r| r.metric.as_str())).collect();
    names
        .into_iter()
        .filter_map(|name| {
            Some((name.to_string(), estimate::of(data.values(experiment, cell, name).values())?))
        })
        .collect()
}
