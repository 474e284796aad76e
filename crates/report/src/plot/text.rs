//! The texts of a picture: names, captions, tooltips, descriptions.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{Axis, Estimate, Figure, Point, Scale, Series};
use crosstalk_study::{level_in_sentence, number};

use crate::readable;

/// A point's position across, in words.
pub fn position_in_words(point: &Point, axis: &Axis) -> String {
    match (point.label.trim(), point.x) {
        ("", Some(x)) => number::format_number(x, &axis.unit),
        ("", None) => "unnamed".into(),
        (label, _) => label.to_string(),
    }
}

/// A position across as a heading, named as in sentences: `slaves 6`, `MODE fast`.
pub fn position_heading(position: &str, axis: &Axis) -> String {
    if level_in_sentence(&axis.label.replace(' ', "_"), position) != position {
        format!("{} {position}", axis.label).trim_start().to_string()
    } else {
        position.to_string()
    }
}

/// The name of the bar that a series belongs to.
pub fn bar_name(series: &Series) -> &str {
    if series.group.is_empty() { &series.name } else { &series.group }
}

/// Whether every bar has the name of its position across: one name is then enough.
pub fn bars_named_by_position(figure: &Figure) -> bool {
    let has_its_position =
        |series: &Series| series.points.iter().all(|p| position_in_words(p, &figure.x) == bar_name(series));
    figure.series.iter().all(has_its_position)
}

/// An axis' caption: its name with a capital, and whether it is logarithmic. Units are at the ticks; where the name is
/// the unit, such as `gflops`, they suffice.
pub fn caption(axis: &Axis) -> String {
    if is_unit(&axis.label, &axis.unit) {
        return String::new();
    }
    let mut chars = axis.label.chars();
    let name: String =
        chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect());
    match axis.scale {
        Scale::Log if !name.is_empty() => format!("{name} (log)"),
        _ => name,
    }
}

/// Whether a name is a unit in other letters: `mops` and `Mop/s`.
fn is_unit(name: &str, unit: &str) -> bool {
    let letters = |text: &str| text.to_lowercase().replace('/', "");
    unit.contains('/') && letters(name) == letters(unit)
}

/// The value of a point, as [`number::value`]. Ratios of a figure that all read the same have three decimals.
pub fn point_value(figure: &Figure, y: &Estimate) -> String {
    let own = || figure.series.iter().flat_map(|series| &series.points).map(|point| &point.y);
    let differ = || own().any(|other| other.value != y.value);
    let text = number::value(y, &figure.y.unit);
    let alike = || own().all(|other| number::value(other, &figure.y.unit) == text);
    match figure.y.unit == "ratio" && y.value.is_finite() && differ() && alike() {
        true => format!("{:.3} ×", y.value),
        false => text,
    }
}

/// The tooltip of a point; its first line names the point.
pub fn tooltip(figure: &Figure, series: &Series, point: &Point) -> String {
    let name = match series.group.as_str() {
        "" => format!("{} {}", figure.by, series.name).trim_start().to_string(),
        group => format!("{group}: {}", series.name),
    };
    let behind = readable::sample_size(point.y.n, series.origin == Origin::Published);
    let mut origin = series.origin.word().to_string();
    if !behind.is_empty() {
        origin += ", ";
        origin += &behind;
    }
    let across = position_in_words(point, &figure.x);
    let position = [figure.x.label.as_str(), &across].join(": ").trim_start_matches(": ").to_string();
    // A bar with the name of its position needs it once.
    let position = (across != bar_name(series)).then_some(position);
    let lines = [Some(name), position, Some(number::format_estimate(&point.y, &figure.y.unit)), Some(origin)];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// A figure in one sentence, for readers who cannot see it.
pub fn figure_description(figure: &Figure) -> String {
    let mut names: Vec<&str> = Vec::new();
    for series in &figure.series {
        if figure.kind.is_of_two_metrics() {
            names.extend(series.points.iter().map(|point| point.label.as_str()));
        } else if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    format!(
        "{} by {}, for {}. {}",
        or(&figure.y.label, "Values"),
        or(&figure.x.label, "category"),
        names.join(", "),
        figure.caption
    )
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.trim().is_empty() { otherwise } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_study::findings::FigureKind;

    fn axis(label: &str, unit: &str) -> Axis {
        Axis { label: label.into(), unit: unit.into(), scale: Scale::Linear }
    }

    fn ratios(values: &[f64]) -> Figure {
        let point = |value: &f64| Point {
            x: None,
            x_interval: None,
            label: String::new(),
            y: Estimate { value: *value, interval: None, n: 1 },
        };
        let points = values.iter().map(point).collect();
        let series = Series { name: String::new(), group: String::new(), origin: Origin::Simulated, points };
        Figure {
            name: String::new(),
            title: String::new(),
            caption: String::new(),
            kind: FigureKind::Bars,
            x: axis("kernel", ""),
            y: axis("time", "ratio"),
            by: String::new(),
            series: vec![series],
            marks: Vec::new(),
        }
    }

    #[test]
    fn ratios_that_all_read_the_same_have_a_third_decimal() {
        let shown = |values: &[f64]| {
            let figure = ratios(values);
            let points = figure.series.iter().flat_map(|series| &series.points);
            points.map(|point| point_value(&figure, &point.y)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&[1.0, 1.0012, 1.0038]), ["1.000 ×", "1.001 ×", "1.004 ×"]);
        assert_eq!(shown(&[1.0, 1.0012, 1.2]), ["1.00 ×", "1.00 ×", "1.20 ×"]);
        assert_eq!(shown(&[1.0, 1.0]), ["1.00 ×", "1.00 ×"], "three decimals add nothing");
    }

    #[test]
    fn a_name_that_is_the_unit_is_no_caption() {
        assert_eq!(caption(&axis("gflops", "Gflop/s")), "");
        assert_eq!(caption(&axis("mops", "Mop/s")), "");
        assert_eq!(caption(&axis("throughput", "B/s")), "Throughput");
    }
}
