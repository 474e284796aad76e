//! One metric against another: a point a level, or a combination of several factors' levels, and which
//! of them no other beats in both.
//!
//! Who beats whom is told by the points; their intervals tell how sure that is.

use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::Value;

use super::Drawing;
use crate::analyse::shown::value;
use crate::findings::{Point, Series};
use crate::level;

/// What those are called that no other beats,
const FRONTIER: &str = "frontier";
/// and the others,
const DOMINATED: &str = "dominated";
/// and a level at which a factor does nothing.
const NONE: &str = "none";

impl Drawing<'_> {
    /// The points that no other beats in both metrics, in x order, and the others.
    pub(super) fn frontier(&self) -> Vec<Series> {
        let (points, origins): (Vec<Point>, Vec<Origin>) =
            self.combinations().iter().filter_map(|levels| self.traded(levels)).unzip();
        let origin = origins.into_iter().max().unwrap_or(Origin::Measured);
        let beaten = |point: &Point| points.iter().any(|other| self.beats(other, point));
        let (dominated, mut frontier): (Vec<Point>, Vec<Point>) = points.iter().cloned().partition(beaten);
        frontier.sort_by(|a, b| a.x.partial_cmp(&b.x).unwrap_or(std::cmp::Ordering::Equal));
        let all = [(FRONTIER, frontier), (DOMINATED, dominated)].into_iter();
        all.filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Series { name: name.into(), group: String::new(), origin, points })
            .collect()
    }

    /// The combinations of levels that make points, the first factor's outermost.
    fn combinations(&self) -> Vec<Vec<(&str, Value)>> {
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

    /// Where a combination stands, by both metrics; none where it was not run.
    fn traded(&self, levels: &[(&str, Value)]) -> Option<(Point, Origin)> {
        let spec = self.spec;
        let own = levels.iter().map(|(factor, level)| ((*factor).into(), level.clone())).collect();
        let at = level::with(&spec.at, &own);
        let (x, from) = value(self.view, &spec.x, &at, None)?;
        let (y, origin) = value(self.view, &spec.metric, &at, spec.relative_to.as_ref())?;
        let point = Point { x: Some(x.value), x_interval: x.interval, label: called(levels), y };
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

/// What a combination is called: its levels, of which `none` says nothing beside others.
fn called(levels: &[(&str, Value)]) -> String {
    let all: Vec<String> = levels.iter().map(|(_, level)| level.to_string()).collect();
    let mut telling: Vec<&str> = all.iter().map(String::as_str).filter(|level| *level != NONE).collect();
    telling.extend(all.first().filter(|_| telling.is_empty()).map(String::as_str));
    telling.join(", ")
}
