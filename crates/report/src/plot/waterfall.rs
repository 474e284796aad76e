//! Waterfalls: a heading for each series, under it a bar for each step from the end of the one before, and a last bar for
//! their sum.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Estimate, Figure, Point, Scale as Kind, Series};
use crosstalk_study::number;

use super::layout::{Drawing, Layout};
use super::palette::Palette;
use super::rows::{self, Bar, Row};
use super::scale::is_drawable;
use super::text::{position_in_words, tooltip};

/// Draws the figure; `None` when no bar can be drawn.
pub fn draw(figure: &Figure, palette: &Palette, layout: &Layout, id: &str) -> Option<Drawing> {
    let rows: Vec<Row> = figure.series.iter().flat_map(|series| steps(figure, palette, series)).collect();
    let total: usize = figure.series.iter().map(|s| s.points.len()).sum();
    rows::draw(figure, &rows, total - rows.len(), layout, id)
}

fn steps(figure: &Figure, palette: &Palette, series: &Series) -> Vec<Row> {
    let published = series.origin == Origin::Published;
    let name = match published {
        true => format!("{}, {}", series.name, series.origin.word()),
        false => series.name.clone(),
    };
    let mut heading = Some(name).filter(|_| figure.series.len() > 1);
    let mut end = 0.0;
    let mut rows = Vec::new();
    for (index, point) in series.points.iter().enumerate() {
        let from = if index + 1 == series.points.len() { 0.0 } else { end };
        let Some(bar) = bar(figure, palette, series, point, from) else { continue };
        end = bar.to;
        rows.push(Row {
            heading: heading.take(),
            label: position_in_words(point, &figure.x),
            quiet: published,
            value: number::value(&point.y, &figure.y.unit),
            bars: vec![bar],
        });
    }
    rows
}

fn bar(figure: &Figure, palette: &Palette, series: &Series, point: &Point, from: f64) -> Option<Bar> {
    let Estimate { value, interval, .. } = point.y;
    is_drawable(from + value, figure.y.scale == Kind::Log).then(|| Bar {
        from,
        to: from + value,
        interval: interval.map(|(low, high)| (from + low, from + high)),
        colour: palette.series_class(&series.name),
        origin: series.origin,
        tip: tooltip(figure, series, point),
    })
}
