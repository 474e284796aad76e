//! Every way over one wire as a table for people: what `crosstalk probe wire` prints where none is set.

use crosstalk_core::units::human;
use crosstalk_probe::wire::{ROUNDS, State, Way, Ways};

/// A line for each way: its median with those of the rounds, and how that stands to the first one's; for what
/// is missing why, and what mends it.
pub fn table(found: &Ways) -> String {
    let first = found.ways.iter().find_map(|way| way.numbers().map(|numbers| numbers.p50));
    let time = |value: Option<f64>| value.map_or("–".into(), |value| human(value, "s"));
    let widest = found.ways.iter().map(|way| way.name.len()).max().unwrap_or(0);
    let head = format!(
        "one way over one wire, {ROUNDS} rounds\n  {:widest$}  {:>9}  {:>21}  {:>9}  {:>9}  {:>9}",
        "", "p50", "p50 of the rounds", "p99", "max", "p50 to first"
    );
    let line = |way: &Way| match (&way.state, way.numbers()) {
        (State::Missing { why, remedy }, _) => {
            let remedy = remedy.as_ref().map(|remedy| format!("\n  {:widest$}  try: {remedy}", ""));
            format!("  {:widest$}  missing: {why}{}", way.name, remedy.unwrap_or_default())
        }
        (_, Some(numbers)) => {
            let rounds = format!("{} – {}", time(Some(numbers.least)), time(Some(numbers.most)));
            let to_first = first.map_or("–".into(), |first| human(numbers.p50 / first, "ratio"));
            let (p50, p99, max) = (time(Some(numbers.p50)), time(numbers.p99), time(Some(numbers.max)));
            format!("  {:widest$}  {p50:>9}  {rounds:>21}  {p99:>9}  {max:>9}  {to_first:>9}", way.name)
        }
        (State::Timed { .. }, None) => format!("  {:widest$}  nothing arrived", way.name),
    };
    let unsteady = |way: &&Way| way.numbers().is_some_and(|numbers| numbers.most > 2.0 * numbers.least);
    let unsteady: Vec<&str> = found.ways.iter().filter(unsteady).map(|way| way.name).collect();
    let note = (!unsteady.is_empty()).then(|| {
        format!(
            "rounds differ more than twofold, so that nothing follows (a busy machine?): {}",
            unsteady.join("; ")
        )
    });
    std::iter::once(head).chain(found.ways.iter().map(line)).chain(note).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::histogram::Histogram;

    #[test]
    fn the_table_says_what_was_found_and_what_is_missing() {
        let mut one_way = Histogram::default();
        (0..400).for_each(|n| one_way.record(2000 + n));
        let timed = |factor: f64| State::Timed { one_way: one_way.clone(), medians: vec![2e3, 2e3 * factor] };
        let missing =
            State::Missing { why: "DPDK: not built in".into(), remedy: Some("apt install it".into()) };
        let ways =
            vec![Way { name: "sockets", state: timed(2.0) }, Way { name: "past them", state: missing }];
        let found = Ways { ways, readings: Vec::new() };
        let table = table(&found);
        assert!(table.contains("2.00 µs – 4.00 µs") && table.contains("1.00 ×"), "{table}");
        assert!(
            table.contains("missing: DPDK: not built in") && table.contains("try: apt install it"),
            "{table}"
        );
        assert!(!table.contains("busy machine"), "{table}");
        assert_eq!(found.json()["ways"][1]["remedy"], "apt install it");
        assert_eq!(found.json()["ways"][0]["n"], 400);
    }
}
