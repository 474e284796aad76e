//! Readings of one instrument as people read them, grouped by what they speak of.

use std::collections::BTreeMap;

use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::units::{Bytes, human};
use crosstalk_stats::quantile::samples_needed;

/// Percentiles shown of a distribution, each only from enough samples.
const SHOWN: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

/// A paragraph for each combination of labels, a line for each metric.
pub fn text(readings: &[(Reading, u64)], units: &BTreeMap<String, String>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut heading = String::new();
    for (reading, n) in readings {
        let about = about(reading);
        if about != heading {
            lines.push(about.clone());
            heading = about;
        }
        let unit = units.get(&reading.metric).map_or("", String::as_str);
        // A distribution's own percentiles stand in its line already.
        let repeats =
            reading.metric.rsplit('_').next().is_some_and(|last| last.starts_with('p') && last.len() > 1);
        if let (false, Some(value)) = (repeats && readings.len() > 1, value(reading, *n, unit)) {
            lines.push(format!("  {:<16} {value}", reading.metric.replace('_', " ")));
        }
    }
    lines.join("\n")
}

/// What a reading speaks of: `tcp, 64 B, blocking`.
fn about(reading: &Reading) -> String {
    let label = |name: &str| reading.labels.get(name).cloned();
    let size = label("size").and_then(|s| s.parse().ok()).map(|s: u64| human(Bytes(s).0 as f64, "B"));
    let parts: Vec<String> = [label("transport"), size, label("mode")].into_iter().flatten().collect();
    parts.join(", ")
}

fn value(reading: &Reading, n: u64, unit: &str) -> Option<String> {
    match &reading.observation {
        Observation::Value(v) => Some(match reading.labels.get("settled").map(String::as_str) {
            // Of the whole time, so that it may lie below what came in once it was steady.
            _ if reading.metric == "offered" => format!("{}, warm-up included", human(*v, unit)),
            Some("false") => format!("{} left out, and still not steady: a busy machine?", human(*v, unit)),
            _ => human(*v, unit),
        }),
        Observation::Histogram(h) => {
            let percentiles: Vec<String> = SHOWN
                .iter()
                .filter(|(q, _)| samples_needed(*q, 0.05).is_some_and(|needed| n >= needed))
                .filter_map(|(q, name)| Some(format!("{name} {}", human(h.quantile(*q)? * 1e-9, unit))))
                .collect();
            Some(format!("{}   of {n}", percentiles.join("   ")))
        }
        Observation::Series(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::histogram::Histogram;
    use crosstalk_core::record::Origin;

    #[test]
    fn a_percentile_needs_its_samples() {
        let mut few = Histogram::default();
        (0..30).for_each(|_| few.record(20_000));
        let reading = Reading::histogram("round_trip", few, Origin::Measured)
            .label("size", 64)
            .label("transport", "tcp");
        let units = BTreeMap::from([("round_trip".to_string(), "s".to_string())]);
        let text = text(&[(reading, 30)], &units);
        assert!(text.starts_with("tcp, 64 B\n"), "{text}");
        assert!(text.contains("p50 20.0 µs") && !text.contains("p99"), "{text}");
    }
}
