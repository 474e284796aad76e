//! Axes: ticks whose labels do not touch, and grid lines.

use super::scale::Scale;
use super::svg::{self, line, text};
use crate::readable;

/// Free pixels between two labels.
const GAP: f64 = 10.0;
/// The greatest width of a label, in pixels: units may be long.
const LONGEST: f64 = 100.0;

/// A tick: a position on an axis with its label.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The position, in pixels.
    pub at: f64,
    /// The label.
    pub label: String,
}

/// The ticks of a numeric axis.
pub fn ticks(scale: &Scale, unit: &str, most: usize) -> Vec<Tick> {
    scale
        .round_values(unit, most)
        .into_iter()
        .filter_map(|v| {
            Some(Tick { at: scale.pixel_of(v)?, label: svg::cut_to_width(&readable::tick(v, unit), LONGEST) })
        })
        .collect()
}

/// Every n-th tick, with the smallest n at which labels do not touch.
pub fn thin_out(ticks: &[Tick]) -> Vec<&Tick> {
    let apart = |kept: &[&Tick]| {
        kept.windows(2).all(|pair| {
            let needed = (svg::text_width(&pair[0].label) + svg::text_width(&pair[1].label)) / 2.0 + GAP;
            (pair[1].at - pair[0].at).abs() >= needed
        })
    };
    (1..=ticks.len().max(1))
        .map(|stride| ticks.iter().step_by(stride).collect::<Vec<_>>())
        .find(|kept| apart(kept))
        .unwrap_or_default()
}

/// Labels under the line at `y`, between 0 and `width`, and a small stroke for every tick.
pub fn draw_ticks_below(ticks: &[Tick], y: f64, width: f64) -> String {
    let strokes: String = ticks.iter().map(|t| line("axis", t.at, y, t.at, y + 4.0)).collect();
    let labels: String = thin_out(ticks)
        .into_iter()
        .map(|t| {
            let half = svg::text_width(&t.label) / 2.0;
            let at = t.at.min(width - half).max(half.min(width / 2.0));
            text("tick", "middle", at, y + 18.0, &t.label)
        })
        .collect();
    strokes + &labels
}

/// Grid lines from `x` to `right` with the labels of the axis upward, which end at `x`.
pub fn draw_grid(ticks: &[Tick], x: f64, right: f64) -> String {
    ticks
        .iter()
        .map(|t| line("grid", x, t.at, right, t.at) + &text("tick", "end", x - 8.0, t.at + 4.0, &t.label))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(at: f64, label: &str) -> Tick {
        Tick { at, label: label.into() }
    }

    #[test]
    fn labels_that_would_touch_are_thinned_evenly() {
        let crowded: Vec<Tick> = (0..8).map(|i| tick(f64::from(i) * 30.0, "16 KiB")).collect();
        let kept: Vec<f64> = thin_out(&crowded).iter().map(|t| t.at).collect();
        assert_eq!(kept, [0.0, 60.0, 120.0, 180.0]);
        let loose: Vec<Tick> = (0..3).map(|i| tick(f64::from(i) * 90.0, "16 KiB")).collect();
        assert_eq!(thin_out(&loose).len(), 3);
        assert!(thin_out(&[]).is_empty());
    }
}
