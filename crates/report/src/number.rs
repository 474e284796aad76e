//! Numbers as people read them: three digits, a fitting prefix, an interval,
//! and something sensible where there is no number.

use crosstalk_core::units;
use crosstalk_study::findings::Estimate;

/// Magnitudes outside are written with an exponent.
const PLAIN: std::ops::Range<f64> = 1e-15..1e15;

/// A number in the base unit named by `unit`.
pub fn number(value: f64, unit: &str) -> String {
    let magnitude = value.abs();
    if value.is_nan() {
        "n/a".into()
    } else if value.is_infinite() {
        if value > 0.0 { "∞".into() } else { "−∞".into() }
    } else if magnitude != 0.0 && !PLAIN.contains(&magnitude) {
        let suffix = if unit == "ratio" { "×" } else { unit };
        format!("{value:.1e} {suffix}").trim_end().to_string()
    } else if unit.is_empty() && value.fract() == 0.0 {
        format!("{value}")
    } else {
        units::human(value, unit)
    }
}

/// A round number beside an axis: `1 Gbit/s`, not `1.00 Gbit/s`.
pub fn tick(value: f64, unit: &str) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = number(value, unit);
    let (mantissa, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
    if mantissa.contains('.') && !mantissa.contains('e') {
        format!("{}{rest}", mantissa.trim_end_matches('0').trim_end_matches('.'))
    } else {
        text
    }
}

/// The interval's ends without a unit where it is the value's own: `1.22–1.30`.
pub fn interval(estimate: &Estimate, unit: &str) -> Option<String> {
    let (low, high) = estimate.interval?;
    let suffix = |text: &str| text.find(' ').map(|at| text[at..].to_string());
    let shared = suffix(&number(estimate.value, unit));
    let ends = [number(low, unit), number(high, unit)];
    if ends.iter().all(|end| suffix(end) == shared) {
        let bare = |end: &str| shared.as_ref().map_or(end, |s| end.trim_end_matches(s.as_str())).to_string();
        Some(format!("{}–{}", bare(&ends[0]), bare(&ends[1])))
    } else {
        Some(ends.join("–"))
    }
}

/// The value, and in parentheses its interval: `1.26 × (1.22–1.30)`.
pub fn estimate(estimate: &Estimate, unit: &str) -> String {
    let value = number(estimate.value, unit);
    match interval(estimate, unit) {
        Some(ends) => format!("{value} ({ends})"),
        None => value,
    }
}

/// Blocks or sources behind an estimate; empty where there are none.
pub fn behind(n: usize, published: bool) -> String {
    match (n, published) {
        (0, _) => String::new(),
        (1, true) => "1 source".into(),
        (n, true) => format!("{n} sources"),
        (1, false) => "1 block".into(),
        (n, false) => format!("{n} blocks"),
    }
}

/// Seconds of wall time: `45.2 s`, `3 min 12 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    if !(0.0..1e12).contains(&seconds) {
        return "n/a".into();
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => number(seconds, "s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Unix time as a date in UTC: `2026-11-20 09:14 UTC`.
///
/// Days to a civil date by counting from 1 March, so that the leap day ends
/// the year: an era has 400 years and 146,097 days.
pub fn date(unix: f64) -> String {
    if !(0.0..253_402_300_800.0).contains(&unix) {
        return "n/a".into();
    }
    let seconds = unix as u64;
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some((low, high)), n: 12 }
    }

    #[test]
    fn an_interval_shares_the_unit_where_it_can() {
        assert_eq!(estimate(&about(1.26, 1.22, 1.30), "ratio"), "1.26 × (1.22–1.30)");
        assert_eq!(estimate(&about(0.98, 0.94, 1.02), "s"), "980 ms (940 ms–1.02 s)");
        assert_eq!(estimate(&about(0.312, 0.305, 0.32), "s"), "312 ms (305–320)");
        assert_eq!(estimate(&about(6.0, 5.0, 7.5), ""), "6 (5–7.50)");
        assert_eq!(estimate(&Estimate { value: 2.0, interval: None, n: 0 }, "ratio"), "2.00 ×");
    }

    #[test]
    fn what_is_no_number_is_said_so() {
        assert_eq!(number(f64::NAN, "s"), "n/a");
        assert_eq!(estimate(&about(1.2, 0.5, f64::INFINITY), "ratio"), "1.20 × (0.50 ×–∞)");
        assert_eq!(number(1e300, "bit/s"), "1.0e300 bit/s");
        assert_eq!(number(-2e-20, "ratio"), "-2.0e-20 ×");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(tick(1e9, "bit/s"), "1 Gbit/s");
        assert_eq!(tick(65_536.0, "B"), "64 KiB");
        assert_eq!(tick(0.25, "ratio"), "0.25 ×");
        assert_eq!(tick(0.0, "s"), "0");
        assert_eq!(tick(100.0, ""), "100");
    }

    #[test]
    fn dates_and_durations() {
        assert_eq!(date(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400.0), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_166_040.0), "2026-11-20 09:14 UTC");
        assert_eq!(date(f64::NAN), "n/a");
        assert_eq!(duration(45.25), "45.2 s");
        assert_eq!(duration(192.0), "3 min 12 s");
        assert_eq!(duration(7_500.0), "2 h 5 min");
        assert_eq!(duration(-1.0), "n/a");
    }
}
