//! One metric against another: a point for each level, or for each combination of several factors' levels. The Pareto
//! frontier are the points that no other dominates.
//!
//! Points decide about dominance. Their intervals show how sure that is.

use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::{Levels, Value};

use super::Drawing;
use crate::analyse::cell_value::mean_at;
use crate::findings::{Point, Series};
use crate::level;

/// The series of points that no other dominates.
const FRONTIER: &str = "frontier";
/// The series of the other points.
const DOMINATED: &str = "dominated";
/// A level at which a factor does nothing.
const NONE: &str = "none";

impl Drawing<'_> {
    /// The points that no other dominates, in x order, and the others.
    pub(super) fn frontier(&self) -> Vec<Series> {
        let (points, origins): (Vec<Point>, Vec<Origin>) =
            self.combinations().iter().filter_map(|levels| self.point_against(levels, None)).unzip();
        let origin = origins.into_iter().max().unwrap_or(Origin::Measured);
        let dominated_by_another = |point: &Point| points.iter().any(|other| self.dominates(other, point));
        let (dominated, mut frontier): (Vec<Point>, Vec<Point>) =
            points.iter().cloned().partition(dominated_by_another);
        frontier.sort_by(|a, b| a.x.partial_cmp(&b.x).unwrap_or(std::cmp::Ordering::Equal));
        let all = [(FRONTIER, frontier), (DOMINATED, dominated)].into_iter();
        all.filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Series { name: name.into(), group: String::new(), origin, points })
            .collect()
    }

    /// The combinations of levels that make points, the last factor's level changing fastest.
    pub(super) fn combinations(&self) -> Vec<Vec<(&str, Value)>> {
        let mut all = vec![Vec::new()];
        for factor in self.spec.series.all() {
            let levels = self.view.levels_of(factor, &self.spec.at);
            let more = |one: &Vec<_>| -> Vec<_> {
                let one = |level: &Value| [one.as_slice(), &[(factor.as_str(), level.clone())]].concat();
                levels.iter().map(one).collect()
            };
            all = all.iter().flat_map(more).collect();
        }
        all
    }

    /// The point of a combination, by both metrics, what is across at the cell with the levels `across`; `None` where it was
    /// not run.
    pub(super) fn point_against(
        &self,
        levels: &[(&str, Value)],
        across: Option<&Levels>,
    ) -> Option<(Point, Origin)> {
        let spec = self.spec;
        let levels_here = levels.iter().map(|(factor, level)| ((*factor).into(), level.clone())).collect();
        let at = level::overlaid(&spec.at, &levels_here);
        let there = across.map_or_else(|| at.clone(), |across| level::overlaid(&at, across));
        let (x, from) = mean_at(self.view, &spec.x, &there, None)?;
        let (y, origin) = mean_at(self.view, &spec.metric, &at, spec.relative_to.as_ref())?;
        let point = Point { x: Some(x.value), x_interval: x.interval, label: combination_name(levels), y };
        Some((point, origin.max(from)))
    }

    /// Whether `one` is as good as `other` in both metrics, and better in one.
    fn dominates(&self, one: &Point, other: &Point) -> bool {
        let gain = |metric: &str, one: f64, other: f64| match self.view.metric(metric).better {
            Better::Lower => other - one,
            Better::Higher | Better::Neither => one - other,
        };
        let x = gain(&self.spec.x, one.x.unwrap_or(f64::NAN), other.x.unwrap_or(f64::NAN));
        let y = gain(&self.spec.metric, one.y.value, other.y.value);
        x >= 0.0 && y >= 0.0 && (x > 0.0 || y > 0.0)
    }
}

/// The name of a combination: its levels, without `none` where there are others.
fn combination_name(levels: &[(&str, Value)]) -> String {
    let all: Vec<String> = levels.iter().map(|(_, level)| level.to_string()).collect();
    let mut names: Vec<&str> = all.iter().map(String::as_str).filter(|level| *level != NONE).collect();
    names.extend(all.first().filter(|_| names.is_empty()).map(String::as_str));
    names.join(", ")
}
