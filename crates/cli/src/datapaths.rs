//! The table of `crosstalk probe wire`: all datapaths of this host, compared.

use crosstalk_core::units::human;
use crosstalk_probe::wire::{Comparison, Datapath, ROUNDS_PER_DATAPATH, State};

/// A line for each datapath: its median, the range of the rounds' medians, and the ratio of its median to that of
/// the first one. For a missing datapath: the reason and the remedy.
pub fn table(comparison: &Comparison) -> String {
    let first =
        comparison.datapaths.iter().find_map(|datapath| datapath.summary().map(|summary| summary.p50));
    let time = |value: Option<f64>| value.map_or("–".into(), |value| human(value, "s"));
    let widest = comparison.datapaths.iter().map(|datapath| datapath.name.len()).max().unwrap_or(0);
    let head = format!(
        "one-way time over one wire, {ROUNDS_PER_DATAPATH} rounds\n  {:widest$}  {:>9}  {:>21}  {:>9}  {:>9}  {:>9}",
        "", "p50", "p50 of the rounds", "p99", "max", "p50 to first"
    );
    let line = |datapath: &Datapath| match (&datapath.state, datapath.summary()) {
        (State::Missing { why, remedy }, _) => {
            let remedy = remedy.as_ref().map(|remedy| format!("\n  {:widest$}  try: {remedy}", ""));
            format!("  {:widest$}  missing: {why}{}", datapath.name, remedy.unwrap_or_default())
        }
        (_, Some(summary)) => {
            let rounds = format!("{} – {}", time(Some(summary.least)), time(Some(summary.most)));
            let to_first = first.map_or("–".into(), |first| human(summary.p50 / first, "ratio"));
            let (p50, p99, max) = (time(Some(summary.p50)), time(summary.p99), time(Some(summary.max)));
            format!("  {:widest$}  {p50:>9}  {rounds:>21}  {p99:>9}  {max:>9}  {to_first:>9}", datapath.name)
        }
        (State::Measured { .. }, None) => format!("  {:widest$}  nothing arrived", datapath.name),
    };
    let unsteady =
        |datapath: &&Datapath| datapath.summary().is_some_and(|summary| summary.most > 2.0 * summary.least);
    let unsteady: Vec<&str> =
        comparison.datapaths.iter().filter(unsteady).map(|datapath| datapath.name).collect();
    let note = (!unsteady.is_empty()).then(|| {
        format!(
            "the rounds differ more than twofold, so no conclusion is possible (a busy machine?): {}",
            unsteady.join("; ")
        )
    });
    std::iter::once(head)
        .chain(comparison.datapaths.iter().map(line))
        .chain(note)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::histogram::Histogram;

    #[test]
    fn the_table_has_medians_and_what_is_missing() {
        let mut one_way = Histogram::default();
        (0..400).for_each(|n| one_way.record(2000 + n));
        let timed =
            |factor: f64| State::Measured { one_way: one_way.clone(), medians: vec![2e3, 2e3 * factor] };
        let missing =
            State::Missing { why: "DPDK: not built in".into(), remedy: Some("apt install it".into()) };
        let datapaths = vec![
            Datapath { name: "sockets", state: timed(2.0) },
            Datapath { name: "bypass", state: missing },
        ];
        let comparison = Comparison { datapaths, readings: Vec::new() };
        let table = table(&comparison);
        assert!(table.contains("2.00 µs – 4.00 µs") && table.contains("1.00 ×"), "{table}");
        assert!(
            table.contains("missing: DPDK: not built in") && table.contains("try: apt install it"),
            "{table}"
        );
        assert!(!table.contains("busy machine"), "{table}");
        assert_eq!(comparison.json()["ways"][1]["remedy"], "apt install it");
        assert_eq!(comparison.json()["ways"][0]["n"], 400);
    }
}
