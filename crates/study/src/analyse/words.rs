//! Numbers and sentences, as people read them.

use crosstalk_core::units::{digits, human};
use crosstalk_core::value::Levels;
use std::collections::BTreeSet;

use super::level;
use crate::findings::Estimate;

/// `1.26 ×`, `12.3 µs`: a number with its unit.
pub fn amount(value: f64, unit: &str) -> String {
    if value < 0.0 { format!("−{}", human(-value, unit)) } else { human(value, unit) }
}

/// `1.26 × (1.22–1.30)`: a number with its unit and interval.
pub fn estimate(e: &Estimate, unit: &str) -> String {
    match e.interval {
        Some(interval) if unit == "ratio" => {
            format!("{} × ({})", factor(e.value, Some(interval)), range(interval, unit))
        }
        Some(interval) => format!("{} ({})", amount(e.value, unit), range(interval, unit)),
        None => amount(e.value, unit),
    }
}

/// A factor with three digits, and with more where its interval is narrower
/// than these can tell.
pub fn factor(value: f64, interval: Option<(f64, f64)>) -> String {
    match interval.map(|(low, high)| high - low) {
        Some(width) if (1e-4..0.02).contains(&width) && value.abs() < 9.995 => {
            format!("{value:.*}", if width < 0.002 { 4 } else { 3 })
        }
        _ => digits(value),
    }
}

/// `1.22–1.30`; with units where the ends have different prefixes.
pub fn range((low, high): (f64, f64), unit: &str) -> String {
    if unit == "ratio" {
        let ends = Some((low, high));
        return format!("{}–{}", factor(low, ends), factor(high, ends));
    }
    let (low, high) = (amount(low, unit), amount(high, unit));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, a)), Some((_, b))) if a == b => format!("{number}–{high}"),
        _ => format!("{low} to {high}"),
    }
}

/// `5 %`, `0.5 %` of a ratio − 1.
pub fn percent(ratio: f64) -> String {
    let text = format!("{:.1}", ratio * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// ` at slaves 6, boards many`, or nothing.
pub fn at(levels: &Levels) -> String {
    if levels.is_empty() { String::new() } else { format!(" at {}", level::describe(levels)) }
}

/// A text without its numbers: what reasons that differ in them alone share.
pub fn shape(text: &str) -> String {
    text.split(|c: char| c.is_ascii_digit() || c == '.')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("#")
}

/// Texts of different shape, in the order of their first.
pub fn distinct<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.into_iter().filter(|text| seen.insert(shape(text))).cloned().collect()
}

/// `1 block`, `12 blocks`.
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_read_as_people_write_them() {
        let found = Estimate { value: 1.258, interval: Some((1.22, 1.304)), n: 12 };
        assert_eq!(estimate(&found, "ratio"), "1.26 × (1.22–1.30)");
        let found = Estimate { value: 12.3e-6, interval: Some((11.9e-6, 12.8e-6)), n: 12 };
        assert_eq!(estimate(&found, "s"), "12.3 µs (11.9–12.8 µs)");
        let found = Estimate { value: 0.9e-3, interval: Some((0.9e-3, 1.1e-3)), n: 12 };
        assert_eq!(estimate(&found, "s"), "900 µs (900 µs to 1.10 ms)");
        let narrow = Estimate { value: 1.0101, interval: Some((1.0081, 1.0119)), n: 12 };
        assert_eq!(estimate(&narrow, "ratio"), "1.010 × (1.008–1.012)");
        assert_eq!(amount(-0.5, ""), "−0.50");
    }

    #[test]
    fn reasons_that_differ_in_numbers_are_one() {
        let told = ["steal: 1.5 %", "steal: 22 %", "late"].map(String::from);
        assert_eq!(distinct(&told), ["steal: 1.5 %", "late"]);
    }

    #[test]
    fn small_things_read_well() {
        assert_eq!((percent(0.05), percent(0.005)), ("5 %".to_string(), "0.5 %".to_string()));
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
