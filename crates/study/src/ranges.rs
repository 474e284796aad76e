//! What cells show on clusters whose parameters are drawn from their ranges: `ranges.json` of a run.
//!
//! An interval over a run's blocks holds the noise of the machine. How far the parameters of an emulated cluster may be from
//! the truth is in their ranges ([`crate::uncertain`]). So the work of each cell is replayed on clusters all over these
//! ranges, and a claim's number is computed on each of them.

use crosstalk_core::cell::CellId;
use crosstalk_core::record::{Labels, Reading};
use crosstalk_stats::latin::hypercube;
use crosstalk_stats::rng::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::file::{Claim, Study};
use crate::part::TIME_PREFIX;
use crate::plan::PlannedExperiment;
use crate::query::MetricQuery;
use crate::ranged_parameter::RangedParameter;
use crate::uncertain::Uncertainty;

/// The version of `ranges.json`.
pub const RANGES_SCHEMA: &str = "crosstalk.ranges/1";

/// How many clusters are drawn from the ranges together. Of 200, five lie beyond each end of the middle 95 %.
const DRAWN: usize = 200;
/// Where in its range a parameter stands, while all others have their values.
const ALONE: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// What cells show over the ranges of the clusters' parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranges {
    /// [`RANGES_SCHEMA`].
    pub schema: String,
    /// The parameters that have a range, in the order of their names.
    pub parameters: Vec<RangedParameter>,
    /// By cluster: where in its range each parameter stands, from 0 to 1. The first one has the parameters' own values; then
    /// come those that are drawn from all ranges together, then [`ALONE`] of each parameter.
    pub clusters: Vec<Vec<f64>>,
    /// What each cell showed.
    pub cells: Vec<RangedCell>,
}

/// What a cell showed on each cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangedCell {
    /// Its identity.
    #[serde(flatten)]
    pub id: CellId,
    /// Its readings.
    pub readings: Vec<RangedReading>,
}

/// A reading of one number, on each cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangedReading {
    /// The metric.
    pub metric: String,
    /// The part of the scene that it is about.
    #[serde(default)]
    pub labels: Labels,
    /// The number on each cluster, in their order.
    pub values: Vec<f64>,
}

impl Ranges {
    /// The clusters to replay on, drawn by `seed`; no cells yet.
    pub fn of(uncertainty: &Uncertainty, seed: u64) -> Self {
        let own = uncertainty.values();
        let drawn = hypercube(own.len(), DRAWN, &mut Rng::seeded(seed));
        let alone = (0..own.len()).flat_map(|parameter| {
            let own = &own;
            ALONE.into_iter().map(move |point| {
                let mut points = own.clone();
                points[parameter] = point;
                points
            })
        });
        Ranges {
            schema: RANGES_SCHEMA.into(),
            parameters: uncertainty.parameters.iter().map(|(_, ranged)| ranged.clone()).collect(),
            clusters: std::iter::once(own.clone()).chain(drawn).chain(alone).collect(),
            cells: Vec::new(),
        }
    }

    /// Adds what a cell showed: its readings on each cluster. Only those of one number are kept, and only where each
    /// cluster has them.
    pub fn add(&mut self, id: CellId, on_clusters: &[Vec<Reading>]) {
        let first = on_clusters.first().map(Vec::as_slice).unwrap_or_default();
        let readings = first.iter().enumerate().filter_map(|(index, reading)| {
            let same =
                |other: &&Reading| (&other.metric, &other.labels) == (&reading.metric, &reading.labels);
            let values = on_clusters
                .iter()
                .map(|readings| readings.get(index).filter(same).and_then(Reading::number))
                .collect::<Option<Vec<f64>>>()?;
            Some(RangedReading { metric: reading.metric.clone(), labels: reading.labels.clone(), values })
        });
        self.cells.push(RangedCell { id, readings: readings.collect() });
    }

    /// Whether both are over the same clusters.
    pub fn has_clusters_of(&self, other: &Ranges) -> bool {
        self.parameters == other.parameters && self.clusters == other.clusters
    }

    /// Adds the cells of earlier ones that it does not have itself.
    pub fn keep_other_cells_of(&mut self, earlier: Ranges) {
        let own: BTreeSet<&CellId> = self.cells.iter().map(|cell| &cell.id).collect();
        let others: Vec<RangedCell> =
            earlier.cells.into_iter().filter(|cell| !own.contains(&cell.id)).collect();
        self.cells.splice(0..0, others);
    }

    /// The numbers of the clusters that are drawn from all ranges together, of `values` by cluster.
    pub fn drawn<'v, T>(&self, values: &'v [T]) -> &'v [T] {
        values.get(1..=DRAWN).unwrap_or_default()
    }

    /// For a parameter: where it stands in its range, and the number there, of `values` by cluster.
    pub fn alone<'v, T: Copy>(
        &self,
        parameter: usize,
        values: &'v [T],
    ) -> impl Iterator<Item = (f64, T)> + 'v {
        let from = 1 + DRAWN + parameter * ALONE.len();
        ALONE.into_iter().zip(values.iter().skip(from).copied())
    }
}

/// The metrics of an experiment that claims or comparisons ask for.
pub struct RequestedMetrics(BTreeSet<String>);

/// What a study asks of a planned experiment.
pub fn requested_metrics(study: &Study, planned: &PlannedExperiment) -> RequestedMetrics {
    let is_about = |claim: &&Claim| claim.experiments().any(|(_, name)| name == planned.name);
    let claims = study.claim.values().filter(is_about);
    let compare = study.experiment.get(&planned.name).and_then(|experiment| experiment.compare.as_ref());
    let first = || planned.metrics.first().map(|metric| metric.name.clone());
    let compared = compare.and_then(|compare| compare.metric.clone().or_else(first));
    let queries = claims.flat_map(Claim::metrics).map(String::from).chain(compared);
    let metrics = queries.flat_map(|query| {
        let query = MetricQuery::new(&query);
        // A share is of all parts of the time.
        if query.share { vec![TIME_PREFIX.to_string()] } else { vec![query.metric.to_string()] }
    });
    RequestedMetrics(metrics.collect())
}

impl RequestedMetrics {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a metric is asked for, by itself or as a part of the time.
    pub fn has(&self, metric: &str) -> bool {
        self.0.contains(metric) || metric.starts_with(TIME_PREFIX) && self.0.contains(TIME_PREFIX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::record::Origin;
    use crosstalk_core::value::Levels;

    fn two_parameters() -> Ranges {
        let parameter = |name: &str| RangedParameter {
            name: name.into(),
            value: 1.0,
            low: 0.5,
            high: 2.0,
            unit: String::new(),
        };
        let (uncertainty, seed) = (Uncertainty::default(), 1);
        let mut ranges = Ranges::of(&uncertainty, seed);
        assert_eq!(ranges.clusters.len(), 1 + DRAWN);
        ranges.parameters = vec![parameter("a"), parameter("b")];
        ranges.clusters.extend((0..2 * ALONE.len()).map(|_| Vec::new()));
        ranges
    }

    #[test]
    fn numbers_of_clusters_are_those_drawn_together_and_those_of_one_parameter() {
        let ranges = two_parameters();
        let values: Vec<usize> = (0..ranges.clusters.len()).collect();
        assert_eq!(ranges.drawn(&values), (1..=DRAWN).collect::<Vec<_>>());
        let of_second: Vec<_> = ranges.alone(1, &values).collect();
        let first = 1 + DRAWN + ALONE.len();
        assert_eq!(of_second, ALONE.into_iter().zip(first..).collect::<Vec<_>>());
    }

    #[test]
    fn a_reading_that_some_cluster_lacks_is_left_out() {
        let mut ranges = two_parameters();
        let number = |metric: &str, value| Reading::value(metric, value, Origin::Simulated);
        let whole = |value| vec![number("time", value), number("wait", value)];
        let mut on = vec![whole(1.0); ranges.clusters.len()];
        on[3].pop();
        ranges.add(CellId::new("graph", Levels::new()), &on);
        let kept: Vec<&str> = ranges.cells[0].readings.iter().map(|one| one.metric.as_str()).collect();
        assert_eq!(kept, ["time"]);
    }
}
