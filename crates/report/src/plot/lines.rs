//! A line for each series, over names or numbers, with its name at its end where there is room.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Figure, Mark, Point, Scale as Kind, Series};

use super::axes::{self, Tick};
use super::layout::{Drawing, Layout};
use super::palette::Palette;
use super::scale::{Scale, is_drawable};
use super::svg::{self, Whisker, line, sized_marker, text};
use super::text::{caption, figure_description, position_in_words, tooltip};

/// Ticks upward.
const TICKS_UP: usize = 6;
/// Pixels between the names at the lines' ends.
const NAME_GAP: f64 = 16.0;
/// The greatest distance from a line's end to the names, in pixels.
const LONGEST_LEADER: f64 = 40.0;
/// Pixels between the names of two marks.
const MARK_ROW: f64 = 13.0;
/// Pixels above and below the plot.
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;

/// How much larger the rings of published points are than the dots of others.
const RING: f64 = 1.75;

/// Draws the figure; `None` when no point can be drawn.
pub fn draw(figure: &Figure, palette: &Palette, layout: &Layout, id: &str) -> Option<Drawing> {
    let plot = Plot::of(figure, palette, layout);
    let total: usize = figure.series.iter().map(|s| s.points.len()).sum();
    let drawn: usize =
        figure.series.iter().map(|s| s.points.iter().filter_map(|p| plot.position(p)).count()).sum();
    if drawn == 0 {
        return None;
    }
    let mut order: Vec<&Series> = figure.series.iter().collect();
    // Published points lie on top, as rings: a dot of the same value shows within.
    order.sort_by_key(|series| series.origin == Origin::Published);
    let (curves, marks): (Vec<String>, Vec<String>) = order.iter().map(|series| plot.curve(series)).unzip();
    let curves = curves.concat() + &marks.concat();
    let names = plot.names();
    let inside = plot.frame() + &plot.marks() + &curves + names.as_deref().unwrap_or_default();
    let size = (layout.width, layout.height);
    let svg = svg::svg_picture(id, layout.name, size, &figure.title, &figure_description(figure), &inside);
    Some(Drawing { svg, named: names.is_some(), omitted: total - drawn })
}

/// The axis across: names, evenly spaced, or numbers.
enum Across {
    Names(Vec<String>),
    Numbers(Scale),
}

struct Plot<'a> {
    figure: &'a Figure,
    palette: &'a Palette,
    layout: &'a Layout,
    across: Across,
    up: Scale,
    left: f64,
    right: f64,
}

impl<'a> Plot<'a> {
    fn of(figure: &'a Figure, palette: &'a Palette, layout: &'a Layout) -> Plot<'a> {
        let log = figure.y.scale == Kind::Log;
        let values = points(figure).flat_map(|p| {
            let (low, high) = p.y.interval.unwrap_or((p.y.value, p.y.value));
            [p.y.value, low, high]
        });
        let up = Scale::around(values, log, true).widened_by(0.02).widened_to_round(&figure.y.unit, TICKS_UP);
        let up = up.onto_pixels(layout.height - BOTTOM, TOP);
        let widest = axes::ticks(&up, &figure.y.unit, TICKS_UP)
            .iter()
            .map(|t| svg::text_width(&t.label))
            .fold(12.0, f64::max);
        let left = (widest + 10.0).min(layout.width / 3.0);
        let right = layout.width - layout.names.max(14.0);
        let log = figure.x.scale == Kind::Log;
        let numbers = || points(figure).filter_map(|p| p.x).filter(move |x| is_drawable(*x, log));
        let across = if figure.x.scale == Kind::Category || numbers().next().is_none() {
            let mut names = Vec::new();
            for point in points(figure) {
                let name = position_in_words(point, &figure.x);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Across::Names(names)
        } else {
            Across::Numbers(Scale::around(numbers(), log, false).onto_pixels(left + 14.0, right - 14.0))
        };
        Plot { figure, palette, layout, across, up, left, right }
    }

    /// The pixel position of a point; `None` where it cannot be drawn.
    fn position(&self, point: &Point) -> Option<(f64, f64)> {
        let x = match &self.across {
            Across::Names(names) => self.slot(
                names.iter().position(|n| *n == position_in_words(point, &self.figure.x))?,
                names.len(),
            ),
            Across::Numbers(scale) => scale.pixel_of(point.x?)?,
        };
        Some((x, self.up.pixel_of(point.y.value)?))
    }

    fn slot(&self, index: usize, of: usize) -> f64 {
        self.left + (index as f64 + 0.5) / of as f64 * (self.right - self.left)
    }

    fn frame(&self) -> String {
        let bottom = self.layout.height - BOTTOM;
        let up = axes::ticks(&self.up, &self.figure.y.unit, TICKS_UP);
        let middle = (self.left + self.right) / 2.0;
        let room = self.layout.width - 16.0;
        [
            axes::draw_grid(&up, self.left, self.right),
            line("axis", self.left, bottom, self.right, bottom),
            axes::draw_ticks_below(&self.ticks_across(), bottom, self.layout.width),
            text("label", "start", 0.0, 14.0, &svg::cut_to_width(&caption(&self.figure.y), room)),
            text(
                "label",
                "middle",
                middle,
                self.layout.height - 6.0,
                &svg::cut_to_width(&caption(&self.figure.x), self.right - self.left),
            ),
        ]
        .concat()
    }

    /// Named positions across: an upright line each, with the names one below the other.
    fn marks(&self) -> String {
        let Across::Numbers(scale) = &self.across else { return String::new() };
        let (left, right) = (self.left, self.right);
        let positions = self.figure.marks.iter().filter_map(|mark| Some((mark, scale.pixel_of(mark.x)?)));
        let drawn = positions.filter(|(_, at)| (left..=right).contains(at));
        let mark = |(row, (mark, at)): (usize, (&Mark, f64))| {
            let y = TOP + MARK_ROW * (row as f64 + 1.0);
            // Without room at the right, the name is at the left of its line.
            let (anchor, x) = if at + 4.0 + svg::text_width(&mark.name) > right {
                ("end", at - 4.0)
            } else {
                ("start", at + 4.0)
            };
            line("place", at, TOP, at, self.layout.height - BOTTOM) + &text("tick", anchor, x, y, &mark.name)
        };
        drawn.enumerate().map(mark).collect()
    }

    /// Ticks at the numbers across where these are few, else at round numbers.
    fn ticks_across(&self) -> Vec<Tick> {
        match &self.across {
            Across::Names(names) => {
                let room = ((self.right - self.left) / names.len() as f64 - 10.0).max(48.0);
                let tick = |(i, name): (usize, &String)| Tick {
                    at: self.slot(i, names.len()),
                    label: svg::cut_to_width(name, room),
                };
                names.iter().enumerate().map(tick).collect()
            }
            Across::Numbers(scale) => {
                let mut own: Vec<Tick> = points(self.figure)
                    .filter_map(|p| {
                        Some(Tick {
                            at: scale.pixel_of(p.x?)?,
                            label: svg::cut_to_width(&position_in_words(p, &self.figure.x), 90.0),
                        })
                    })
                    .collect();
                own.sort_by(|a, b| a.at.total_cmp(&b.at));
                own.dedup_by(|a, b| a.at == b.at);
                if own.len() <= 16 { own } else { axes::ticks(scale, &self.figure.x.unit, self.layout.ticks) }
            }
        }
    }

    /// The line, broken where a point cannot be drawn, and the points with their intervals.
    fn curve(&self, series: &Series) -> (String, String) {
        let colour = self.palette.series_class(&series.name);
        let mut path = String::new();
        let mut pen = 'M';
        let mut marks = String::new();
        for point in &series.points {
            let Some((x, y)) = self.position(point) else {
                pen = 'M';
                continue;
            };
            path += &format!("{pen}{} {}", svg::round_coordinate(x), svg::round_coordinate(y));
            pen = 'L';
            let ends = point
                .y
                .interval
                .and_then(|(low, high)| Some((self.up.pixel_of_end(low)?, self.up.pixel_of_end(high)?)));
            let whisker = ends
                .map_or(String::new(), |(low, high)| Whisker { low, high, at: x, cap: 3.0 }.draw_upright());
            let size = if series.origin == Origin::Published { RING } else { 1.0 };
            let shape = whisker + &sized_marker(self.palette.series_index(&series.name), x, y, size);
            marks += &svg::draw_point(&colour, series.origin, &tooltip(self.figure, series, point), &shape);
        }
        let origin = series.origin.word();
        (format!(r#"<path class="curve {colour} {origin}" d="{path}"/>"#), marks)
    }

    /// Each line's name at its end, with gaps between names; `None` where there is no room.
    fn names(&self) -> Option<String> {
        let mut ends: Vec<(&str, f64, f64)> = Vec::new();
        let own = |series: &&Series| series.origin != Origin::Published;
        let ordered =
            self.figure.series.iter().filter(own).chain(self.figure.series.iter().filter(|s| !own(s)));
        for series in ordered {
            let end = series.points.iter().rev().find_map(|p| self.position(p));
            if let Some((x, y)) = end.filter(|_| !ends.iter().any(|(name, ..)| *name == series.name)) {
                ends.push((&series.name, x, y));
            }
        }
        let (top, bottom) = (TOP, self.layout.height - BOTTOM);
        let fits = ends.len() as f64 * NAME_GAP <= bottom - top;
        let words_fit = ends.iter().all(|(name, ..)| svg::text_width(name) + 16.0 <= self.layout.names);
        // A leader line across the plot would read as data.
        let last = ends.iter().map(|end| end.1).fold(self.left, f64::max);
        let side_by_side = ends.iter().all(|end| last - end.1 < LONGEST_LEADER);
        if !fits || !words_fit || !side_by_side {
            return None;
        }
        ends.sort_by(|a, b| a.2.total_cmp(&b.2));
        let wanted: Vec<f64> = ends.iter().map(|end| end.2).collect();
        let placed = spread(&wanted, NAME_GAP, top, bottom);
        let at = self.right + 10.0;
        let name = |((name, x, y), to): (&(&str, f64, f64), f64)| {
            let colour = self.palette.series_class(name);
            let leader = line(&format!("leader {colour}"), x + 7.0, *y, at - 2.0, to);
            leader + &text("name", "start", at + 3.0, to + 4.0, name)
        };
        Some(ends.iter().zip(placed).map(name).collect())
    }
}

fn points(figure: &Figure) -> impl Iterator<Item = &Point> {
    figure.series.iter().flat_map(|series| &series.points)
}

/// The nearest positions to `wanted` (ascending) with gaps of at least `gap`, between `low` and `high`.
fn spread(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut placed = wanted.to_vec();
    let mut least = low;
    for at in &mut placed {
        *at = at.max(least);
        least = *at + gap;
    }
    let mut most = high;
    for at in placed.iter_mut().rev() {
        *at = at.min(most);
        most = *at - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_gaps_and_stay_in_the_plot() {
        assert_eq!(spread(&[50.0, 52.0, 90.0], 16.0, 0.0, 100.0), [50.0, 66.0, 90.0]);
        assert_eq!(spread(&[95.0, 99.0], 16.0, 0.0, 100.0), [84.0, 100.0]);
    }
}
