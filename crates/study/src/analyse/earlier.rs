//! What later experiments take from the results of earlier ones.

use crosstalk_core::value::{Levels, Value};
use crosstalk_stats::peak;
use std::collections::BTreeMap;

use super::data::Data;
use super::select::View;
use super::shape;
use crate::file::{FromResult, Study};
use crate::plan::Plan;
use crate::samples::Run;
use crate::stages::{key, waiting};

/// The levels that the run's results give to factors which wait for them, by experiment and factor
/// (`grouped.tasks`). None where nothing waits, or what it waits for has no data.
pub fn earlier_results(study: &Study, plan: &Plan, run: &Run) -> BTreeMap<String, Value> {
    let pending = plan.experiments.iter().filter(|experiment| experiment.pending.is_some());
    let factors = pending.flat_map(|planned| {
        waiting(study, &planned.name).map(|(factor, from)| (key(&planned.name, factor), from))
    });
    factors.filter_map(|(key, from)| Some((key, peak(study, plan, run, from)?))).collect()
}

/// The level at which an earlier experiment's metric peaks: what a factor with
/// `from` takes. `None` where its cells have no data yet.
pub fn peak(study: &Study, plan: &Plan, run: &Run, from: &FromResult) -> Option<Value> {
    let data = Data::new(plan, run);
    let view = View::new(&data, &study.experiment, &from.experiment)?;
    let (levels, rows) = shape::by_level(&view, &from.metric, &from.factor, &Levels::new());
    peak::point(&rows).map(|place| levels[place].clone())
}
