//! Ticks, sample sizes, durations and dates in words. Other numbers are written by [`crosstalk_study::number`].

use crosstalk_study::count_in_words;
use crosstalk_study::number::format_number;

/// A round number at an axis: `1 Gbit/s`, not `1.00 Gbit/s`.
pub fn tick(value: f64, unit: &str) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let text = format_number(value, unit);
    let (mantissa, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
    if mantissa.contains('.') && !mantissa.contains('e') {
        format!("{}{rest}", mantissa.trim_end_matches('0').trim_end_matches('.'))
    } else {
        text
    }
}

/// Units that stay on the line of their number.
const UNITS: [&str; 25] = [
    "%", "×", "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "s", "ms", "µs", "ns", "min", "h", "bit/s",
    "kbit/s", "Mbit/s", "Gbit/s", "B/s", "KiB/s", "MiB/s", "GiB/s", "Gflop/s",
];

/// A text with no-break spaces between numbers and units: `size 8 B` does not end a line with its 8.
pub fn unbroken(text: &str) -> String {
    let bare = |word: &str| word.trim_end_matches([')', ';', ',', '.', ':']).to_string();
    let mut joined = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            let number = joined.ends_with(|c: char| c.is_ascii_digit());
            joined.push(if number && UNITS.contains(&bare(word).as_str()) { '\u{a0}' } else { ' ' });
        }
        joined += word;
    }
    joined
}

/// The number of blocks, or of sources of a published value, behind an estimate; empty for none.
pub fn sample_size(n: usize, published: bool) -> String {
    match (n, published) {
        (0, _) => String::new(),
        (n, true) => count_in_words(n, "source"),
        (n, false) => count_in_words(n, "block"),
    }
}

/// Seconds as a duration: `45.2 s`, `3 min 12 s`, `2 h 5 min`; `n/a` below zero and for no number.
pub fn duration(seconds: f64) -> String {
    if !(0.0..1e12).contains(&seconds) {
        return "n/a".into();
    }
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format_number(seconds, "s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Seconds of Unix time as a date in UTC: `2026-11-20 09:14 UTC`; `n/a` outside the years 1970 to 9999.
///
/// The year is counted from 1 March, so that the leap day ends it. An era has 400 years and 146,097 days.
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

    #[test]
    fn ticks_are_round() {
        assert_eq!(tick(1e9, "bit/s"), "1 Gbit/s");
        assert_eq!(tick(65_536.0, "B"), "64 KiB");
        assert_eq!(tick(0.25, "ratio"), "0.25 ×");
        assert_eq!(tick(0.0, "s"), "0");
        assert_eq!(tick(100.0, ""), "100");
        assert_eq!(tick(-0.5, ""), "−0.5");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(unbroken("size 8 B; 5 nodes, (64 KiB)"), "size 8\u{a0}B; 5 nodes, (64\u{a0}KiB)");
        assert_eq!(unbroken("from 2 s."), "from 2\u{a0}s.");
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
