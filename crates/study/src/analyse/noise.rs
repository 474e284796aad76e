//! What equal cells show: the floor below which nothing is claimed.
//!
//! A factor named `aa` makes no difference to what runs: cells that differ in
//! it alone are equal, and what differs between them is noise. An experiment
//! with such a factor is the study's A/A measurement; it asks nothing itself,
//! and speaks of every metric that its cells have. Without one the margins are
//! those of [`crate::rules`], stated beforehand; a measured floor above them
//! takes their place.

use crosstalk_core::value::{Levels, Value};

use super::datum::{Datum, log_ratio};
use super::select::View;
use crate::factor::EQUAL;
use crate::query::MetricQuery;

/// Whether an experiment is an A/A measurement.
pub fn measures(view: &View) -> bool {
    view.written.factors.contains_key(EQUAL)
}

/// A study's A/A measurements.
pub struct Noise<'a> {
    views: Vec<View<'a>>,
}

/// Two equal cells.
pub struct Twins<'a> {
    /// Their experiment.
    experiment: &'a str,
    /// Their experiment in words.
    pub title: String,
    /// The levels that both have.
    pub at: Levels,
    /// Their log ratios of a metric, by block.
    pub datum: Datum,
}

impl<'a> Noise<'a> {
    /// Those among `views`.
    pub fn among(views: &[View<'a>]) -> Self {
        Noise { views: views.iter().copied().filter(measures).collect() }
    }

    /// The equal cells that tell the noise of `metric` in `experiment`: its own,
    /// else all that have the metric. None where no equal cells have it.
    pub fn about(&self, experiment: &str, metric: &str) -> Vec<Twins<'a>> {
        let query = MetricQuery::new(metric);
        let has = |view: &&View| {
            let planned = &view.experiment.planned.metrics;
            planned.iter().any(|planned| planned.name == query.metric) && tells(view, &query)
        };
        let all: Vec<Twins<'a>> =
            self.views.iter().filter(has).flat_map(|view| twins(view, metric)).collect();
        let own = all.iter().any(|twins| twins.experiment == experiment);
        all.into_iter().filter(|twins| !own || twins.experiment == experiment).collect()
    }

    /// Their log ratios by complete block, as a question takes them.
    pub fn by_position(&self, experiment: &str, metric: &str, blocks: &[usize]) -> Vec<Vec<Option<f64>>> {
        self.about(experiment, metric).iter().map(|twins| twins.datum.by_position(blocks)).collect()
    }

    /// Every measurement's experiment and deciding metric.
    pub fn measured(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.views.iter().filter_map(|view| Some((view.experiment.name(), view.deciding_metric()?)))
    }
}

/// Whether any attempt that counts tells it: a workload may tell a metric only where it is asked to.
/// As long as none counts, it may.
fn tells(view: &View, query: &MetricQuery) -> bool {
    let mut counted = view.experiment.cells.iter().flat_map(|cell| cell.counted()).peekable();
    counted.peek().is_none()
        || counted.any(|(_, attempt)| attempt.readings.iter().any(|reading| query.means(reading)))
}

fn twins<'a>(view: &View<'a>, metric: &str) -> Vec<Twins<'a>> {
    let levels = view.levels_of(EQUAL, &Levels::new());
    let Some((base, others)) = levels.split_first() else { return Vec::new() };
    let only = |level: &Value| Levels::from([(EQUAL.to_string(), level.clone())]);
    let title = match view.written.title.as_str() {
        "" => view.experiment.name().to_string(),
        title => title.to_string(),
    };
    let of_unit = |mut at: Levels| {
        at.remove(EQUAL);
        let pair = |other: &Value| Twins {
            experiment: view.experiment.name(),
            title: title.clone(),
            at: at.clone(),
            datum: log_ratio(view, metric, &at, &only(other), &only(base)),
        };
        others.iter().map(pair).collect::<Vec<_>>()
    };
    view.units(&only(base)).into_iter().flat_map(|unit| of_unit(unit.levels)).collect()
}
