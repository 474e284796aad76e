//! Numbers in words: three digits, a unit prefix, an interval, `n/a` for no number. Sentences and all renderings use these,
//! so that a number is the same everywhere.

use crosstalk_core::units::human;

use crate::findings::Estimate;

/// Numbers of other magnitudes are written with an exponent.
const PLAIN: std::ops::Range<f64> = 1e-15..1e15;

/// A number in the base unit named by `unit`: `1.26 ×`, `12.3 µs`, `−0.47`.
pub fn format_number(value: f64, unit: &str) -> String {
    let magnitude = value.abs();
    let text = if value.is_nan() {
        return "n/a".into();
    } else if value.is_infinite() {
        "∞".into()
    } else if magnitude != 0.0 && !PLAIN.contains(&magnitude) {
        let suffix = if unit == "ratio" { "×" } else { unit };
        format!("{magnitude:.1e} {suffix}").trim_end().to_string()
    } else if unit.is_empty() && value.fract() == 0.0 {
        format!("{magnitude}")
    } else {
        human(magnitude, unit)
    };
    if value < 0.0 { format!("−{text}") } else { text }
}

/// The value of an estimate, as [`format_number`]; a ratio has more digits where its interval is narrow.
pub fn value(estimate: &Estimate, unit: &str) -> String {
    with_precision(estimate.value, unit, estimate.interval)
}

/// The interval's ends, without a unit where it is the value's unit: `1.22–1.30`.
pub fn format_interval(estimate: &Estimate, unit: &str) -> Option<String> {
    let (low, high) = estimate.interval?;
    let suffix = |text: &str| text.find(' ').map(|at| text[at..].to_string());
    let shared = suffix(&value(estimate, unit));
    let ends = [low, high].map(|end| with_precision(end, unit, estimate.interval));
    if !ends.iter().all(|end| suffix(end) == shared) {
        return Some(without(unit, &value(estimate, unit), &ends).join(" to "));
    }
    let bare = |end: &str| shared.as_ref().map_or(end, |s| end.trim_end_matches(s.as_str())).to_string();
    // A dash next to a minus is hard to read.
    let between = if low < 0.0 || high < 0.0 { " to " } else { "–" };
    Some(format!("{}{between}{}", bare(&ends[0]), bare(&ends[1])))
}

/// Ends with different prefixes, without the unit that the value has: `58.4 to 1.08 k`. A prefix that is one word with its
/// unit keeps it.
fn without(unit: &str, value: &str, ends: &[String; 2]) -> [String; 2] {
    let bare = |text: &str| Some(text.strip_suffix(unit)?.strip_suffix(' ')?.to_string());
    match (bare(value), bare(&ends[0]), bare(&ends[1])) {
        (Some(_), Some(low), Some(high)) => [low, high],
        _ => ends.clone(),
    }
}

/// The value, and in parentheses its interval: `1.26 × (1.22–1.30)`.
pub fn format_estimate(estimate: &Estimate, unit: &str) -> String {
    let value = value(estimate, unit);
    match format_interval(estimate, unit) {
        Some(ends) => format!("{value} ({ends})"),
        None => value,
    }
}

/// A share, a margin or a floor, given as a ratio, in percent: `5 %`, `0.5 %`, `6.9 %`.
pub fn format_percent(ratio: f64) -> String {
    if !ratio.is_finite() {
        return format_number(ratio, "%");
    }
    // Rounded before it is written, and without the sign of a negative zero.
    let text = format!("{:.1}", (ratio * 1000.0).round() / 10.0 + 0.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A difference, given as a ratio − 1, as an upper bound that is never rounded down: `1.5 %`, from twice on `2.50 ×`.
pub fn format_upper_bound(over: f64) -> String {
    if over < 1.0 {
        format_percent(((over * 1e3) - 1e-6).ceil() / 1e3)
    } else {
        format_number(1.0 + over, "ratio")
    }
}

fn with_precision(value: f64, unit: &str, interval: Option<(f64, f64)>) -> String {
    let width = interval.map_or(f64::NAN, |(low, high)| high - low);
    if unit == "ratio" && (1e-4..0.02).contains(&width) && value.abs() < 9.995 {
        let digits = if width < 0.002 { 4 } else { 3 };
        let sign = if value < 0.0 { "−" } else { "" };
        format!("{sign}{:.digits$} ×", value.abs())
    } else {
        format_number(value, unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some((low, high)), n: 12 }
    }

    #[test]
    fn an_interval_shares_the_unit_where_it_can() {
        assert_eq!(format_estimate(&about(1.26, 1.22, 1.304), "ratio"), "1.26 × (1.22–1.30)");
        assert_eq!(format_estimate(&about(0.98, 0.94, 1.02), "s"), "980 ms (940 ms to 1.02 s)");
        assert_eq!(format_estimate(&about(232.0, 58.4, 1080.0), "switches"), "232 switches (58.4 to 1.08 k)");
        assert_eq!(format_estimate(&about(4210.0, 0.0, 8410.0), "pages"), "4.21 k pages (0 to 8.41 k)");
        assert_eq!(format_estimate(&about(0.98, 1.01, 1.02), "s"), "980 ms (1.01 s to 1.02 s)");
        assert_eq!(format_estimate(&about(0.312, 0.305, 0.32), "s"), "312 ms (305–320)");
        assert_eq!(format_estimate(&about(6.0, 5.0, 7.5), ""), "6 (5–7.50)");
        assert_eq!(format_estimate(&Estimate { value: 2.0, interval: None, n: 0 }, "ratio"), "2.00 ×");
    }

    #[test]
    fn a_number_below_zero_has_a_minus_and_no_dash_next_to_it() {
        assert_eq!(format_number(-0.5, ""), "−0.50");
        assert_eq!(format_estimate(&about(-0.47, -0.53, -0.42), ""), "−0.47 (−0.53 to −0.42)");
    }

    #[test]
    fn a_narrow_ratio_has_the_digits_that_it_needs() {
        assert_eq!(format_estimate(&about(1.0101, 1.0081, 1.0119), "ratio"), "1.010 × (1.008–1.012)");
        assert_eq!(format_estimate(&about(1.0101, 1.0096, 1.0109), "ratio"), "1.0101 × (1.0096–1.0109)");
        assert_eq!(format_estimate(&about(0.83, 0.83, 0.83), "ratio"), "0.83 × (0.83–0.83)");
    }

    #[test]
    fn no_difference_has_no_sign() {
        assert_eq!([0.0, -0.0, -0.0004].map(format_percent), ["0 %"; 3]);
        assert_eq!(format_upper_bound(0.0), "0 %");
    }

    #[test]
    fn no_number_and_infinity_have_words_of_their_own() {
        assert_eq!(format_number(f64::NAN, "s"), "n/a");
        assert_eq!(format_percent(f64::INFINITY), "∞");
        assert_eq!(format_estimate(&about(1.2, 0.5, f64::INFINITY), "ratio"), "1.20 × (0.50 × to ∞)");
        assert_eq!(format_number(1e300, "bit/s"), "1.0e300 bit/s");
        assert_eq!(format_number(-2e-20, "ratio"), "−2.0e-20 ×");
    }

    #[test]
    fn percents_have_one_digit_where_they_need_it() {
        assert_eq!([0.05, 0.005, 0.069].map(format_percent), ["5 %", "0.5 %", "6.9 %"]);
    }
}
