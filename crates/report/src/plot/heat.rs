//! A field for each place across and each series below one another, the darker the more,
//! with its value where there is room.
//!
//! What is relative to something has one scale wherever it stands: 1 has no colour, more has one and
//! less another, by the ratio's logarithm. What may be 1, by its interval, has none but a dashed edge.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Axis, Estimate, Figure, Point, Scale, Series};
use crosstalk_study::number;

use super::bars::categories;
use super::layout::{Drawing, Layout};
use super::palette::Palette;
use super::scale::drawable;
use super::svg::{self, text};
use super::words::{across, caption, description, tip};

/// Heights and widths in pixels.
const TOP: f64 = 44.0;
const BOTTOM: f64 = 26.0;
const HIGHEST: f64 = 30.0;
const WIDEST: f64 = 96.0;
/// How opaque the least and the most are: so that the words on them stay legible.
const LIGHT: f64 = 0.12;
const DARK: f64 = 0.55;
/// From where on a ratio is drawn as dark as can be; below 1, from where on its inverse is.
const MOST: f64 = 4.0;

/// The ratios that explain the scale, where a figure has it.
pub fn scale(axis: &Axis) -> &'static [f64] {
    if is_ratio(axis) { &[1.0 / MOST, 0.5, 1.0, 2.0, MOST] } else { &[] }
}

/// A ratio to something else; a share of a whole has no logarithmic scale.
fn is_ratio(axis: &Axis) -> bool {
    axis.unit == "ratio" && axis.scale == Scale::Log
}

/// Whether nothing says on which side of 1 it is. What is computed or printed has no interval and needs none.
fn is_open(y: &Estimate, origin: Origin) -> bool {
    y.interval.map_or(!matches!(origin, Origin::Computed | Origin::Published), |(low, high)| {
        low <= 1.0 && high >= 1.0
    })
}

/// How a ratio is drawn: its colour, and how opaque.
pub fn tint(ratio: f64) -> (String, f64) {
    let share = (ratio.max(f64::MIN_POSITIVE).ln() / MOST.ln()).clamp(-1.0, 1.0);
    (Palette::heat(share < 0.0), DARK * share.abs())
}

/// Draws the figure; `None` when no field can be drawn.
pub fn draw(figure: &Figure, palette: &Palette, layout: &Layout, id: &str) -> Option<Drawing> {
    let field = Field::of(figure, palette, layout)?;
    let inside = field.names() + &field.fields();
    let size = (layout.width, field.bottom() + BOTTOM);
    let svg = svg::picture(id, layout.name, size, &figure.title, &description(figure), &inside);
    let total: usize = figure.series.iter().map(|s| s.points.len()).sum();
    Some(Drawing { svg, named: false, omitted: total - field.drawn().count() })
}

/// What the rows are.
fn down(figure: &Figure) -> String {
    format!("{} ↓", figure.by)
}

struct Field<'a> {
    figure: &'a Figure,
    columns: Vec<String>,
    /// Of the whole picture.
    whole: f64,
    left: f64,
    width: f64,
    height: f64,
    /// The least and the most of its quantity on the page.
    range: (f64, f64),
}

impl<'a> Field<'a> {
    fn of(figure: &'a Figure, palette: &Palette, layout: &Layout) -> Option<Field<'a>> {
        let columns = categories(figure);
        let by = svg::width(&down(figure));
        let longest = figure.series.iter().map(|series| svg::width(&series.name)).fold(by, f64::max);
        let left = (longest + 12.0).min(layout.width / 3.0);
        let width = ((layout.width - left - 4.0) / columns.len().max(1) as f64).min(WIDEST);
        let height = width.clamp(4.0, HIGHEST);
        let field =
            Field { figure, columns, whole: layout.width, left, width, height, range: (f64::NAN, f64::NAN) };
        field.drawn().next()?;
        Some(Field { range: palette.range(&figure.y)?, ..field })
    }

    /// Every point that has a field, with its series and that one's place.
    fn drawn(&self) -> impl Iterator<Item = (usize, &'a Series, &'a Point)> {
        let all = self.figure.series.iter().enumerate();
        let points =
            all.flat_map(|(row, series)| series.points.iter().map(move |point| (row, series, point)));
        points.filter(|(.., point)| drawable(point.y.value, false))
    }

    fn bottom(&self) -> f64 {
        TOP + self.figure.series.len() as f64 * self.height
    }

    /// The names across, above; the series' names at the left; and what they are.
    fn names(&self) -> String {
        let figure = self.figure;
        let mut out = text("label", "start", 0.0, 14.0, &svg::fitted(&caption(&figure.y), self.whole - 16.0));
        let across = format!("{} →", caption(&figure.x));
        out += &text(
            "label",
            "start",
            self.left,
            self.bottom() + 18.0,
            &svg::fitted(&across, self.whole - self.left - 16.0),
        );
        if !figure.by.is_empty() {
            let by = svg::fitted(&down(figure), self.left - 8.0);
            out += &text("label", "end", self.left - 8.0, TOP - 8.0, &by);
        }
        let widest = self.columns.iter().map(|name| svg::width(name) + 4.0).fold(0.0, f64::max);
        let stride = (widest / self.width).ceil().clamp(1.0, self.columns.len() as f64) as usize;
        for (place, name) in self.columns.iter().enumerate().step_by(stride) {
            let at = self.left + place as f64 * self.width;
            let name = svg::fitted(name, self.width * stride as f64 - 4.0);
            // A name that is wider than its column begins with it.
            out += &match stride {
                1 => text("tick", "middle", at + self.width / 2.0, TOP - 8.0, &name),
                _ => text("tick", "start", at, TOP - 8.0, &name),
            };
        }
        let stride = (13.0 / self.height).ceil() as usize;
        for (row, series) in self.figure.series.iter().enumerate().step_by(stride) {
            let middle = TOP + (row as f64 + 0.5) * self.height + 4.0;
            out += &text("tick", "end", self.left - 8.0, middle, &svg::fitted(&series.name, self.left - 8.0));
        }
        out
    }

    fn fields(&self) -> String {
        let one = |(row, series, point): (usize, &Series, &Point)| {
            let place = across(point, &self.figure.x);
            let column = self.columns.iter().position(|name| *name == place).unwrap_or(0);
            let (x, y) = (self.left + column as f64 * self.width, TOP + row as f64 * self.height);
            let open = is_ratio(&self.figure.y) && is_open(&point.y, series.origin);
            let (colour, shade) = if open { tint(1.0) } else { self.look(&point.y) };
            let class = if open { "bar open" } else { "bar" };
            let shape = format!(
                r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}" fill-opacity="{:.2}"/>"#,
                svg::px(x),
                svg::px(y),
                svg::px(self.width - 1.0),
                svg::px(self.height - 1.0),
                shade,
            );
            let words = number::value(&point.y, &self.figure.y.unit);
            let fits = svg::width(&words) < self.width - 2.0 && self.height >= 16.0;
            let (middle, line) = (x + self.width / 2.0, y + self.height / 2.0 + 4.0);
            let words = if fits { text("field", "middle", middle, line, &words) } else { String::new() };
            svg::mark(&colour, series.origin, &tip(self.figure, series, point), &shape) + &words
        };
        self.drawn().map(one).collect()
    }

    /// A value's colour, and how opaque it is: one value alone is the most.
    fn look(&self, y: &Estimate) -> (String, f64) {
        if is_ratio(&self.figure.y) {
            return tint(y.value);
        }
        let (least, most) = self.range;
        let share = if most > least { (y.value - least) / (most - least) } else { 1.0 };
        (Palette::heat(false), LIGHT + (DARK - LIGHT) * share)
    }
}
