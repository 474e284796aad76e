//! What equal cells show: the floor below which nothing is claimed.
//!
//! A factor named `aa` makes no difference to what runs: cells that differ in
//! it alone are equal, and what differs between them is noise. An experiment
//! with such a factor is the study's A/A measurement; it asks nothing itself,
//! and speaks of every metric that its cells have. Without one the margins are
//! [`BEYOND`] and [`WITHIN`], stated beforehand; a measured floor above them
//! takes their place.

use crosstalk_core::value::{Levels, Value};
use crosstalk_stats::verdict::Margin;

use super::datum::{Datum, log_ratio};
use super::select::View;
use super::summary::Asked;
use crate::factor::EQUAL;

/// A direction is claimed beyond half a percent: what randomised, paired runs on
/// a shared machine may be off by however many they are.
pub const BEYOND: f64 = 0.005;

/// Differences within one percent do not matter: paired runs of one cell spread by as much.
pub const WITHIN: f64 = 0.01;

/// Both, for log ratios.
pub fn margins() -> Margin {
    Margin { beyond: BEYOND.ln_1p(), within: WITHIN.ln_1p() }
}

/// The same where the study says itself within which differences do not matter.
pub fn margins_within(within: f64) -> Margin {
    Margin { within: within.ln_1p(), ..margins() }
}

/// Whether an experiment is an A/A measurement.
pub fn measures(view: &View) -> bool {
    view.written.factors.contains_key(EQUAL)
}

/// A study's A/A measurements.
pub struct Noise<'a> {
    views: Vec<View<'a>>,
}

/// Two equal cells.
pub struct Twins {
    /// The place of their experiment.
    experiment: usize,
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
    pub fn about(&self, experiment: usize, metric: &str) -> Vec<Twins> {
        let asked = Asked::new(metric);
        let has = |view: &&View| {
            let planned = &view.data.experiments[view.index].planned.metrics;
            planned.iter().any(|planned| planned.name == asked.metric) && tells(view, &asked)
        };
        let all: Vec<Twins> = self.views.iter().filter(has).flat_map(|view| twins(view, metric)).collect();
        let own = all.iter().any(|twins| twins.experiment == experiment);
        all.into_iter().filter(|twins| !own || twins.experiment == experiment).collect()
    }

    /// Their log ratios by complete block, as a question takes them.
    pub fn by_position(&self, experiment: usize, metric: &str, blocks: &[usize]) -> Vec<Vec<Option<f64>>> {
        self.about(experiment, metric).iter().map(|twins| twins.datum.by_position(blocks)).collect()
    }

    /// Every measurement's place and deciding metric.
    pub fn measured(&self) -> impl Iterator<Item = (usize, &str)> {
        self.views.iter().filter_map(|view| Some((view.index, view.deciding_metric()?)))
    }
}

/// Whether any attempt that counts tells it: a workload may tell a metric only where it is asked to.
/// As long as none counts, it may.
fn tells(view: &View, asked: &Asked) -> bool {
    let mut counted =
        view.data.experiments[view.index].cells.iter().flat_map(|cell| cell.counted()).peekable();
    counted.peek().is_none()
        || counted.any(|(_, attempt)| attempt.readings.iter().any(|reading| asked.means(reading)))
}

fn twins(view: &View, metric: &str) -> Vec<Twins> {
    let levels = view.levels_of(EQUAL, &Levels::new());
    let Some((base, others)) = levels.split_first() else { return Vec::new() };
    let only = |level: &Value| Levels::from([(EQUAL.to_string(), level.clone())]);
    let title = match view.written.title.as_str() {
        "" => view.data.experiments[view.index].planned.name.clone(),
        title => title.to_string(),
    };
    let of_unit = |mut at: Levels| {
        at.remove(EQUAL);
        let pair = |other: &Value| Twins {
            experiment: view.index,
            title: title.clone(),
            at: at.clone(),
            datum: log_ratio(view, metric, &at, &only(other), &only(base)),
        };
        others.iter().map(pair).collect::<Vec<_>>()
    };
    view.units(&only(base)).into_iter().flat_map(|unit| of_unit(unit.levels)).collect()
}
