//! Stacked bars: a heading for each category, under it a bar of parts for each group.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Figure, Scale as Kind, Series};

use super::bars::categories;
use super::layout::{Drawing, Layout};
use super::palette::Palette;
use super::rows::{self, Bar, Row};
use super::scale::is_drawable;
use super::text::{bars_named_by_position, position_heading, position_in_words, tooltip};

/// Draws the figure; `None` when no part can be drawn. Parts below zero cannot be stacked.
pub fn draw(figure: &Figure, palette: &Palette, layout: &Layout, id: &str) -> Option<Drawing> {
    let mut groups: Vec<(&str, Origin)> = Vec::new();
    for series in &figure.series {
        if !groups.contains(&(&series.group, series.origin)) {
            groups.push((&series.group, series.origin));
        }
    }
    let one = groups.len() == 1;
    let categories = categories(figure);
    let mut rows = Vec::new();
    for category in &categories {
        let mut heading = (!one && categories.len() > 1 && !bars_named_by_position(figure))
            .then(|| position_heading(category, &figure.x));
        for (group, origin) in &groups {
            let bars = stack(figure, palette, (group, *origin), category);
            if bars.is_empty() {
                continue;
            }
            let name = if one || group.is_empty() { category } else { *group };
            let published = *origin == Origin::Published;
            let label = if published { format!("{name}, {}", origin.word()) } else { name.to_string() };
            rows.push(Row { heading: heading.take(), label, quiet: published, value: String::new(), bars });
        }
    }
    let total: usize = figure.series.iter().map(|s| s.points.len()).sum();
    let drawn: usize = rows.iter().map(|row| row.bars.len()).sum();
    rows::draw(figure, &rows, total - drawn, layout, id)
}

/// The parts of one bar, each from the end of the one before.
fn stack(figure: &Figure, palette: &Palette, group: (&str, Origin), category: &str) -> Vec<Bar> {
    let in_bar = |series: &&Series| series.group == group.0 && series.origin == group.1;
    let mut bars = Vec::new();
    let mut end = 0.0;
    for series in figure.series.iter().filter(in_bar) {
        for point in series.points.iter().filter(|p| position_in_words(p, &figure.x) == category) {
            let length = point.y.value;
            if length < 0.0 || !is_drawable(end + length, figure.y.scale == Kind::Log) {
                continue;
            }
            bars.push(Bar {
                from: end,
                to: end + length,
                interval: point.y.interval.map(|(low, high)| (end + low, end + high)),
                colour: palette.part_class(&series.name),
                origin: series.origin,
                tip: tooltip(figure, series, point),
            });
            end += length;
        }
    }
    bars
}
