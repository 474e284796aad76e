//! Every way over one wire, side by side: what `crosstalk probe wire` runs where none is set.

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::need::{Need, Unmet};
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::units::human;
use crosstalk_core::value::Params;
use crosstalk_stats::quantile::samples_needed;
use serde_json::{Value, json};

use crate::out::Out;
use crate::parts;
use crate::verb::probe::{Asked, Readings};

/// The ways: a name, the transport, and how an end waits.
const WAYS: [(&str, &str, &str); 5] = [
    ("sockets, blocking", "udp", "blocking"),
    ("sockets, polling", "udp", "polling"),
    ("AF_XDP, polling", "af-xdp", "polling"),
    ("DPDK over AF_XDP", "dpdk-af-xdp", "polling"),
    ("DPDK over packet sockets", "dpdk-af-packet", "polling"),
];

/// How often each way has its turn, so that what else happens here meets all of them.
const ROUNDS: usize = 3;

/// What was found of each way.
pub struct Found {
    ways: Vec<Way>,
    /// Of all ways, each round's.
    pub readings: Readings,
}

struct Way {
    name: &'static str,
    state: State,
}

enum State {
    Missing { why: String, remedy: Option<String> },
    Timed { one_way: Histogram, medians: Vec<f64> },
}

/// Whether no way is set: then all are asked for.
pub fn are_all_asked_for(params: &Params) -> bool {
    ["transport", "mode", "measure", "stages", "devices"].iter().all(|name| params.get(name).is_none())
}

/// Runs each way that this host has, in turns, by `once`.
///
/// # Errors
/// Where one fails that this host has, or it has none.
pub fn measure(
    asked: &Asked,
    once: impl Fn(&Asked) -> Result<Readings, Fault>,
    out: &Out,
) -> Result<Found, Fault> {
    let workload = parts::registry();
    let workload = workload.workload(asked.kind)?;
    let mut found = Found { ways: Vec::new(), readings: Readings::new() };
    let mut timed: Vec<(usize, Params)> = Vec::new();
    for (name, transport, mode) in WAYS {
        let params = asked.params.clone().with("transport", transport).with("mode", mode);
        let missing = workload.needs(&params).into_iter().find_map(missing);
        if missing.is_none() {
            timed.push((found.ways.len(), params));
        }
        let state =
            missing.unwrap_or_else(|| State::Timed { one_way: Histogram::default(), medians: Vec::new() });
        found.ways.push(Way { name, state });
    }
    if timed.is_empty() {
        let [first, ..] = &found.ways[..] else { return Err(Fault::environment("there is no way")) };
        let State::Missing { why, remedy } = &first.state else { return Err(Fault::environment("no way")) };
        let fault = Fault::environment(why.clone());
        return Err(remedy.iter().fold(fault, |fault, remedy| fault.remedy(remedy)));
    }
    for round in 1..=ROUNDS {
        for (place, params) in &timed {
            out.tell(&json!({ "event": "way", "way": found.ways[*place].name, "round": round }));
            let readings = once(&Asked { kind: asked.kind, params: params.clone() })?;
            if let State::Timed { one_way, medians } = &mut found.ways[*place].state {
                for (reading, _) in &readings {
                    if let ("one_way", Observation::Histogram(seen)) =
                        (reading.metric.as_str(), &reading.observation)
                    {
                        one_way.merge(seen);
                        medians.extend(seen.quantile(0.5));
                    }
                }
            }
            let numbered = |(reading, n): (Reading, u64)| (reading.label("round", round), n);
            found.readings.extend(readings.into_iter().map(numbered));
        }
    }
    Ok(found)
}

fn missing(need: Need) -> Option<State> {
    let Unmet { what, consequence, remedy } = need.unmet()?;
    Some(State::Missing { why: format!("{what}: {consequence}"), remedy })
}

/// A line for each way: its median with those of the rounds, and how that stands to the first one's; for what
/// is missing why, and what mends it.
pub fn table(found: &Found) -> String {
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

/// In seconds.
struct Numbers {
    p50: f64,
    least: f64,
    most: f64,
    p99: Option<f64>,
    max: f64,
    count: u64,
}

impl Way {
    fn numbers(&self) -> Option<Numbers> {
        let State::Timed { one_way, medians } = &self.state else { return None };
        let at = |q: f64| one_way.quantile(q).map(|value| value * 1e-9);
        let enough = samples_needed(0.99, 0.05).is_some_and(|needed| one_way.count() >= needed);
        Some(Numbers {
            p50: at(0.5)?,
            least: medians.iter().copied().reduce(f64::min)? * 1e-9,
            most: medians.iter().copied().reduce(f64::max)? * 1e-9,
            p99: if enough { at(0.99) } else { None },
            max: at(1.0)?,
            count: one_way.count(),
        })
    }
}

impl Found {
    /// The table for programs, in seconds.
    pub fn json(&self) -> Value {
        let way = |way: &Way| match (&way.state, way.numbers()) {
            (State::Missing { why, remedy }, _) => {
                json!({ "way": way.name, "missing": why, "remedy": remedy })
            }
            (_, None) => json!({ "way": way.name }),
            (_, Some(n)) => json!({
                "way": way.name, "p50": n.p50, "p50_of_rounds": [n.least, n.most], "p99": n.p99, "max": n.max, "n": n.count,
            }),
        };
        json!({ "ways": self.ways.iter().map(way).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_is_set_is_the_only_one() {
        assert!(are_all_asked_for(&Params::default().with("size", 128).with("ends", "one-thread")));
        assert!(!are_all_asked_for(&Params::default().with("mode", "polling")));
        assert!(!are_all_asked_for(&Params::default().with("transport", "udp")));
    }

    #[test]
    fn the_table_says_what_was_found_and_what_is_missing() {
        let mut one_way = Histogram::default();
        (0..400).for_each(|n| one_way.record(2000 + n));
        let timed = |factor: f64| State::Timed { one_way: one_way.clone(), medians: vec![2e3, 2e3 * factor] };
        let missing =
            State::Missing { why: "DPDK: not built in".into(), remedy: Some("apt install it".into()) };
        let ways =
            vec![Way { name: "sockets", state: timed(2.0) }, Way { name: "past them", state: missing }];
        let found = Found { ways, readings: Vec::new() };
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
