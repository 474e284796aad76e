//! Horizontal bars in rows under headings, for plain and stacked bars. Names are at their left, values at their right.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Figure, Scale as Kind};

use super::axes;
use super::layout::{Drawing, Layout};
use super::scale::Scale;
use super::svg::{self, Whisker, line, marker, text};
use super::text::{caption, figure_description};

/// One bar, or one part of a stacked bar.
pub struct Bar {
    /// The value at its beginning.
    pub from: f64,
    /// The value at its end.
    pub to: f64,
    /// The interval of its end.
    pub interval: Option<(f64, f64)>,
    /// Its colour class.
    pub colour: String,
    /// Published ones are hatched.
    pub origin: Origin,
    /// Its tooltip.
    pub tip: String,
}

/// One row of a picture: its name and its bars.
pub struct Row {
    /// The heading above it, of the first row of a group.
    pub heading: Option<String>,
    /// The bar's name.
    pub label: String,
    /// Whether its name is in a lighter ink.
    pub quiet: bool,
    /// The text after the bar.
    pub value: String,
    /// Its bars, in order.
    pub bars: Vec<Bar>,
}

/// Heights in pixels.
const TOP: f64 = 26.0;
const HEADING: f64 = 26.0;
const ROW: f64 = 21.0;
const LABEL_ABOVE: f64 = 17.0;
const BAR: f64 = 13.0;
const BOTTOM: f64 = 28.0;
/// The width of bold letters relative to plain ones.
const BOLD: f64 = 1.15;

/// Draws rows of horizontal bars; `None` when there is no bar in any of them.
pub fn draw(figure: &Figure, rows: &[Row], omitted: usize, layout: &Layout, id: &str) -> Option<Drawing> {
    let bars = || rows.iter().flat_map(|row| &row.bars);
    bars().next()?;
    let frame = Frame::of(figure, rows, layout);
    let mut y = TOP;
    // Headings may be longer than names, and cross the axis: they are drawn on top of it.
    let (mut inside, mut headings) = (String::new(), String::new());
    for row in rows {
        headings += &frame.heading(row, &mut y);
        inside += &frame.row(row, &mut y, id);
    }
    let ticks = axes::ticks(&frame.scale, &figure.y.unit, layout.ticks);
    let grid: String = ticks.iter().map(|t| line("grid", t.at, TOP, t.at, y + 4.0)).collect();
    let zero = frame.scale.pixel_of(0.0).map_or(String::new(), |x| line("axis", x, TOP, x, y + 4.0));
    let label =
        text("label", "start", 0.0, 14.0, &svg::cut_to_width(&caption(&figure.y), layout.width - 16.0));
    let axis = axes::draw_ticks_below(&ticks, y + 4.0, layout.width);
    let inside = [defs(id, rows), grid, label, inside, zero, axis, headings].concat();
    let size = (layout.width, y + BOTTOM);
    let svg = svg::svg_picture(id, layout.name, size, &figure.title, &figure_description(figure), &inside);
    Some(Drawing { svg, named: false, omitted })
}

/// The patterns of the published bars.
fn defs(id: &str, rows: &[Row]) -> String {
    let published = rows.iter().flat_map(|row| &row.bars).filter(|bar| bar.origin == Origin::Published);
    let mut colours: Vec<&str> = published.map(|bar| bar.colour.as_str()).collect();
    colours.sort_unstable();
    colours.dedup();
    if colours.is_empty() {
        return String::new();
    }
    let patterns: String = colours.into_iter().map(|colour| svg::hatching(id, colour).0).collect();
    format!("<defs>{patterns}</defs>")
}

struct Frame {
    scale: Scale,
    left: f64,
    /// Whether names are above their bars, because they are too long.
    above: bool,
    width: f64,
}

impl Frame {
    fn of(figure: &Figure, rows: &[Row], layout: &Layout) -> Frame {
        let longest = rows.iter().map(|row| svg::text_width(&row.label)).fold(0.0, f64::max);
        let above = longest > layout.labels;
        let left = if above { 0.0 } else { longest + 10.0 };
        let values = rows.iter().map(|row| svg::text_width(&row.value)).fold(0.0, f64::max);
        let right = layout.width - (values + 10.0).clamp(24.0, layout.width / 3.0);
        let ends = rows.iter().flat_map(|row| &row.bars).flat_map(|bar| {
            let (low, high) = bar.interval.unwrap_or((bar.to, bar.to));
            [bar.from, bar.to, low, high]
        });
        let log = figure.y.scale == Kind::Log;
        let scale = Scale::around(ends, log, true).widened_by(0.01).onto_pixels(left + 2.0, right);
        Frame { scale, left, above, width: layout.width }
    }

    /// The heading of a group of rows; moves `y` to its lower end.
    fn heading(&self, row: &Row, y: &mut f64) -> String {
        let Some(heading) = &row.heading else { return String::new() };
        *y += HEADING;
        text("heading", "start", 0.0, *y - 7.0, &svg::cut_to_width(heading, self.width / BOLD))
    }

    /// One row; moves `y` to its lower end.
    fn row(&self, row: &Row, y: &mut f64, id: &str) -> String {
        let mut out = String::new();
        let class = if row.quiet { "name quiet" } else { "name" };
        if self.above {
            *y += LABEL_ABOVE;
            out += &text(class, "start", 0.0, *y - 3.0, &svg::cut_to_width(&row.label, self.width));
        }
        let middle = *y + ROW / 2.0;
        if !self.above {
            out += &text(class, "end", self.left - 6.0, middle + 4.0, &row.label);
        }
        // Within a stack, whiskers must not hide the parts.
        let cap = if row.bars.len() > 1 { 0.0 } else { 3.5 };
        out += &row.bars.iter().map(|bar| self.bar(bar, middle, cap, id)).collect::<String>();
        let ends = row.bars.iter().flat_map(|bar| [Some(bar.to), Some(bar.from), bar.interval.map(|i| i.1)]);
        let furthest = ends.flatten().filter_map(|v| self.scale.pixel_of_end(v)).fold(self.left, f64::max);
        let value = svg::cut_to_width(&row.value, self.width - furthest - 7.0);
        out += &text(class, "start", furthest + 7.0, middle + 4.0, &value);
        *y += ROW;
        out
    }

    fn bar(&self, bar: &Bar, middle: f64, cap: f64, id: &str) -> String {
        let (Some(from), Some(to)) = (self.scale.pixel_of_end(bar.from), self.scale.pixel_of_end(bar.to))
        else {
            return String::new();
        };
        let fill = match bar.origin {
            Origin::Published => format!(r##" fill="url(#{})""##, svg::hatching(id, &bar.colour).1),
            _ => String::new(),
        };
        // A bar's length means nothing on a logarithmic axis: only its end is drawn.
        let shape = if self.scale.log {
            marker(0, to, middle)
        } else {
            let (x, width) =
                (svg::round_coordinate(from.min(to)), svg::round_coordinate((to - from).abs()).max(0.8));
            format!(
                r#"<rect class="bar"{fill} x="{x}" y="{}" width="{width}" height="{BAR}"/>"#,
                svg::round_coordinate(middle - BAR / 2.0)
            )
        };
        let ends = bar
            .interval
            .and_then(|(low, high)| Some((self.scale.pixel_of_end(low)?, self.scale.pixel_of_end(high)?)));
        let whisker = ends
            .map_or(String::new(), |(low, high)| Whisker { low, high, at: middle, cap }.draw_horizontal());
        svg::draw_point(&bar.colour, bar.origin, &bar.tip, &(shape + &whisker))
    }
}
