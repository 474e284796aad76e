//! A tornado plot: a bar for each parameter of a model, from the number at the lower end of its range to that at the upper
//! one, the longest first.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::OverRanges;
use crosstalk_study::number::format_number;

use super::axes;
use super::scale::{Scale, is_drawable};
use super::svg::{self, cut_to_width, line, text};

/// Parameters that are drawn at most.
const MOST: usize = 8;
/// A parameter that changes the number by a smaller share of its largest effect is left out.
const LEAST: f64 = 0.02;

/// Pixels.
const WIDTH: f64 = 560.0;
const LABELS: f64 = 300.0;
const ROW: f64 = 20.0;
const BAR: f64 = 12.0;
const BOTTOM: f64 = 26.0;
const TICKS: usize = 4;

/// Draws what each parameter does to a number that was found; `None` where none does anything that can be drawn.
pub fn tornado(over: &OverRanges, found: f64, unit: &str) -> Option<String> {
    let length = |low: f64, high: f64| (high - low).abs().max((low - found).abs()).max((high - found).abs());
    let lengths = over.parameters.iter().map(|one| length(one.at_lower, one.at_upper));
    let longest = lengths.filter(|length| length.is_finite()).reduce(f64::max)?;
    let mut rows: Vec<_> = over
        .parameters
        .iter()
        .filter(|one| is_drawable(one.at_lower, false) && is_drawable(one.at_upper, false))
        .filter(|one| length(one.at_lower, one.at_upper) >= LEAST * longest)
        .collect();
    rows.sort_by(|a, b| length(b.at_lower, b.at_upper).total_cmp(&length(a.at_lower, a.at_upper)));
    rows.truncate(MOST);
    if rows.is_empty() || !is_drawable(found, false) {
        return None;
    }
    let ends = rows.iter().flat_map(|one| [one.at_lower, one.at_upper]).chain([found]);
    let scale = Scale::around(ends, false, false).widened_by(0.05).onto_pixels(LABELS, WIDTH - 10.0);
    let height = ROW * rows.len() as f64;
    let ticks = axes::ticks(&scale, unit, TICKS);
    let grid: String = ticks.iter().map(|tick| line("grid", tick.at, 0.0, tick.at, height + 4.0)).collect();
    let bars = rows.iter().enumerate().map(|(index, one)| {
        let middle = ROW * (index as f64 + 0.5);
        let name = one.name.split_once(' ').map_or(one.name.as_str(), |(_, of_file)| of_file);
        let label = format!("{name}, {} to {}", one.range.0, one.range.1);
        let name = text("name", "end", LABELS - 8.0, middle + 4.0, &cut_to_width(&label, LABELS - 10.0));
        let (a, b) = (scale.pixel_of(one.at_lower)?, scale.pixel_of(one.at_upper)?);
        let tip = format!(
            "{label}: {} at the lower end, {} at the upper one",
            format_number(one.at_lower, unit),
            format_number(one.at_upper, unit)
        );
        let (left, width) = (svg::round_coordinate(a.min(b)), svg::round_coordinate((a - b).abs().max(1.0)));
        let top = svg::round_coordinate(middle - BAR / 2.0);
        let rect = format!(r#"<rect class="bar" x="{left}" y="{top}" width="{width}" height="{BAR}"/>"#);
        let rect = svg::draw_point("s0", Origin::Simulated, &tip, &rect);
        Some(name + &rect)
    });
    let bars: String = bars.flatten().collect();
    let found_at = scale.pixel_of(found).map_or(String::new(), |x| line("axis", x, 0.0, x, height + 4.0));
    let axis = axes::draw_ticks_below(&ticks, height + 4.0, WIDTH);
    let all = height + BOTTOM;
    Some(format!(
        r#"<svg class="plot" viewBox="0 0 {WIDTH} {all}" width="{WIDTH}" height="{all}" role="img" aria-label="The number at both ends of each parameter's range">{grid}{bars}{found_at}{axis}</svg>"#
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_study::findings::ParameterEffect;

    fn drawn(effects: &[(&str, f64, f64)]) -> Option<String> {
        let effect = |(name, at_lower, at_upper): &(&str, f64, f64)| ParameterEffect {
            name: format!("system {name}"),
            range: ("1".into(), "2".into()),
            at_lower: *at_lower,
            at_upper: *at_upper,
        };
        let parameters = effects.iter().map(effect).collect();
        let over = OverRanges { of_model: (0.5, 2.0), together: (0.4, 2.2), parameters };
        tornado(&over, 1.0, "ratio")
    }

    #[test]
    fn each_parameter_that_matters_has_a_bar_the_longest_first() {
        let svg = drawn(&[("a: speed", 0.5, 2.0), ("b: speed", 0.9, 1.2), ("c: speed", 1.0, 1.001)]);
        let svg = svg.expect("is drawn");
        assert_eq!(svg.matches("class=\"bar\"").count(), 2, "what does nothing is left out");
        let at = |text: &str| svg.find(text).expect(text);
        assert!(at("a: speed, 1 to 2") < at("b: speed, 1 to 2"));
    }

    #[test]
    fn what_cannot_be_drawn_is_not() {
        assert_eq!(drawn(&[]), None);
        assert_eq!(drawn(&[("a: speed", f64::NAN, 1.0)]), None);
        assert_eq!(drawn(&[("a: speed", 1e300, 1.0)]), None);
    }
}
