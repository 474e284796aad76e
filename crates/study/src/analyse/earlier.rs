//! Levels that later experiments take from the results of earlier ones.

use crosstalk_core::value::{Levels, Value};
use crosstalk_stats::peak;
use std::collections::BTreeMap;

use super::data::Data;
use super::patterns;
use super::select::View;
use crate::file::{FromResult, Study};
use crate::plan::Plan;
use crate::samples::Run;
use crate::stages::{factor_key, pending_factors};

/// The levels that the run's results give to pending factors, by experiment and factor (`grouped.tasks`). A factor whose
/// earlier experiment has no data is left out.
pub fn earlier_results(study: &Study, plan: &Plan, run: &Run) -> BTreeMap<String, Value> {
    let pending = plan.experiments.iter().filter(|experiment| experiment.pending.is_some());
    let factors = pending.flat_map(|planned| {
        pending_factors(study, &planned.name).map(|(factor, from)| (factor_key(&planned.name, factor), from))
    });
    factors.filter_map(|(key, from)| Some((key, peak_level(study, plan, run, from)?))).collect()
}

/// The level for a factor with `from`: that at which the earlier experiment's metric is greatest. `None` where its cells
/// have no data yet.
pub fn peak_level(study: &Study, plan: &Plan, run: &Run, from: &FromResult) -> Option<Value> {
    let data = Data::new(plan, run);
    let view = View::new(&data, &study.experiment, &from.experiment)?;
    let (levels, rows) = patterns::logs_by_level(&view, &from.metric, &from.factor, &Levels::new());
    peak::point(&rows).map(|index| levels[index].clone())
}
