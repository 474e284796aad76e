//! Rows as a Markdown table.

use crosstalk_core::units::human;
use crosstalk_study::row::Row;
use std::collections::BTreeSet;

use crate::markdown::{grid, text};

/// Rows as a Markdown table, with the report's Hodges–Lehmann estimates where every row has one, else with medians: the
/// heading says which. Levels and percentiles have columns where any row has them.
pub fn markdown(rows: &[Row]) -> String {
    let parameters: BTreeSet<&str> =
        rows.iter().flat_map(|r| r.parameters.keys()).map(String::as_str).collect();
    let percentiles: BTreeSet<&str> =
        rows.iter().flat_map(|r| r.percentiles.keys()).map(String::as_str).filter(|p| *p != "p50").collect();
    let mut head: Vec<String> = vec!["Command".into()];
    head.extend(parameters.iter().map(|name| text(name)));
    let names = head.len() + 1;
    let estimated = rows.iter().all(|row| row.hodges_lehmann.is_some());
    let (name, interval) = match estimated {
        true => ("Hodges–Lehmann", "95 % (signed rank)"),
        false => ("Median", "95 % (order statistics)"),
    };
    head.extend(["Metric", name, interval, "Min", "Max"].map(text));
    head.extend(percentiles.iter().map(|name| text(name)));
    head.push("n".into());
    let right: Vec<bool> = (0..head.len()).map(|column| column >= names).collect();
    let body: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let number = |value: f64| text(&human(value, &row.unit));
            let found = row.hodges_lehmann.filter(|_| estimated);
            let (value, ends) =
                found.map_or((row.median, row.interval), |found| (found.value, found.interval));
            let interval = ends.map(|(low, high)| format!("{} to {}", number(low), number(high)));
            let mut cells = vec![text(&row.command)];
            let level = |name: &&str| row.parameters.get(*name).map(|level| text(level)).unwrap_or_default();
            cells.extend(parameters.iter().map(level));
            cells.push(text(&row.metric));
            cells.extend([number(value), interval.unwrap_or_default(), number(row.min), number(row.max)]);
            let stated = |name: &&str| row.percentiles.get(*name).map(|v| number(*v)).unwrap_or_default();
            cells.extend(percentiles.iter().map(stated));
            cells.push(row.n.to_string());
            cells
        })
        .collect();
    grid(&head, &right, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_in_human_units() {
        let row = Row::of_values("a|b", "run_time", "s", vec![0.5; 6]).expect("has values");
        let parameters = [("fabric".to_string(), "none".to_string())].into();
        let table = markdown(&[Row { parameters, ..row }]);
        assert!(
            table.contains(
                "| Command | fabric | Metric | Hodges-Lehmann | 95 % (signed rank) | Min | Max | n |"
            ),
            "{table}"
        );
        assert!(table.contains("| a\\|b | none | run_time | 500 ms | 500 ms to 500 ms |"), "{table}");
    }
}
