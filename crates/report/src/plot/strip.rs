//! A small drawing of an interval, with a reference or a published value. The text next to it says the same.

use crosstalk_study::findings::Estimate;

use super::scale::Scale;
use super::svg::{self, Whisker, line, marker};

/// Pixels.
const WIDTH: f64 = 132.0;
const HEIGHT: f64 = 18.0;
const EDGE: f64 = 7.0;

/// A small picture of an interval on a line, for a table's row.
pub struct Strip<'a> {
    /// The found value with its interval.
    pub found: Option<&'a Estimate>,
    /// The ends of the interval over the ranges of the model's parameters, drawn thin.
    pub over_ranges: Option<(f64, f64)>,
    /// The published value, drawn hollow.
    pub published: Option<f64>,
    /// The value of no effect, drawn as a thin upright line.
    pub reference: Option<f64>,
    /// Its colour class.
    pub tone: &'static str,
}

/// The scale of strips with these values, logarithmic for ratios.
pub fn strip_scale(values: impl Iterator<Item = f64>, unit: &str) -> Scale {
    Scale::around(values, unit == "ratio", false).widened_by(0.06).onto_pixels(EDGE, WIDTH - EDGE)
}

impl Strip<'_> {
    /// Every value in the strip, for [`strip_scale`].
    pub fn values(&self) -> Vec<f64> {
        let found = self.found.map(|e| (e.value, e.interval));
        let interval = found.and_then(|f| f.1).map(|(low, high)| [low, high]);
        let over_ranges = self.over_ranges.map(|(low, high)| [low, high]);
        let points = [found.map(|f| f.0), self.published, self.reference];
        let ends = interval.into_iter().chain(over_ranges).flatten();
        points.into_iter().flatten().chain(ends).collect()
    }

    /// Draws the strip on a scale.
    pub fn svg(&self, scale: &Scale) -> String {
        let middle = HEIGHT / 2.0;
        let mut inside = line("rail", EDGE, middle, WIDTH - EDGE, middle);
        if let Some(x) = self.reference.and_then(|v| scale.pixel_of(v)) {
            inside += &line("reference", x, 1.0, x, HEIGHT - 1.0);
        }
        if let Some((low, high)) = self.over_ranges
            && let (Some(low), Some(high)) = (scale.pixel_of_end(low), scale.pixel_of_end(high))
        {
            inside += &line("over-ranges", low, middle, high, middle);
        }
        if let Some((low, high)) = self.found.and_then(|e| e.interval)
            && let (Some(low), Some(high)) = (scale.pixel_of_end(low), scale.pixel_of_end(high))
        {
            inside += &Whisker { low, high, at: middle, cap: 4.5 }.draw_horizontal();
        }
        if let Some(x) = self.published.and_then(|v| scale.pixel_of(v)) {
            inside += &format!(r#"<g class="published">{}</g>"#, marker(3, x, middle));
        }
        if let Some(x) = self.found.and_then(|e| scale.pixel_of(e.value)) {
            inside += &marker(0, x, middle);
        }
        let (w, h) = (svg::round_coordinate(WIDTH), svg::round_coordinate(HEIGHT));
        format!(
            r#"<svg class="strip {}" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true">{inside}</svg>"#,
            self.tone
        )
    }
}
