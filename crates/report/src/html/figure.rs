//! A figure: title, legend, drawings, caption, and a table of all values.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Figure, FigureKind, Point, Series};
use crosstalk_study::number;

use super::escape::{Prose, Text};
use crate::plot::{self, Layout, NARROW, Palette, WIDE, draw, frontier, heat, position_in_words};
use crate::readable;

/// A figure as HTML; `index` is its unique number on the page.
pub fn figure(figure: &Figure, palette: &Palette, index: usize) -> String {
    let drawings = [WIDE, NARROW].map(|layout: Layout| {
        draw(figure, palette, &layout, &format!("figure-{index}-{}", layout.name))
            .map(|drawing| (layout, drawing))
    });
    let [Some((_, wide)), Some((_, narrow))] = drawings else {
        return frame(figure, index, r#"<p class="nothing">There is no value to draw.</p>"#.into());
    };
    let omitted = match wide.omitted {
        0 => String::new(),
        1 => r#"<p class="omitted">One value has no place on these axes; see the table.</p>"#.into(),
        n => format!(r#"<p class="omitted">{n} values have no place on these axes; see the table.</p>"#),
    };
    let plot = format!(
        r#"{}<div class="plots" tabindex="0" role="group" aria-label="{}: values can be read with the arrow keys">{}{}</div>{omitted}"#,
        legend(figure, palette, wide.named),
        Text(&figure.title),
        wide.svg,
        narrow.svg,
    );
    frame(figure, index, plot)
}

fn frame(figure: &Figure, index: usize, plot: String) -> String {
    format!(
        r#"<figure id="figure-{index}"><h3>{}</h3>{plot}<figcaption>{}</figcaption>{}</figure>"#,
        Prose(&figure.title),
        Prose(&figure.caption),
        values(figure)
    ) + "\n"
}

/// The series' names with their swatches, and how each origin is drawn. With `named`, the wide drawing has the names at its
/// lines.
fn legend(figure: &Figure, palette: &Palette, named: bool) -> String {
    let stacked = figure.kind == FigureKind::Stacked;
    let mut names: Vec<&str> = Vec::new();
    let mut origins: Vec<Origin> = Vec::new();
    for series in &figure.series {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
        if !origins.contains(&series.origin) {
            origins.push(series.origin);
        }
    }
    let name = |(index, name): (usize, &&str)| {
        let (colour, sign) = match figure.kind {
            FigureKind::Lines => (palette.series_class(name), Sign::Line(palette.series_index(name))),
            kind if kind.is_of_two_metrics() => {
                let (colour, shape) = frontier::series_style(index);
                (colour.into(), if index == 0 { Sign::Line(shape) } else { Sign::Dot(shape) })
            }
            _ => (palette.part_class(name), Sign::Bar),
        };
        format!("<li>{}{}</li>", swatch(&colour, Origin::Measured, sign), Text(name))
    };
    // Bars have names next to them; lines, points and the parts of stacks need a legend.
    let names: String = match figure.kind {
        FigureKind::Bars | FigureKind::Waterfall | FigureKind::Heat => String::new(),
        FigureKind::Lines | FigureKind::Stacked | FigureKind::Frontier | FigureKind::Fit => {
            names.iter().enumerate().map(name).collect()
        }
    };
    let origin = |origin: &Origin| {
        let sign = match figure.kind {
            FigureKind::Lines => Sign::Line(0),
            kind if kind.is_of_two_metrics() => Sign::Dot(0),
            _ => Sign::Bar,
        };
        format!("<li>{}{}</li>", swatch("ink", *origin, sign), origin.word())
    };
    let origins: String = origins.iter().map(origin).collect();
    let class = if named { "names elsewhere" } else { "names" };
    let names = if names.is_empty() { names } else { format!(r#"<ul class="{class}">{names}</ul>"#) };
    let intervals = figure.series.iter().flat_map(|s| &s.points).any(|p| p.y.interval.is_some());
    let whiskers = match (intervals, stacked) {
        (false, _) => "",
        (true, false) if figure.kind == FigureKind::Heat => "",
        (true, false) => "<li>whiskers: 95 % intervals</li>",
        (true, true) => "<li>thin lines: each part's 95 % interval, about its end</li>",
    };
    let scale = if figure.kind == FigureKind::Heat { scale(figure) } else { String::new() };
    format!(r#"<div class="legend">{names}{scale}<ul class="origins">{origins}{whiskers}</ul></div>"#)
}

/// The colour scale of a heat map of ratios; empty for other figures.
fn scale(figure: &Figure) -> String {
    let [least, .., most] = heat::legend_ratios(&figure.y) else { return String::new() };
    let step = |ratio: &f64| {
        let (colour, shade) = heat::ratio_colour(*ratio);
        let field = format!(
            r#"<svg class="swatch" viewBox="0 0 16 12" width="16" height="12" aria-hidden="true"><g class="mark {colour}"><rect class="bar" x="1" y="1" width="14" height="10" fill-opacity="{shade:.2}"/></g></svg>"#
        );
        let beyond = match ratio {
            ratio if ratio == least => " and less",
            ratio if ratio == most => " and more",
            _ => "",
        };
        format!("<li>{field}{}{beyond}</li>", Text(&readable::tick(*ratio, "ratio")))
    };
    let steps: String = heat::legend_ratios(&figure.y).iter().map(step).collect();
    let open = r#"<svg class="swatch" viewBox="0 0 16 12" width="16" height="12" aria-hidden="true"><g class="mark"><rect class="bar open" x="1" y="1" width="14" height="10" fill-opacity="0"/></g></svg>"#;
    format!(
        r#"<ul class="names">{steps}<li>{open}may be 1 ×: its own 95 % interval covers that, or there is none</li></ul>"#
    )
}

/// The sign of a series in a legend.
enum Sign {
    /// A piece of line with the marker of that shape.
    Line(usize),
    /// The marker alone.
    Dot(usize),
    /// A piece of a bar.
    Bar,
}

fn swatch(colour: &str, origin: Origin, sign: Sign) -> String {
    let class = origin.word();
    match sign {
        Sign::Dot(shape) => format!(
            r#"<svg class="swatch" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><g class="mark {colour} {class}">{}</g></svg>"#,
            plot::marker(shape, 6.0, 6.0)
        ),
        Sign::Line(shape) => format!(
            r#"<svg class="swatch" viewBox="0 0 30 12" width="30" height="12" aria-hidden="true"><path class="curve {colour} {class}" d="M1 6H29"/><g class="mark {colour} {class}">{}</g></svg>"#,
            plot::marker(shape, 15.0, 6.0)
        ),
        Sign::Bar => format!(
            r#"<svg class="swatch" viewBox="0 0 16 12" width="16" height="12" aria-hidden="true"><g class="mark {colour} {class}"><rect class="bar" x="1" y="1" width="14" height="10"/>{}</g></svg>"#,
            if origin == Origin::Published {
                r#"<path class="hatch" d="M3 11L10 1M8 11L15 1M1 7L5 1"/>"#
            } else {
                ""
            }
        ),
    }
}

/// A table of all values: to read, to copy, and for readers who cannot see the drawing.
fn values(figure: &Figure) -> String {
    let grouped = figure.series.iter().any(|s| !s.group.is_empty());
    let rows: String = figure.series.iter().map(|series| rows(figure, series, grouped)).collect();
    let group = if grouped { r#"<th scope="col">Bar</th>"# } else { "" };
    let across = if figure.x.label.trim().is_empty() { "Across" } else { figure.x.label.as_str() };
    let by = if figure.by.is_empty() { "Series" } else { figure.by.as_str() };
    // Points of two metrics have a name and two numbers.
    let (by, point) = match figure.kind {
        kind if kind.is_of_two_metrics() => ("Series", format!(r#"<th scope="col">{}</th>"#, Text(by))),
        _ => (by, String::new()),
    };
    let up = if figure.y.label.trim().is_empty() { "Value" } else { figure.y.label.as_str() };
    format!(
        r#"<details><summary>Values</summary><div class="scroll" tabindex="0" role="region" aria-label="Values of {title}"><table><thead><tr>{group}<th scope="col">{}</th><th scope="col">Origin</th>{point}<th scope="col">{}</th><th scope="col" class="n">{}</th><th scope="col" class="n">95 % interval</th><th scope="col" class="n">From</th></tr></thead><tbody>{rows}</tbody></table></div></details>"#,
        Text(by),
        Text(across),
        Text(up),
        title = Text(&figure.title),
    )
}

fn rows(figure: &Figure, series: &Series, grouped: bool) -> String {
    let unit = figure.y.unit.as_str();
    let group = if grouped { format!("<td>{}</td>", Text(&series.group)) } else { String::new() };
    let row = |point: &Point| {
        let y = &point.y;
        let across = match figure.kind {
            kind if kind.is_of_two_metrics() => {
                let x = frontier::position_across(point)
                    .map_or(String::new(), |x| number::format_estimate(&x, &figure.x.unit));
                format!("<td>{}</td><td>{}</td>", Text(&point.label), Text(&x))
            }
            _ => format!("<td>{}</td>", Text(&position_in_words(point, &figure.x))),
        };
        format!(
            r#"<tr>{group}<th scope="row">{}</th><td>{}</td>{across}<td class="n">{}</td><td class="n">{}</td><td class="n">{}</td></tr>"#,
            Text(&series.name),
            series.origin.word(),
            Text(&plot::point_value(figure, y)),
            Text(&number::format_interval(y, unit).unwrap_or_default()),
            readable::sample_size(y.n, series.origin == Origin::Published),
        )
    };
    series.points.iter().map(row).collect()
}
