//! A heat map: a column for each category across, a row for each series. Darker is more. A field shows its value where there
//! is room.
//!
//! Ratios have the same scale on every page: 1 has no colour, more and less have one each, by the ratio's logarithm. A ratio
//! whose interval covers 1 has no colour but a dashed edge.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Axis, Estimate, Figure, Point, Scale, Series};
use crosstalk_study::number;

use super::bars::categories;
use super::layout::{Drawing, Layout};
use super::palette::Palette;
use super::scale::is_drawable;
use super::svg::{self, text};
use super::text::{caption, figure_description, position_in_words, tooltip};

/// Heights and widths in pixels.
const TOP: f64 = 44.0;
const BOTTOM: f64 = 26.0;
const HIGHEST: f64 = 30.0;
const WIDEST: f64 = 96.0;
/// The opacity of the least and of the greatest value. Text on them stays legible.
const LIGHT: f64 = 0.12;
const DARK: f64 = 0.55;
/// The ratio from which on fields are darkest; below 1 its inverse.
const DARKEST_RATIO: f64 = 4.0;

/// The ratios in the legend of the scale; empty where an axis is not of ratios.
pub fn legend_ratios(axis: &Axis) -> &'static [f64] {
    if is_ratio(axis) { &[1.0 / DARKEST_RATIO, 0.5, 1.0, 2.0, DARKEST_RATIO] } else { &[] }
}

/// Whether an axis is of ratios to other levels: a share of a whole has no logarithmic scale.
fn is_ratio(axis: &Axis) -> bool {
    axis.unit == "ratio" && axis.scale == Scale::Log
}

/// Whether a ratio may be 1: its interval covers 1, or it has none. Computed and published numbers need no interval.
fn is_open(y: &Estimate, origin: Origin) -> bool {
    y.interval.map_or(!matches!(origin, Origin::Computed | Origin::Published), |(low, high)| {
        low <= 1.0 && high >= 1.0
    })
}

/// The colour class and the opacity of a ratio.
pub fn ratio_colour(ratio: f64) -> (String, f64) {
    let share = (ratio.max(f64::MIN_POSITIVE).ln() / DARKEST_RATIO.ln()).clamp(-1.0, 1.0);
    (Palette::heat_class(share < 0.0), DARK * share.abs())
}

/// Draws the figure; `None` when no field can be drawn.
pub fn draw(figure: &Figure, palette: &Palette, layout: &Layout, id: &str) -> Option<Drawing> {
    let field = Field::of(figure, palette, layout)?;
    let inside = field.names() + &field.fields();
    let size = (layout.width, field.bottom() + BOTTOM);
    let svg = svg::svg_picture(id, layout.name, size, &figure.title, &figure_description(figure), &inside);
    let total: usize = figure.series.iter().map(|s| s.points.len()).sum();
    Some(Drawing { svg, named: false, omitted: total - field.drawn().count() })
}

/// The label of the rows.
fn down(figure: &Figure) -> String {
    format!("{} ↓", figure.by)
}

struct Field<'a> {
    figure: &'a Figure,
    columns: Vec<String>,
    /// The width of the whole picture.
    whole: f64,
    left: f64,
    width: f64,
    height: f64,
    /// The least and the greatest value of its quantity on the page.
    range: (f64, f64),
}

impl<'a> Field<'a> {
    fn of(figure: &'a Figure, palette: &Palette, layout: &Layout) -> Option<Field<'a>> {
        let columns = categories(figure);
        let by = svg::text_width(&down(figure));
        let longest = figure.series.iter().map(|series| svg::text_width(&series.name)).fold(by, f64::max);
        let left = (longest + 12.0).min(layout.width / 3.0);
        let width = ((layout.width - left - 4.0) / columns.len().max(1) as f64).min(WIDEST);
        let height = width.clamp(4.0, HIGHEST);
        let field =
            Field { figure, columns, whole: layout.width, left, width, height, range: (f64::NAN, f64::NAN) };
        field.drawn().next()?;
        Some(Field { range: palette.heat_range(&figure.y)?, ..field })
    }

    /// Every point that can be drawn, with its row and series.
    fn drawn(&self) -> impl Iterator<Item = (usize, &'a Series, &'a Point)> {
        let all = self.figure.series.iter().enumerate();
        let points =
            all.flat_map(|(row, series)| series.points.iter().map(move |point| (row, series, point)));
        points.filter(|(.., point)| is_drawable(point.y.value, false))
    }

    fn bottom(&self) -> f64 {
        TOP + self.figure.series.len() as f64 * self.height
    }

    /// The names of columns and rows, and the labels of both axes.
    fn names(&self) -> String {
        let figure = self.figure;
        let mut out =
            text("label", "start", 0.0, 14.0, &svg::cut_to_width(&caption(&figure.y), self.whole - 16.0));
        let across = format!("{} →", caption(&figure.x));
        out += &text(
            "label",
            "start",
            self.left,
            self.bottom() + 18.0,
            &svg::cut_to_width(&across, self.whole - self.left - 16.0),
        );
        if !figure.by.is_empty() {
            let by = svg::cut_to_width(&down(figure), self.left - 8.0);
            out += &text("label", "end", self.left - 8.0, TOP - 8.0, &by);
        }
        let widest = self.columns.iter().map(|name| svg::text_width(name) + 4.0).fold(0.0, f64::max);
        let stride = (widest / self.width).ceil().clamp(1.0, self.columns.len() as f64) as usize;
        for (index, name) in self.columns.iter().enumerate().step_by(stride) {
            let at = self.left + index as f64 * self.width;
            let name = svg::cut_to_width(name, self.width * stride as f64 - 4.0);
            // A name that is wider than its column begins with it.
            out += &match stride {
                1 => text("tick", "middle", at + self.width / 2.0, TOP - 8.0, &name),
                _ => text("tick", "start", at, TOP - 8.0, &name),
            };
        }
        let stride = (13.0 / self.height).ceil() as usize;
        for (row, series) in self.figure.series.iter().enumerate().step_by(stride) {
            let middle = TOP + (row as f64 + 0.5) * self.height + 4.0;
            out += &text(
                "tick",
                "end",
                self.left - 8.0,
                middle,
                &svg::cut_to_width(&series.name, self.left - 8.0),
            );
        }
        out
    }

    fn fields(&self) -> String {
        let one = |(row, series, point): (usize, &Series, &Point)| {
            let position_across = position_in_words(point, &self.figure.x);
            let column = self.columns.iter().position(|name| *name == position_across).unwrap_or(0);
            let (x, y) = (self.left + column as f64 * self.width, TOP + row as f64 * self.height);
            let open = is_ratio(&self.figure.y) && is_open(&point.y, series.origin);
            let (colour, shade) = if open { ratio_colour(1.0) } else { self.style(&point.y) };
            let class = if open { "bar open" } else { "bar" };
            let shape = format!(
                r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}" fill-opacity="{:.2}"/>"#,
                svg::round_coordinate(x),
                svg::round_coordinate(y),
                svg::round_coordinate(self.width - 1.0),
                svg::round_coordinate(self.height - 1.0),
                shade,
            );
            let words = number::value(&point.y, &self.figure.y.unit);
            let fits = svg::text_width(&words) < self.width - 2.0 && self.height >= 16.0;
            let (middle, line) = (x + self.width / 2.0, y + self.height / 2.0 + 4.0);
            let words = if fits { text("field", "middle", middle, line, &words) } else { String::new() };
            svg::draw_point(&colour, series.origin, &tooltip(self.figure, series, point), &shape) + &words
        };
        self.drawn().map(one).collect()
    }

    /// The colour class and the opacity of a value. A single value has the greatest opacity.
    fn style(&self, y: &Estimate) -> (String, f64) {
        if is_ratio(&self.figure.y) {
            return ratio_colour(y.value);
        }
        let (least, most) = self.range;
        let share = if most > least { (y.value - least) / (most - least) } else { 1.0 };
        (Palette::heat_class(false), LIGHT + (DARK - LIGHT) * share)
    }
}
