//! Bars: a heading for each category, under it a bar for each series. Published values follow the series that they belong to.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Figure, Point, Scale as Kind, Series};

use super::layout::{Drawing, Layout};
use super::palette::Palette;
use super::rows::{self, Bar, Row};
use super::scale::is_drawable;
use super::text::{bars_named_by_position, point_value, position_heading, position_in_words, tooltip};

/// Draws the figure; `None` when no bar can be drawn.
pub fn draw(figure: &Figure, palette: &Palette, layout: &Layout, id: &str) -> Option<Drawing> {
    let mut series: Vec<&Series> = figure.series.iter().collect();
    let first = |name: &str| figure.series.iter().position(|s| s.name == name);
    series.sort_by_key(|s| (first(&s.name), s.origin == Origin::Published));
    let one_name = series.iter().all(|s| s.name == series[0].name);

    let mut rows = Vec::new();
    for category in categories(figure) {
        let mut heading =
            (!one_name && !bars_named_by_position(figure)).then(|| position_heading(&category, &figure.x));
        for series in &series {
            for point in series.points.iter().filter(|p| position_in_words(p, &figure.x) == category) {
                if let Some(bar) = bar(figure, palette, series, point) {
                    let name = if one_name { category.as_str() } else { &series.name };
                    let follows_own =
                        rows.last().is_some_and(|row: &Row| row.label == name && heading.is_none());
                    let published = series.origin == Origin::Published;
                    let label = match (published, follows_own) {
                        (true, true) => series.origin.word().to_string(),
                        (true, false) => format!("{name}, published"),
                        (false, _) => name.to_string(),
                    };
                    let value = point_value(figure, &point.y);
                    rows.push(Row {
                        heading: heading.take(),
                        label,
                        quiet: published,
                        value,
                        bars: vec![bar],
                    });
                }
            }
        }
    }
    let total: usize = figure.series.iter().map(|s| s.points.len()).sum();
    rows::draw(figure, &rows, total - rows.len(), layout, id)
}

fn bar(figure: &Figure, palette: &Palette, series: &Series, point: &Point) -> Option<Bar> {
    let category = position_in_words(point, &figure.x);
    // Where one series is measured, a category with the name of a series elsewhere has that series' colour; several are
    // told apart by their own.
    let measured = figure.series.iter().filter(|series| series.origin != Origin::Published).count();
    let name = if measured <= 1 && palette.has_series(&category) { &category } else { &series.name };
    is_drawable(point.y.value, figure.y.scale == Kind::Log).then(|| Bar {
        from: 0.0,
        to: point.y.value,
        interval: point.y.interval,
        colour: palette.series_class(name),
        origin: series.origin,
        tip: tooltip(figure, series, point),
    })
}

/// Categories in the order of their first appearance.
pub fn categories(figure: &Figure) -> Vec<String> {
    let mut seen = Vec::new();
    for point in figure.series.iter().flat_map(|s| &s.points) {
        let name = position_in_words(point, &figure.x);
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
