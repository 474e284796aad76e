//! One metric against another: named points. Those that no other dominates are joined; or a straight line goes through
//! all, and each point is joined to it.

use crosstalk_study::findings::{Estimate, Figure, FigureKind as Figures, Point, Scale as Kind, Series};
use crosstalk_study::number;

use super::axes;
use super::layout::{Drawing, Layout};
use super::names::{Area, NamePlacer};
use super::scale::Scale;
use super::svg::{self, Whisker, line, sized_marker, text};
use super::text::{caption, figure_description};
use crate::readable;

/// Ticks upward.
const TICKS_UP: usize = 6;
/// Pixels above and below the plot.
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
/// Half the side of a point's square, in pixels.
const POINT: f64 = 6.0;
/// The number of pieces of a slanting line that are kept clear of names.
const PIECES: u32 = 64;

/// The colour class and the marker's shape of a series, by its index: the frontier is the first.
pub fn series_style(index: usize) -> (&'static str, usize) {
    if index == 0 { ("s0", 0) } else { ("ink", 3) }
}

/// Draws the figure; `None` when no point can be drawn.
pub fn draw(figure: &Figure, layout: &Layout, id: &str) -> Option<Drawing> {
    let plot = Plot::of(figure, layout);
    let drawn = plot.drawn().count();
    if drawn == 0 {
        return None;
    }
    let inside = plot.frame() + &plot.curve() + &plot.distances() + &plot.points() + &plot.names();
    let size = (layout.width, layout.height);
    let svg = svg::svg_picture(id, layout.name, size, &figure.title, &figure_description(figure), &inside);
    let total: usize = figure.series.iter().map(|series| series.points.len()).sum();
    Some(Drawing { svg, named: false, omitted: total - drawn })
}

/// A point's position across, with its interval; `None` where it has none.
pub fn position_across(point: &Point) -> Option<Estimate> {
    Some(Estimate { value: point.x?, interval: point.x_interval, n: point.y.n })
}

/// The tooltip of a point.
fn tip(figure: &Figure, series: &Series, point: &Point) -> String {
    let of = |name: &str, number: String| format!("{name}: {number}").trim_start_matches(": ").to_string();
    let behind = readable::sample_size(point.y.n, false);
    let origin = [series.origin.word(), &behind].join(", ");
    [
        format!("{} {}", figure.by, point.label).trim_start().to_string(),
        series.name.clone(),
        of(&figure.y.label, number::format_estimate(&point.y, &figure.y.unit)),
        position_across(point)
            .map_or(String::new(), |x| of(&figure.x.label, number::format_estimate(&x, &figure.x.unit))),
        origin.trim_end_matches(", ").to_string(),
    ]
    .join("\n")
}

/// The pixels of an interval.
fn ends(scale: &Scale, interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let (low, high) = interval?;
    Some((scale.pixel_of_end(low)?, scale.pixel_of_end(high)?))
}

struct Plot<'a> {
    figure: &'a Figure,
    layout: &'a Layout,
    across: Scale,
    up: Scale,
}

impl<'a> Plot<'a> {
    fn of(figure: &'a Figure, layout: &'a Layout) -> Plot<'a> {
        let points = || figure.series.iter().flat_map(|series| &series.points);
        let reach = |e: Estimate| {
            let (low, high) = e.interval.unwrap_or((e.value, e.value));
            [e.value, low, high]
        };
        let up = points().flat_map(|point| reach(point.y));
        // Zero is shown across, where it is the end of what can be gained. Of a ratio upward it says nothing.
        let up = Scale::around(up, figure.y.scale == Kind::Log, false).widened_by(0.04);
        let up = up.widened_to_round(&figure.y.unit, TICKS_UP).onto_pixels(layout.height - BOTTOM, TOP);
        let ticks = axes::ticks(&up, &figure.y.unit, TICKS_UP);
        let widest = ticks.iter().map(|tick| svg::text_width(&tick.label)).fold(12.0, f64::max);
        let left = (widest + 10.0).min(layout.width / 3.0);
        let across = points().filter_map(position_across).flat_map(reach);
        let across = Scale::around(across, figure.x.scale == Kind::Log, true).widened_by(0.04);
        let across =
            across.widened_to_round(&figure.x.unit, layout.ticks).onto_pixels(left, layout.width - 14.0);
        Plot { figure, layout, across, up }
    }

    fn bottom(&self) -> f64 {
        self.layout.height - BOTTOM
    }

    /// The pixel position of a point; `None` where it cannot be drawn.
    fn position(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.across.pixel_of(point.x?)?, self.up.pixel_of(point.y.value)?))
    }

    /// Every point that can be drawn, with its series' index, its series and its position.
    fn drawn(&self) -> impl Iterator<Item = (usize, &'a Series, &'a Point, (f64, f64))> {
        let all = self.figure.series.iter().enumerate();
        let points =
            all.flat_map(|(index, series)| series.points.iter().map(move |point| (index, series, point)));
        points.filter_map(|(index, series, point)| Some((index, series, point, self.position(point)?)))
    }

    fn frame(&self) -> String {
        let (left, right) = (self.across.start, self.across.end);
        let up = axes::ticks(&self.up, &self.figure.y.unit, TICKS_UP);
        let across = axes::ticks(&self.across, &self.figure.x.unit, self.layout.ticks);
        let (middle, below) = ((left + right) / 2.0, self.layout.height - 6.0);
        [
            axes::draw_grid(&up, left, right),
            line("axis", left, self.bottom(), right, self.bottom()),
            axes::draw_ticks_below(&across, self.bottom(), self.layout.width),
            text(
                "label",
                "start",
                0.0,
                14.0,
                &svg::cut_to_width(&caption(&self.figure.y), self.layout.width - 16.0),
            ),
            text(
                "label",
                "middle",
                middle,
                below,
                &svg::cut_to_width(&caption(&self.figure.x), right - left),
            ),
        ]
        .concat()
    }

    /// The line through the points of the frontier.
    fn curve(&self) -> String {
        let frontier: Vec<_> = self.drawn().filter(|(index, ..)| *index == 0).collect();
        let Some((_, first, ..)) = frontier.first() else { return String::new() };
        let steps = frontier
            .iter()
            .map(|(.., (x, y))| format!("{} {}", svg::round_coordinate(*x), svg::round_coordinate(*y)));
        let path = steps.collect::<Vec<_>>().join("L");
        format!(r#"<path class="curve {} {}" d="M{path}"/>"#, series_style(0).0, first.origin.word())
    }

    /// Whether the first series is the line through the others.
    fn has_fit(&self) -> bool {
        self.figure.kind == Figures::Fit && self.figure.series.len() > 1
    }

    /// The points with names: not those that only say where a fitted line is.
    fn named(&self) -> impl Iterator<Item = (usize, &'a Series, &'a Point, (f64, f64))> {
        let fit = self.has_fit();
        self.drawn().filter(move |(index, ..)| !(fit && *index == 0))
    }

    /// From each point upright to the fitted line.
    fn distances(&self) -> String {
        if !self.has_fit() {
            return String::new();
        }
        let fitted = self.drawn().filter(|(index, ..)| *index == 0);
        let of = |label: &str| self.named().find(|(.., point, _)| point.label == label);
        fitted
            .filter_map(|(.., on_line, (x, y))| {
                let (.., (_, found)) = of(&on_line.label)?;
                Some(line("distance", x, y, x, found))
            })
            .collect()
    }

    fn points(&self) -> String {
        // The points of the frontier lie on top.
        let mut drawn: Vec<_> = self.drawn().collect();
        drawn.reverse();
        let mark = |(index, series, point, (x, y)): &(usize, &Series, &Point, (f64, f64))| {
            let whiskers: String = self.whiskers(point, (*x, *y)).concat();
            let (colour, shape) = series_style(*index);
            let size = if *index == 0 && self.has_fit() { 0.6 } else { 1.2 };
            let shape = whiskers + &sized_marker(shape, *x, *y, size);
            svg::draw_point(colour, series.origin, &tip(self.figure, series, point), &shape)
        };
        drawn.iter().map(mark).collect()
    }

    /// The whiskers upward and across; empty where there is no interval.
    fn whiskers(&self, point: &Point, (x, y): (f64, f64)) -> [String; 2] {
        let cap = 3.0;
        [
            ends(&self.up, point.y.interval)
                .map_or(String::new(), |(low, high)| Whisker { low, high, at: x, cap }.draw_upright()),
            ends(&self.across, point.x_interval)
                .map_or(String::new(), |(low, high)| Whisker { low, high, at: y, cap }.draw_horizontal()),
        ]
    }

    /// The areas of whiskers and of the curve.
    fn lines(&self) -> Vec<Area> {
        let whiskers = self.drawn().flat_map(|(_, _, point, (x, y))| {
            let up = ends(&self.up, point.y.interval);
            let across = ends(&self.across, point.x_interval);
            let up = up.map(|(low, high)| Area::along((x, low), (x, high)));
            up.into_iter().chain(across.map(|(low, high)| Area::along((low, y), (high, y))))
        });
        let frontier: Vec<_> = self.drawn().filter(|(index, ..)| *index == 0).map(|(.., at)| at).collect();
        let curve = frontier.windows(2).flat_map(|pair| {
            let [from, to] = [pair[0], pair[1]];
            let between = move |step: u32| {
                let share = f64::from(step) / f64::from(PIECES);
                (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
            };
            (0..=PIECES).map(move |step| Area::about(between(step), 2.0))
        });
        whiskers.chain(curve).collect()
    }

    fn names(&self) -> String {
        let (left, right) = (self.across.start, self.across.end);
        let plot = Area { left, top: TOP - 8.0, right: right + 12.0, bottom: self.bottom() - 2.0 };
        let points: Vec<(f64, f64)> = self.named().map(|(.., at)| at).collect();
        let occupied = points.iter().map(|at| Area::about(*at, POINT)).collect();
        let mut names = NamePlacer::new(plot, occupied, self.lines());
        let name = |(_, _, point, at): (usize, &Series, &Point, (f64, f64))| {
            let word = svg::cut_to_width(&point.label, (right - left) / 2.0);
            names.draw_name(&word, at)
        };
        self.named().map(name).collect()
    }
}
