//! One metric against another: a point a level, and which of them no other beats in both.
//!
//! Who beats whom is told by the points; their intervals tell how sure that is.

use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::{Levels, Value};

use super::{Drawing, value};
use crate::analyse::level;
use crate::findings::{Point, Series};

/// What those are called that no other beats,
const FRONTIER: &str = "frontier";
/// and the others.
const DOMINATED: &str = "dominated";

impl Drawing<'_> {
    /// The levels that no other beats in both metrics, in x order, and the others.
    pub(super) fn frontier(&self) -> Vec<Series> {
        let (points, origins): (Vec<Point>, Vec<Origin>) =
            self.told_apart().iter().flatten().filter_map(|level| self.traded(level)).unzip();
        let origin = origins.into_iter().max().unwrap_or(Origin::Measured);
        let beaten = |point: &Point| points.iter().any(|other| self.beats(other, point));
        let (dominated, mut frontier): (Vec<Point>, Vec<Point>) = points.iter().cloned().partition(beaten);
        frontier.sort_by(|a, b| a.x.partial_cmp(&b.x).unwrap_or(std::cmp::Ordering::Equal));
        let all = [(FRONTIER, frontier), (DOMINATED, dominated)].into_iter();
        all.filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Series { name: name.into(), group: String::new(), origin, points })
            .collect()
    }

    /// Where a level stands, by both metrics.
    fn traded(&self, level: &Value) -> Option<(Point, Origin)> {
        let spec = self.spec;
        let at = level::with(&spec.at, &Levels::from([(spec.series.clone(), level.clone())]));
        let (x, from) = value(self.view, &spec.x, &at, None)?;
        let (y, origin) = value(self.view, &spec.metric, &at, spec.relative_to.as_ref())?;
        let point = Point { x: Some(x.value), x_interval: x.interval, label: level.to_string(), y };
        Some((point, origin.max(from)))
    }

    /// As good in both, and better in one.
    fn beats(&self, one: &Point, other: &Point) -> bool {
        let gain = |metric: &str, one: f64, other: f64| match self.view.metric(metric).better {
            Better::Lower => other - one,
            Better::Higher | Better::Neither => one - other,
        };
        let x = gain(&self.spec.x, one.x.unwrap_or(f64::NAN), other.x.unwrap_or(f64::NAN));
        let y = gain(&self.spec.metric, one.y.value, other.y.value);
        x >= 0.0 && y >= 0.0 && (x > 0.0 || y > 0.0)
    }
}
