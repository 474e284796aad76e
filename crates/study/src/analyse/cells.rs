//! The findings on each cell.

use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::record::Status;
use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, is_faithful};
use super::data::{Data, Experiment};
use crate::estimate;
use crate::findings::{CellFinding, Estimate};
use crate::words::distinct_texts;

/// The findings about every planned cell, in the order of the plan.
pub fn findings(data: &Data) -> Vec<CellFinding> {
    let each = |experiment: &'_ Experiment| {
        experiment.cells.iter().map(|cell| finding(experiment, cell)).collect::<Vec<_>>()
    };
    data.experiments.iter().flat_map(each).collect()
}

fn finding(experiment: &Experiment, cell: &Cell) -> CellFinding {
    let mut fidelity = Fidelity::default();
    let mut reasons = BTreeSet::new();
    let (mut failed, mut unfaithful) = (0, 0);
    let watched = cell.attempts.iter().any(|attempt| attempt.fidelity.is_some());
    for attempt in &cell.attempts {
        if let Some(seen) = &attempt.fidelity {
            fidelity.merge(seen.clone());
        }
        if attempt.status == Status::Failed {
            failed += 1;
            let failure = attempt.failure.as_ref().map(ToString::to_string);
            reasons.insert(failure.unwrap_or_else(|| "failed without a reason".into()));
        } else if !is_faithful(attempt) {
            unfaithful += 1;
        }
    }
    fidelity.reasons = distinct_texts(&fidelity.reasons);
    reasons.extend(fidelity.reasons.iter().map(|reason| format!("not faithful: {reason}")));
    CellFinding {
        id: cell.id().clone(),
        finished: cell.counted_attempts().count(),
        failed,
        unfaithful: watched.then_some(unfaithful),
        reasons: distinct_texts(&reasons),
        fidelity,
        metrics: metrics(experiment, cell),
    }
}

fn metrics(experiment: &Experiment, cell: &Cell) -> BTreeMap<String, Estimate> {
    let names: BTreeSet<&str> =
        cell.counted_attempts().flat_map(|(_, a)| a.readings.iter().map(|r| r.metric.as_str())).collect();
    names
        .into_iter()
        .filter_map(|name| {
            Some((name.to_string(), estimate::estimate(experiment.values(cell, name).values())?))
        })
        .collect()
}
