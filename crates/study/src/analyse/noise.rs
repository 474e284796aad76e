//! The noise floor: how far equal cells differ.
//!
//! A factor named `aa` changes nothing that runs. Cells that differ in it alone are equal, and their difference is
//! noise. An experiment with such a factor is an A/A measurement: it asks nothing itself, and measures the noise of
//! every metric that its cells have. Without one the margins of [`crate::rules`] hold. A measured floor above them
//! replaces them.

use crosstalk_core::value::{Levels, Value};

use super::datum::{Datum, log_ratio};
use super::select::View;
use crate::factor::AA_FACTOR;
use crate::query::MetricQuery;

/// Whether an experiment compares equal cells (A/A), to measure noise.
pub fn is_aa(view: &View) -> bool {
    view.written.factors.contains_key(AA_FACTOR)
}

/// A study's experiments that measure noise by equal cells (A/A).
pub struct Noise<'a> {
    views: Vec<View<'a>>,
}

/// A pair of equal cells, whose difference is noise.
pub struct EqualCells<'a> {
    /// Their experiment.
    experiment: &'a str,
    /// Their experiment's title, else its name.
    pub title: String,
    /// The levels that both share.
    pub at: Levels,
    /// Their log ratios of a metric, by block.
    pub datum: Datum,
}

impl<'a> Noise<'a> {
    /// The noise experiments among `views`.
    pub fn of_views(views: &[View<'a>]) -> Self {
        Noise { views: views.iter().copied().filter(is_aa).collect() }
    }

    /// The equal cells that measure the noise of `metric` in `experiment`: the experiment's own, else all that have
    /// the metric. Empty where none have it.
    pub fn equal_cells_for(&self, experiment: &str, metric: &str) -> Vec<EqualCells<'a>> {
        let query = MetricQuery::new(metric);
        let has = |view: &&View| {
            let planned = &view.experiment.planned.metrics;
            planned.iter().any(|planned| planned.name == query.metric) && reports(view, &query)
        };
        let all: Vec<EqualCells<'a>> =
            self.views.iter().filter(has).flat_map(|view| equal_cells(view, metric)).collect();
        let own = all.iter().any(|equal_cells| equal_cells.experiment == experiment);
        all.into_iter().filter(|equal_cells| !own || equal_cells.experiment == experiment).collect()
    }

    /// The log ratios of these cells by complete block, as a hypothesis takes them.
    pub fn log_ratios_by_block(
        &self,
        experiment: &str,
        metric: &str,
        blocks: &[usize],
    ) -> Vec<Vec<Option<f64>>> {
        self.equal_cells_for(experiment, metric)
            .iter()
            .map(|equal_cells| equal_cells.datum.values_or_none_in(blocks))
            .collect()
    }

    /// The experiment and the deciding metric of each A/A measurement.
    pub fn measurements(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.views.iter().filter_map(|view| Some((view.experiment.name(), view.deciding_metric()?)))
    }
}

/// Whether any counting attempt reports the metric: a workload may report one only with certain parameters. True as
/// long as no attempt counts.
fn reports(view: &View, query: &MetricQuery) -> bool {
    let mut counted = view.experiment.cells.iter().flat_map(|cell| cell.counted_attempts()).peekable();
    counted.peek().is_none()
        || counted.any(|(_, attempt)| attempt.readings.iter().any(|reading| query.matches(reading)))
}

fn equal_cells<'a>(view: &View<'a>, metric: &str) -> Vec<EqualCells<'a>> {
    let levels = view.levels_of(AA_FACTOR, &Levels::new());
    let Some((base, others)) = levels.split_first() else { return Vec::new() };
    let only = |level: &Value| Levels::from([(AA_FACTOR.to_string(), level.clone())]);
    let title = match view.written.title.as_str() {
        "" => view.experiment.name().to_string(),
        title => title.to_string(),
    };
    let of_combination = |mut at: Levels| {
        at.remove(AA_FACTOR);
        let pair = |other: &Value| EqualCells {
            experiment: view.experiment.name(),
            title: title.clone(),
            at: at.clone(),
            datum: log_ratio(view, metric, &at, &only(other), &only(base)),
        };
        others.iter().map(pair).collect::<Vec<_>>()
    };
    view.combinations(&only(base))
        .into_iter()
        .flat_map(|combination| of_combination(combination.levels))
        .collect()
}
