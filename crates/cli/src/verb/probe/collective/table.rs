//! The times of an MPI function as a table: a line for each size.

use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::units::human;

/// The columns of a size, as far as they were measured.
#[derive(Default)]
struct Line {
    size: f64,
    time: Option<f64>,
    /// From the last rank's begin: nearly all calls began late.
    late_time: Option<f64>,
    spread: Option<(f64, f64)>,
    rate: Option<f64>,
    late: Option<f64>,
    calls: u64,
}

/// A table of readings of the workload `collective`.
pub fn of(readings: &[(Reading, u64)]) -> String {
    let lines = lines(readings);
    let measured = lines.iter().any(|line| line.spread.is_some());
    let fast = lines.iter().any(|line| line.rate.is_some());
    let mut head = format!("{:>10}  {:>9}", "size", "time");
    if measured {
        head += &format!("  {:>21}  {:>7}  {:>6}", "90 % of calls", "calls", "late");
    }
    if fast {
        head += &format!("  {:>11}", "rate");
    }
    let line = |line: &Line| {
        let late = line.late_time.map(|time| format!("{} *", human(time, "s")));
        let time = late.unwrap_or_else(|| or_none(line.time, "s"));
        let mut text = format!("{:>10}  {time:>9}", human(line.size, "B"));
        if measured {
            let spread =
                line.spread.map(|(low, high)| format!("{} to {}", human(low, "s"), human(high, "s")));
            let late = line.late.map(|late| format!("{:.0} %", late * 100.0));
            let (spread, late) = (spread.unwrap_or_default(), late.unwrap_or_default());
            text += &format!("  {spread:>21}  {:>7}  {late:>6}", line.calls);
        }
        if fast {
            text += &format!("  {:>11}", or_none(line.rate, "B/s"));
        }
        text
    };
    let late = lines.iter().any(|line| line.late_time.is_some());
    let note =
        late.then(|| "* from the last rank's begin, when data may have come already: nearly all calls began late at some rank; \
         --set begin=in-turn times a loop instead"
            .to_string());
    std::iter::once(head).chain(lines.iter().map(line)).chain(note).collect::<Vec<_>>().join("\n")
}

fn or_none(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "–".into(), |value| human(value, unit))
}

fn lines(readings: &[(Reading, u64)]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (reading, n) in readings {
        let size = reading.labels.get("size").and_then(|size| size.parse().ok()).unwrap_or(0.0);
        if lines.last().is_none_or(|last| last.size != size) {
            lines.push(Line { size, ..Line::default() });
        }
        let Some(line) = lines.last_mut() else { continue };
        match (reading.metric.as_str(), &reading.observation) {
            ("time", Observation::Value(value)) => (line.time, line.calls) = (Some(*value), *n),
            ("late_time", Observation::Value(value)) => (line.late_time, line.calls) = (Some(*value), *n),
            ("transfer_rate", Observation::Value(value)) => line.rate = Some(*value),
            ("late", Observation::Value(value)) => line.late = Some(*value),
            ("call_time", Observation::Histogram(seen)) => {
                let at = |share: f64| seen.quantile(share).map(|nanos| nanos * 1e-9);
                line.spread = at(0.05).zip(at(0.95));
            }
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::histogram::Histogram;
    use crosstalk_core::record::Origin;

    fn value(metric: &str, value: f64, size: u64) -> (Reading, u64) {
        (Reading::value(metric, value, Origin::Measured).label("size", size), 12)
    }

    #[test]
    fn each_size_has_a_line() {
        let readings =
            [value("time", 4.1e-6, 0), value("time", 5.5e-6, 1024), value("transfer_rate", 1.8e8, 1024)];
        let text = of(&readings);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].starts_with("size") && lines[0].ends_with("rate"), "{text}");
        assert!(lines[1].starts_with("0 B") && lines[1].ends_with('–'), "{text}");
        assert!(lines[2].contains("5.50 µs"), "{text}");
        assert!(!text.contains("late"), "nothing was late in virtual time: {text}");
    }

    #[test]
    fn times_from_the_last_begin_are_marked() {
        let text = of(&[value("late_time", 5e-5, 8), value("late", 1.0, 8), value("time", 4e-5, 16)]);
        assert!(text.contains("50.0 µs *\n") && text.contains("began late at some rank"), "{text}");
        assert_eq!(text.matches('*').count(), 2, "{text}");
    }

    #[test]
    fn in_real_time_the_spread_of_calls_is_shown() {
        let mut seen = Histogram::default();
        (1..=100).for_each(|micros| seen.record(micros * 1_000));
        let call_time = Reading::histogram("call_time", seen, Origin::Measured).label("size", 8);
        let text = of(&[value("time", 5e-5, 8), (call_time, 100), value("late", 0.25, 8)]);
        assert!(text.contains("25 %") && text.contains("90 % of calls") && text.contains(" to 9"), "{text}");
    }
}
