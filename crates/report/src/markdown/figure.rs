//! A figure as a table: a row for each position across, a column for each series.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Figure, Point, Series};
use crosstalk_study::number;

use super::escape::text;
use super::grid::grid;
use crate::plot::{frontier, position_in_words};

/// The figure as a table.
pub fn figure(figure: &Figure) -> String {
    let table = match figure.kind {
        _ if figure.series.is_empty() => "No values.\n\n".into(),
        kind if kind.is_of_two_metrics() => points(figure),
        _ => pivot(figure),
    };
    format!("### {}\n\n{}\n\n{table}", text(&figure.title), text(&figure.caption))
}

/// A row for each point, with both of its numbers.
fn points(figure: &Figure) -> String {
    let row = |series: &Series, point: &Point| {
        let x = frontier::position_across(point)
            .map_or(String::new(), |x| number::format_estimate(&x, &figure.x.unit));
        let cells = [&point.label, &x, &number::format_estimate(&point.y, &figure.y.unit), &series.name];
        cells.map(|words| text(words)).to_vec()
    };
    let rows: Vec<Vec<String>> = figure
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| row(series, point)))
        .collect();
    let head = [&figure.by, &figure.x.label, &figure.y.label, ""].map(text).to_vec();
    grid(&head, &[false, true, true, false], &rows)
}

fn pivot(figure: &Figure) -> String {
    let mut positions: Vec<(String, &str)> = Vec::new();
    let mut columns: Vec<(&str, Origin)> = Vec::new();
    for series in &figure.series {
        if !columns.contains(&(&series.name, series.origin)) {
            columns.push((&series.name, series.origin));
        }
        for point in &series.points {
            let position = (position_in_words(point, &figure.x), series.group.as_str());
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
    }
    // The bars of one category are neighbours, as in the drawing.
    let first: Vec<String> = positions.iter().map(|p| p.0.clone()).collect();
    positions.sort_by_key(|position| first.iter().position(|name| *name == position.0));

    let column = |(name, origin): &(&str, Origin)| {
        text(format!("{} {name}, {}", figure.by, origin.word()).trim_start())
    };
    let head: Vec<String> =
        std::iter::once(text(&figure.x.label)).chain(columns.iter().map(column)).collect();
    let right: Vec<bool> = std::iter::once(false).chain(columns.iter().map(|_| true)).collect();
    let rows: Vec<Vec<String>> = positions
        .iter()
        .map(|(position, group)| {
            let name = if group.is_empty() || group == position {
                position.clone()
            } else {
                format!("{position}, {group}")
            };
            let values = columns.iter().map(|column| values(figure, column, position, group));
            std::iter::once(text(&name)).chain(values).collect()
        })
        .collect();
    grid(&head, &right, &rows)
}

/// The values of one column at one position: several where series share a name.
fn values(figure: &Figure, column: &(&str, Origin), position: &str, group: &str) -> String {
    let of_column = |s: &&Series| s.name == column.0 && s.origin == column.1 && s.group == group;
    let here = figure
        .series
        .iter()
        .filter(of_column)
        .flat_map(|s| &s.points)
        .filter(|p| position_in_words(p, &figure.x) == position);
    let words: Vec<String> = here.map(|p| text(&number::format_estimate(&p.y, &figure.y.unit))).collect();
    words.join("; ")
}
