//! A difference in words, the same wherever it is shown.
//!
//! With a direction it is a factor of 1 or more: `1.26 × faster than microblade (1.22–1.30)`. Without one it is the
//! largest difference that the data leave: `no difference larger than 3.1 % (1.8 % faster to 3.1 % slower)`. Where that is
//! much, and nothing is decided, it is what they leave: `between 7 % faster and 41.6 % slower`.

use crosstalk_core::record::{Better, Metric};

use crate::estimate;
use crate::findings::{ComparisonVerdict, Estimate};
use crate::number::{self, format_upper_bound};
use crate::words::readable_name;

/// A larger difference, as a ratio − 1, is not called small.
const WIDE: f64 = 0.1;

/// What the ends of an interval are over.
pub const RANGES: &str = "the ranges of the model's parameters";

/// A ratio of a metric between two cells, to be put in words.
pub struct Change<'a> {
    /// The metric.
    pub metric: &'a Metric,
    /// The metric as the study writes it (`latency p99`).
    pub query: &'a str,
    /// Other over base.
    pub ratio: Estimate,
    /// The ends of the same over the ranges of the model's parameters, this machine's noise included.
    pub over_ranges: Option<(f64, f64)>,
}

impl Change<'_> {
    /// `1.26 × faster than BASE (1.22–1.30)` where a direction was found, else the largest difference that the data leave,
    /// or what they leave if that is wide and nothing is decided.
    /// Without an interval it is `no bound`: a point alone would read as a direction.
    pub fn finding_in_words(&self, verdict: ComparisonVerdict, directed: bool, base: &str) -> String {
        let changed = matches!(verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse) || directed;
        let is_wide = largest_difference(&self.ratio).is_none_or(|largest| largest > WIDE);
        let is_open = is_wide && verdict == ComparisonVerdict::Inconclusive;
        match self.bound_in_words() {
            _ if changed => self.factor_in_words(base),
            Some(_) if is_open && let Some((low, high)) = self.ends_in_words() => {
                format!("between {low} and {high}")
            }
            Some(bounded) => bounded,
            None => "no bound".into(),
        }
    }

    /// `1.26 × faster than microblade (1.22–1.30)`.
    pub fn factor_in_words(&self, base: &str) -> String {
        let shown = |ratio: Estimate| if self.ratio.value < 1.0 { inverse(ratio) } else { ratio };
        let factor = shown(self.ratio);
        // The interval of a computed number has no width, and is not shown.
        let wide = factor.interval.is_some_and(|ends| !has_no_width(ends));
        let of_machine = number::format_interval(&factor, "ratio").filter(|_| wide);
        let of_both = self.over_ranges.and_then(|ends| {
            let ends = shown(Estimate { interval: Some(ends), ..self.ratio });
            Some(format!("{} over {RANGES}", self.ends_of_factor(&ends)?))
        });
        let ends: Vec<String> = of_machine.into_iter().chain(of_both).collect();
        let ends = if ends.is_empty() { String::new() } else { format!(" ({})", ends.join("; ")) };
        let direction = self.direction(self.ratio.value >= 1.0);
        format!("{} {direction} than {base}{ends}", number::value(&factor, "ratio"))
    }

    /// The ends of a factor: `1.22–1.30`, and where 1 is between them `1.05 × slower to 1.30 × faster`.
    fn ends_of_factor(&self, factor: &Estimate) -> Option<String> {
        let (low, high) = factor.interval?;
        if low >= 1.0 || high <= 1.0 {
            return number::format_interval(factor, "ratio");
        }
        let words =
            |factor, grew| format!("{} {}", number::format_number(factor, "ratio"), self.direction(grew));
        let grew = self.ratio.value >= 1.0;
        Some(format!("{} to {}", words(1.0 / low, !grew), words(high, grew)))
    }

    /// `no difference larger than 3.1 % (1.8 % faster to 3.1 % slower)`; `None` without an interval.
    pub fn bound_in_words(&self) -> Option<String> {
        let bound =
            format!("no difference larger than {}", format_upper_bound(largest_difference(&self.ratio)?));
        Some(match self.ends_in_words() {
            Some((low, high)) => format!("{bound} ({low} to {high})"),
            None => bound,
        })
    }

    /// The ends of the interval: `1.8 % faster` and `3.1 % slower`. `None` if it has no width.
    fn ends_in_words(&self) -> Option<(String, String)> {
        let (low, high) = self.ratio.interval.filter(|ends| !has_no_width(*ends))?;
        let end = |ratio: f64| format_upper_bound(if ratio < 1.0 { 1.0 / ratio } else { ratio } - 1.0);
        let (slow, fast) = (self.direction(true), self.direction(false));
        Some(match (low < 1.0, high > 1.0) {
            (true, true) => (format!("{} {fast}", end(low)), format!("{} {slow}", end(high))),
            (true, false) => (end(high), format!("{} {fast}", end(low))),
            (false, _) => (end(low), format!("{} {slow}", end(high))),
        })
    }

    /// `faster`, `more bandwidth`.
    fn direction(&self, grew: bool) -> String {
        let name = readable_name(self.query);
        match (self.metric.better, self.metric.unit.as_str(), grew) {
            (Better::Lower, "s", false) => "faster".into(),
            (Better::Lower, "s", true) => "slower".into(),
            (_, _, true) => format!("more {name}"),
            (_, _, false) => format!("less {name}"),
        }
    }
}

/// A ratio above 1 where the other level is better: base over other where lower is better.
pub fn gain_ratio(ratio: Estimate, better: Better) -> Estimate {
    if better == Better::Lower { inverse(ratio) } else { ratio }
}

fn inverse(ratio: Estimate) -> Estimate {
    let interval = ratio.interval.map(|(low, high)| (1.0 / high, 1.0 / low));
    // A ratio that overflows has no interval, and the largest finite value.
    let inverse = Estimate { value: (1.0 / ratio.value).min(f64::MAX), interval, ..ratio };
    estimate::if_finite(inverse).unwrap_or(inverse)
}

/// The largest difference that the interval leaves in either direction, as a ratio − 1.
pub fn largest_difference(ratio: &Estimate) -> Option<f64> {
    let (low, high) = ratio.interval?;
    Some(high.max(1.0 / low).max(1.0) - 1.0).filter(|largest| largest.is_finite())
}

/// Whether an interval has no width, up to rounding.
pub fn has_no_width((low, high): (f64, f64)) -> bool {
    high - low <= 1e-9 * high.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Some((low, high)), n: 12 }
    }

    fn words(metric: &Metric, ratio: Estimate, verdict: ComparisonVerdict) -> String {
        Change { metric, query: &metric.name, ratio, over_ranges: None }
            .finding_in_words(verdict, false, "base")
    }

    #[test]
    fn a_factor_is_one_or_more_in_either_direction() {
        let time = Metric::new("run_time", "s", Better::Lower);
        let faster = words(&time, ratio(0.48, 0.45, 0.51), ComparisonVerdict::Better);
        assert_eq!(faster, "2.08 × faster than base (1.96–2.22)");
        let slower = words(&time, ratio(2.08, 1.96, 2.22), ComparisonVerdict::Worse);
        assert_eq!(slower, "2.08 × slower than base (1.96–2.22)");
        let rate = Metric::new("bandwidth", "bit/s", Better::Higher);
        let less = words(&rate, ratio(0.5, 0.4, 0.625), ComparisonVerdict::Worse);
        assert_eq!(less, "2.00 × less bandwidth than base (1.60–2.50)");
    }

    #[test]
    fn without_a_direction_the_words_are_the_largest_difference_that_the_data_leave() {
        let time = Metric::new("run_time", "s", Better::Lower);
        let text = |low, high| words(&time, ratio(1.0, low, high), ComparisonVerdict::Inconclusive);
        assert_eq!(text(0.982, 1.031), "no difference larger than 3.1 % (1.9 % faster to 3.1 % slower)");
        assert_eq!(text(1.001, 1.0201), "no difference larger than 2.1 % (0.1 % to 2.1 % slower)");
        let equal = words(&time, ratio(1.0, 0.8, 1.25), ComparisonVerdict::Equivalent);
        assert_eq!(equal, "no difference larger than 25 % (25 % faster to 25 % slower)");
        assert_eq!(text(0.8, 1.416), "between 25 % faster and 41.6 % slower", "that is no equality");
        assert_eq!(text(0.4, 0.9), "between 11.2 % and 2.50 × faster");
        let lone = Estimate { interval: None, ..ratio(1.05, 1.0, 1.0) };
        assert_eq!(words(&time, lone, ComparisonVerdict::Inconclusive), "no bound");
    }

    #[test]
    fn a_gain_is_above_one_where_it_is_better() {
        let half = ratio(0.5, 0.4, 0.8);
        assert_eq!(gain_ratio(half, Better::Lower), ratio(2.0, 1.25, 2.5));
        assert_eq!(gain_ratio(half, Better::Higher), half);
    }
}
