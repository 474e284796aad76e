//! One metric against another, and the straight line through the points: how far does one explain the other?
//!
//! What is across is read at the cell to which the metric is relative, where there is one: the gain of a faster network
//! against how much time the slower one took.

use crosstalk_core::record::Origin;
use crosstalk_stats::straight_line::{self, StraightLine};

use super::Drawing;
use crate::findings::{Estimate, Point, Series};
use crate::number::format_number;

/// The series of the line, at each point's position.
const LINE: &str = "fitted line";
/// The series of the points.
const POINTS: &str = "found";
/// What the slope's interval may miss.
const ERROR: f64 = 0.05;

impl Drawing<'_> {
    /// The line and the points, and what the line says, for the caption. Without a line there are the points alone.
    pub(super) fn fit(&self) -> (Vec<Series>, String) {
        let base = self.spec.relative_to.as_ref();
        let mut found: Vec<(Point, Origin)> = self
            .combinations()
            .iter()
            .filter_map(|levels| self.point_against(levels, base))
            .filter(|(point, _)| point.y.value.is_finite() && point.x.is_some_and(f64::is_finite))
            .collect();
        found.sort_by(|(a, _), (b, _)| a.x.partial_cmp(&b.x).unwrap_or(std::cmp::Ordering::Equal));
        let (points, origins): (Vec<Point>, Vec<Origin>) = found.into_iter().unzip();
        let at: Vec<(f64, f64)> = points.iter().filter_map(|point| Some((point.x?, point.y.value))).collect();
        let series =
            |name: &str, origin, points| Series { name: name.into(), group: String::new(), origin, points };
        let origin = origins.into_iter().max().unwrap_or(Origin::Measured);
        let Some(line) = straight_line::fit(&at, ERROR) else {
            return (vec![series(POINTS, origin, points)], String::new());
        };
        let told = self.told(&line, &points);
        let fitted = points.iter().map(|point| on_line(&line, point)).collect();
        (vec![series(LINE, Origin::Computed, fitted), series(POINTS, origin, points)], told)
    }

    /// The line in words: its numbers, and each point's distance from it, the furthest first.
    fn told(&self, line: &StraightLine, points: &[Point]) -> String {
        let mut left: Vec<(&str, f64)> = points
            .iter()
            .filter_map(|point| Some((point.label.as_str(), point.y.value - line.at(point.x?))))
            .collect();
        left.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let left: Vec<String> = left.iter().map(|(name, by)| format!("{name} {by:+.3}")).collect();
        let (low, high) = line.slope_interval;
        let interval = match low.is_finite() && high.is_finite() {
            true => format!("{} to {}, 95 %", number(low), number(high)),
            false => "too few points for an interval".into(),
        };
        format!(
            "Line: {} + {} × {} ({interval}; the median of the slopes between points, n = {}). The interval holds how \
             points scatter about the line, and no error that moves all of them. Above or below it: {}.",
            number(line.intercept),
            number(line.slope),
            self.x_axis().label,
            points.len(),
            left.join(", "),
        )
    }
}

/// The line at a point's position.
fn on_line(line: &StraightLine, point: &Point) -> Point {
    let y = Estimate { value: point.x.map_or(f64::NAN, |x| line.at(x)), interval: None, n: point.y.n };
    Point { x: point.x, x_interval: None, label: point.label.clone(), y }
}

fn number(value: f64) -> String {
    format_number(value, "")
}
