//! Readings of one instrument as text and as JSON, grouped by what they are readings of.

use std::collections::{BTreeMap, BTreeSet};

use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::units::{Bytes, human};
use crosstalk_stats::quantile::reportable_percentiles;
use crosstalk_study::row::percentile;
use serde_json::{Value, json};

/// One reading as JSON. A distribution has those percentiles for which there are enough samples, with 95 %
/// intervals.
pub fn reading_to_json(reading: &Reading, n: u64, unit: Option<&String>) -> Value {
    let mut json = json!({ "reading": reading, "n": n, "unit": unit });
    if let (Observation::Histogram(seen), Value::Object(fields)) = (&reading.observation, &mut json) {
        let scale = if unit.is_some_and(|unit| unit == "s") { 1e-9 } else { 1.0 };
        let at = |q: f64| seen.quantile(q).map(|value| value * scale);
        let interval = |(q, name): (f64, &str)| {
            let found = percentile(seen, q)?;
            let (low, high) = (found.low * scale, found.high * scale);
            Some((name.to_string(), json!({ "value": at(q), "low": low, "high": high })))
        };
        let percentiles: serde_json::Map<String, Value> =
            reportable_percentiles(seen.count()).filter_map(interval).collect();
        fields.insert("percentiles".into(), percentiles.into());
        fields.insert("max".into(), json!(at(1.0)));
    }
    json
}

/// The bandwidth of one interval, as a line of text and as an event; `None` for other readings.
pub fn bandwidth_interval(reading: &Reading) -> Option<(String, Value)> {
    let (rate, label) = (reading.number()?, |name: &str| reading.labels.get(name)?.parse::<f64>().ok());
    let (begin, end) = (label("begin")?, label("end")?);
    let line = format!("{begin:>8.2}–{end:<8.2} s  {}", human(rate, "bit/s"));
    let event =
        json!({ "event": "interval", "begin": begin, "end": end, "bandwidth": rate, "unit": "bit/s" });
    is_interval(reading).then_some((line, event))
}

fn is_interval(reading: &Reading) -> bool {
    reading.metric == "bandwidth_lately"
}

/// Readings as text. Numbers of one metric for many things are a table, for pairs a matrix; all others are a
/// paragraph for each thing.
pub fn readings_as_text(readings: &[(Reading, u64)], units: &BTreeMap<String, String>) -> String {
    // Intervals were printed while the measurement ran.
    let readings: Vec<_> = readings.iter().filter(|(reading, _)| !is_interval(reading)).cloned().collect();
    let readings = &readings[..];
    let of_pairs = |(reading, _): &&(Reading, u64)| reading.labels.contains_key("from");
    let things =
        |metric: &str| readings.iter().filter(|(r, _)| r.metric == metric && r.number().is_some()).count();
    if readings.iter().any(|reading| of_pairs(&reading)) {
        return matrix(readings, units);
    }
    match readings.first() {
        Some((first, _)) if first.number().is_some() && things(&first.metric) > 1 => {
            table(first, readings, units)
        }
        _ => {
            let (stages, others): (Vec<_>, Vec<_>) =
                readings.iter().cloned().partition(|(reading, _)| reading.labels.contains_key("band"));
            paragraphs(&others, units) + &waterfall(&stages)
        }
    }
}

/// The stages of the messages around the median, in the order of a message's path: the time of each, there and
/// back. Stages without time are left out.
fn waterfall(stages: &[(Reading, u64)]) -> String {
    let label = |reading: &Reading, name: &str| reading.labels.get(name).cloned().unwrap_or_default();
    let of_size = |reading: &Reading| label(reading, "size").parse().unwrap_or(0_u64);
    let sizes: BTreeSet<u64> = stages.iter().map(|(reading, _)| of_size(reading)).collect();
    let mut text = String::new();
    for size in sizes {
        let mut rows: Vec<(String, [f64; 2])> = Vec::new();
        let here =
            |r: &Reading| of_size(r) == size && label(r, "band") == "p50" && r.labels.contains_key("stage");
        for (reading, _) in stages.iter().filter(|(reading, _)| here(reading)) {
            let (stage, way) = (label(reading, "stage"), usize::from(label(reading, "way") == "back"));
            let place = rows.iter().position(|(known, _)| *known == stage).unwrap_or_else(|| {
                rows.push((stage, [0.0; 2]));
                rows.len() - 1
            });
            rows[place].1[way] = reading.number().unwrap_or(0.0);
        }
        rows.retain(|(_, ways)| ways.iter().sum::<f64>() > 0.0);
        text += &format!("\n\nwhere the time of {} goes, around the median\n", human(size as f64, "B"));
        text += &columns(&rows);
    }
    text
}

/// Names with two times and a bar for each: the first full, the second light.
fn columns(rows: &[(String, [f64; 2])]) -> String {
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let most = rows.iter().flat_map(|(_, ways)| ways).fold(f64::MIN_POSITIVE, |a, b| a.max(*b));
    let bar = |time: f64, of: &str| of.repeat((time / most * BAR / 2.0).round() as usize);
    let head = format!("  {:widest$}  {:>8}  {:>8}", "", "there", "back");
    let line = |(name, [there, back]): &(String, [f64; 2])| {
        let times = format!("{:>8}  {:>8}", human(*there, "s"), human(*back, "s"));
        format!("  {name:widest$}  {times}  {}{}", bar(*there, "█"), bar(*back, "░")).trim_end().to_string()
    };
    std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>().join("\n")
}

/// Length of the longest bar.
const BAR: f64 = 32.0;

/// One metric of many things: a line with a bar for each.
fn table(first: &Reading, readings: &[(Reading, u64)], units: &BTreeMap<String, String>) -> String {
    let unit = units.get(&first.metric).map_or("", String::as_str);
    let rows: Vec<(String, f64)> = readings
        .iter()
        .filter(|(reading, _)| reading.metric == first.metric)
        .filter_map(|(reading, _)| Some((subject(reading), reading.number()?)))
        .collect();
    let widest = rows.iter().map(|(subject, _)| subject.chars().count()).max().unwrap_or(0);
    let most = rows.iter().map(|(_, value)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let line = |(subject, value): &(String, f64)| {
        let bar = "█".repeat((value / most * BAR).round().max(0.0) as usize);
        format!("  {subject:<widest$}  {:>8}  {bar}", human(*value, unit)).trim_end().to_string()
    };
    let head = first.metric.replace('_', " ");
    std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>().join("\n")
}

/// The first metric of pairs: a row for each `from` and a column for each `to`.
fn matrix(readings: &[(Reading, u64)], units: &BTreeMap<String, String>) -> String {
    let metric = readings.first().map_or("", |(reading, _)| reading.metric.as_str());
    let unit = units.get(metric).map_or("", String::as_str);
    let label = |reading: &Reading, name: &str| reading.labels.get(name).cloned().unwrap_or_default();
    let cells: BTreeMap<(usize, usize), f64> = readings
        .iter()
        .filter(|(reading, _)| reading.metric == metric)
        .filter_map(|(r, _)| {
            Some(((label(r, "from").parse().ok()?, label(r, "to").parse().ok()?), r.number()?))
        })
        .collect();
    let ends: BTreeSet<usize> = cells.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let head: String = ends.iter().map(|to| format!("{to:>9}")).collect();
    let mut lines = vec![metric.replace('_', " "), format!("{:>5}{head}", "")];
    for from in &ends {
        let row = ends.iter().map(|to| cells.get(&(*from, *to)).or_else(|| cells.get(&(*to, *from))));
        let row: String =
            row.map(|cell| format!("{:>9}", cell.map_or("·".into(), |v| human(*v, unit)))).collect();
        lines.push(format!("{from:>5}{row}"));
    }
    lines.join("\n")
}

/// A paragraph for each combination of labels, with a line for each metric.
fn paragraphs(readings: &[(Reading, u64)], units: &BTreeMap<String, String>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut heading = String::new();
    for (reading, n) in readings {
        let subject = subject(reading);
        if subject != heading && !subject.is_empty() {
            lines.push(subject.clone());
            heading = subject;
        }
        let unit = units.get(&reading.metric).map_or("", String::as_str);
        // The line of a distribution has its percentiles already.
        let repeats =
            reading.metric.rsplit('_').next().is_some_and(|last| last.starts_with('p') && last.len() > 1);
        if let (false, Some(value)) = (repeats && readings.len() > 1, value(reading, *n, unit)) {
            lines.push(format!("  {:<16} {value}", reading.metric.replace('_', " ")));
        }
    }
    lines.join("\n")
}

/// What it is a reading of: `tcp, 64 B, blocking`; `4.00 KiB, node 0`.
fn subject(reading: &Reading) -> String {
    let label = |name: &str| reading.labels.get(name).cloned();
    let size = label("size").and_then(|s| s.parse().ok()).map(|s: u64| human(Bytes(s).0 as f64, "B"));
    let node = label("node").map(|node| format!("node {node}"));
    let offered = label("offered").map(|rate| format!("{rate} /s offered"));
    let ends = label("ends").map(|ends| ends.replace('-', " "));
    let streams = label("streams").map(|streams| format!("{streams} streams"));
    let parts = [
        label("transport"),
        size,
        streams,
        label("direction"),
        label("mode"),
        ends,
        offered,
        node,
        label("device"),
        label("kind"),
        label("kernel"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// A number with its unit. Counts are whole numbers.
fn amount(value: f64, unit: &str) -> String {
    match unit {
        "datagrams" | "messages" | "segments" | "writes" => format!("{value:.0} {unit}"),
        _ => human(value, unit),
    }
}

fn value(reading: &Reading, n: u64, unit: &str) -> Option<String> {
    match &reading.observation {
        Observation::Value(v) => Some(match reading.labels.get("settled").map(String::as_str) {
            // It covers the whole time, so it may be below the bandwidth after the warm-up.
            _ if reading.metric == "offered" => format!("{}, warm-up included", human(*v, unit)),
            // The bandwidth has the same label; it is printed once.
            _ if reading.metric == "retransmitted" && reading.labels.contains_key("congestion") => {
                format!("{}, congestion control {}", amount(*v, unit), reading.labels["congestion"])
            }
            Some("false") => format!("{} left out, and still not steady: a busy machine?", amount(*v, unit)),
            // Shares of messages: lost, matched, unexplained.
            _ if unit == "ratio" => human(*v, "%"),
            _ => amount(*v, unit),
        }),
        Observation::Histogram(h) => {
            let percentiles: Vec<String> = reportable_percentiles(n)
                .filter_map(|(q, name)| Some(format!("{name} {}", human(h.quantile(q)? * 1e-9, unit))))
                .collect();
            let max = h.quantile(1.0).map(|max| format!("   max {}", human(max * 1e-9, unit)));
            Some(format!("{}{}   of {n}", percentiles.join("   "), max.unwrap_or_default()))
        }
        Observation::Series(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::histogram::Histogram;
    use crosstalk_core::record::Origin;

    fn units() -> BTreeMap<String, String> {
        BTreeMap::from([("time".to_string(), "s".to_string())])
    }

    #[test]
    fn one_metric_of_many_things_is_a_table_with_bars() {
        let reading =
            |size: u64, time| (Reading::value("time", time, Origin::Measured).label("size", size), 9);
        let text = readings_as_text(&[reading(64, 1e-9), reading(4096, 2e-9)], &units());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "time");
        let bar = |line: &str| line.matches('█').count();
        assert!(lines[1].starts_with("  64 B") && bar(lines[2]) == 2 * bar(lines[1]), "{text}");
    }

    #[test]
    fn pairs_are_a_symmetric_matrix() {
        let reading = |from: u64, to: u64, time| {
            (Reading::value("time", time, Origin::Measured).label("from", from).label("to", to), 9)
        };
        let text =
            readings_as_text(&[reading(0, 1, 1e-9), reading(0, 10, 2e-9), reading(1, 10, 3e-9)], &units());
        assert_eq!(text.matches("2.00 ns").count(), 2, "{text}");
        assert!(text.lines().nth(1).is_some_and(|head| head.trim_end().ends_with("10")), "{text}");
    }

    #[test]
    fn json_has_percentiles_with_intervals_if_there_are_enough_samples() {
        let mut seen = Histogram::default();
        (1..=400).for_each(|n| seen.record(n * 1000));
        let json =
            reading_to_json(&Reading::histogram("time", seen, Origin::Measured), 400, Some(&"s".to_string()));
        let names: Vec<&String> = json["percentiles"].as_object().expect("some").keys().collect();
        assert_eq!(names, ["p50", "p90", "p99"]);
        let number = |name: &str| json["percentiles"]["p50"][name].as_f64().expect("a number");
        assert!(number("low") < number("value") && number("value") < number("high"), "{json}");
        assert!((number("value") / 200e-6 - 1.0).abs() < 0.01, "{json}");
        assert!((json["max"].as_f64().expect("one") / 400e-6 - 1.0).abs() < 0.01, "{json}");
    }

    #[test]
    fn a_percentile_needs_enough_samples() {
        let mut few = Histogram::default();
        (0..30).for_each(|_| few.record(20_000));
        let reading = Reading::histogram("round_trip", few, Origin::Measured)
            .label("size", 64)
            .label("transport", "tcp");
        let units = BTreeMap::from([("round_trip".to_string(), "s".to_string())]);
        let text = readings_as_text(&[(reading, 30)], &units);
        assert!(text.starts_with("tcp, 64 B\n"), "{text}");
        assert!(text.contains("p50 20.0 µs") && !text.contains("p99"), "{text}");
    }
}
