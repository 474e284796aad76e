//! What equal cells show: the floor below which nothing is claimed.
//!
//! A factor named `aa` makes no difference to what runs: cells that differ in
//! it alone are equal, and what differs between them is noise. An experiment
//! with such a factor is the study's A/A measurement; it asks nothing itself.
//! Without one the margins are [`BEYOND`] and [`WITHIN`], stated beforehand; a
//! measured floor above them takes their place.

use crosstalk_core::value::{Levels, Value};
use crosstalk_stats::noise;
use crosstalk_stats::verdict::Margin;

use super::datum::{Datum, log_ratio};
use super::select::View;

/// The factor that makes no difference.
const FACTOR: &str = "aa";

/// A direction is claimed beyond half a percent: what randomised, paired runs on
/// a shared machine may be off by however many they are.
pub const BEYOND: f64 = 0.005;

/// Differences within one percent do not matter: paired runs of one cell spread by as much.
pub const WITHIN: f64 = 0.01;

/// Both, for log ratios.
pub fn margins() -> Margin {
    Margin { beyond: BEYOND.ln_1p(), within: WITHIN.ln_1p() }
}

/// Whether an experiment is an A/A measurement.
pub fn measures(view: &View) -> bool {
    view.written.factors.contains_key(FACTOR)
}

/// Equal cells' log ratios of a metric, by block.
pub struct Noise {
    experiment: usize,
    metric: String,
    datum: Datum,
}

/// Every pair of equal cells of these experiments.
pub fn measured(views: &[View]) -> Vec<Noise> {
    views.iter().flat_map(of_experiment).collect()
}

fn of_experiment(view: &View) -> Vec<Noise> {
    let levels = view.levels_of(FACTOR, &Levels::new());
    let (Some((base, others)), Some(metric)) = (levels.split_first(), view.deciding_metric()) else {
        return Vec::new();
    };
    let only = |level: &Value| Levels::from([(FACTOR.to_string(), level.clone())]);
    let of_unit = |at: &Levels| {
        let mut shared = at.clone();
        shared.remove(FACTOR);
        others
            .iter()
            .map(|other| Noise {
                experiment: view.index,
                metric: metric.to_string(),
                datum: log_ratio(view, metric, &shared, &only(other), &only(base)),
            })
            .collect::<Vec<_>>()
    };
    view.units(&only(base)).iter().flat_map(|unit| of_unit(&unit.levels)).collect()
}

/// The noisiest pair that speaks of `metric` in `experiment`: of this
/// experiment, else of any; by complete block, empty where nothing was measured.
pub fn about(all: &[Noise], experiment: usize, metric: &str, blocks: &[usize]) -> Vec<Option<f64>> {
    let own = |n: &&Noise| n.experiment == experiment && n.metric == metric;
    let any = |n: &&Noise| n.metric == metric;
    let candidates: Vec<&Noise> = match all.iter().filter(own).count() {
        0 => all.iter().filter(any).collect(),
        _ => all.iter().filter(own).collect(),
    };
    let noisiest = candidates.into_iter().max_by(|a, b| {
        let size = |n: &Noise| floor_of(n, blocks).unwrap_or(f64::MAX);
        size(a).total_cmp(&size(b))
    });
    noisiest.map(|n| n.datum.by_position(blocks)).unwrap_or_default()
}

/// The largest floor that was measured, as a ratio − 1.
pub fn floor(all: &[Noise], blocks: &[usize]) -> Option<f64> {
    all.iter()
        .filter_map(|n| floor_of(n, blocks))
        .max_by(f64::total_cmp)
        .map(f64::exp_m1)
        .filter(|floor| floor.is_finite())
}

fn floor_of(noise: &Noise, blocks: &[usize]) -> Option<f64> {
    noise::floor(&noise.datum.over(blocks), noise::FLOOR_ERROR)
}
