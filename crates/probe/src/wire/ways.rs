//! Every way over one wire, side by side: each that this machine has has its turn, so that what else happens
//! there meets all of them.

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::need::{Need, Unmet};
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_stats::quantile::reported;
use serde_json::{Value, json};

use super::WIRE;
use crate::Readings;

/// The ways: a name, the transport, and how an end waits.
const WAYS: [(&str, &str, &str); 5] = [
    ("sockets, blocking", "udp", "blocking"),
    ("sockets, polling", "udp", "polling"),
    ("AF_XDP, polling", "af-xdp", "polling"),
    ("DPDK over AF_XDP", "dpdk-af-xdp", "polling"),
    ("DPDK over packet sockets", "dpdk-af-packet", "polling"),
];

/// How often each way has its turn.
pub const ROUNDS: usize = 3;

/// What was found of every way.
pub struct Ways {
    /// In the order of the table.
    pub ways: Vec<Way>,
    /// Of all ways, each round's, labelled `round`.
    pub readings: Readings,
}

/// One way.
pub struct Way {
    /// For people.
    pub name: &'static str,
    /// What was found of it.
    pub state: State,
}

/// What was found of a way.
pub enum State {
    /// This machine does not have it.
    Missing {
        /// What is missing, and what follows.
        why: String,
        /// What mends it.
        remedy: Option<String>,
    },
    /// It was timed.
    Timed {
        /// From end to end, in nanoseconds, of all rounds.
        one_way: Histogram,
        /// Each round's median, in nanoseconds.
        medians: Vec<f64>,
    },
}

/// A way's times from end to end, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// The median of all rounds.
    pub p50: f64,
    /// The smallest of the rounds' medians.
    pub least: f64,
    /// The largest of them.
    pub most: f64,
    /// Where there are samples enough.
    pub p99: Option<f64>,
    /// The longest.
    pub max: f64,
    /// Of how many messages.
    pub count: u64,
}

/// Whether no way is set in `params`: then all are asked for.
pub fn are_all_asked_for(params: &Params) -> bool {
    ["transport", "mode", "measure", "stages", "devices"].iter().all(|name| params.get(name).is_none())
}

/// Runs each way that this machine has, in turns, by `once`; `begins` is told of each turn: the way and the round,
/// from 1.
///
/// # Errors
/// Where one fails that this machine has, or it has none: an environment fault with what mends it.
pub fn every_way(
    params: &Params,
    once: impl Fn(&Params) -> Result<Readings, Fault>,
    begins: impl Fn(&str, usize),
) -> Result<Ways, Fault> {
    let mut found = Ways { ways: Vec::new(), readings: Readings::new() };
    let mut timed: Vec<(usize, Params)> = Vec::new();
    for (name, transport, mode) in WAYS {
        let params = params.clone().with("transport", transport).with("mode", mode);
        let missing = WIRE.needs(&params).into_iter().find_map(Need::unmet);
        let state = match missing {
            Some(Unmet { what, consequence, remedy }) => {
                State::Missing { why: format!("{what}: {consequence}"), remedy }
            }
            None => {
                timed.push((found.ways.len(), params));
                State::Timed { one_way: Histogram::default(), medians: Vec::new() }
            }
        };
        found.ways.push(Way { name, state });
    }
    if timed.is_empty() {
        return Err(found.none());
    }
    for round in 1..=ROUNDS {
        for (place, params) in &timed {
            let way = &mut found.ways[*place];
            begins(way.name, round);
            let readings = once(params)?;
            readings.iter().for_each(|(reading, _)| way.add(reading));
            let numbered = |(reading, n): (Reading, u64)| (reading.label("round", round), n);
            found.readings.extend(readings.into_iter().map(numbered));
        }
    }
    Ok(found)
}

impl Way {
    fn add(&mut self, reading: &Reading) {
        if let (State::Timed { one_way, medians }, "one_way", Observation::Histogram(seen)) =
            (&mut self.state, reading.metric.as_str(), &reading.observation)
        {
            one_way.merge(seen);
            medians.extend(seen.quantile(0.5));
        }
    }

    /// Its times; `None` where it is missing, or nothing arrived.
    pub fn numbers(&self) -> Option<Numbers> {
        let State::Timed { one_way, medians } = &self.state else { return None };
        let at = |q: f64| one_way.quantile(q).map(|value| value * 1e-9);
        let p99 = reported(one_way.count()).find(|(_, name)| *name == "p99");
        Some(Numbers {
            p50: at(0.5)?,
            least: medians.iter().copied().reduce(f64::min)? * 1e-9,
            most: medians.iter().copied().reduce(f64::max)? * 1e-9,
            p99: p99.and_then(|(q, _)| at(q)),
            max: at(1.0)?,
            count: one_way.count(),
        })
    }

    fn json(&self) -> Value {
        match (&self.state, self.numbers()) {
            (State::Missing { why, remedy }, _) => {
                json!({ "way": self.name, "missing": why, "remedy": remedy })
            }
            (_, None) => json!({ "way": self.name }),
            (_, Some(n)) => json!({
                "way": self.name, "p50": n.p50, "p50_of_rounds": [n.least, n.most], "p99": n.p99, "max": n.max, "n": n.count,
            }),
        }
    }
}

impl Ways {
    /// The table for programs, in seconds.
    pub fn json(&self) -> Value {
        json!({ "ways": self.ways.iter().map(Way::json).collect::<Vec<_>>() })
    }

    /// The fault that this machine has none of them: what the first one lacks.
    fn none(&self) -> Fault {
        match self.ways.first().map(|way| &way.state) {
            Some(State::Missing { why, remedy }) => {
                let fault = Fault::environment(why.clone());
                remedy.iter().fold(fault, |fault, remedy| fault.remedy(remedy))
            }
            _ => Fault::environment("this machine has no way over a wire"),
        }
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
    fn a_p99_needs_its_samples() {
        let way = |count: u64| {
            let mut one_way = Histogram::default();
            (0..count).for_each(|n| one_way.record(2000 + n));
            let state = State::Timed { one_way, medians: vec![3e3, 2e3, 4e3] };
            Way { name: "sockets", state }
        };
        let (few, many) = (way(367).numbers().expect("some"), way(368).numbers().expect("some"));
        assert!(few.p99.is_none() && many.p99.is_some());
        assert_eq!((few.least, few.most, many.count), (2e3 * 1e-9, 4e3 * 1e-9, 368));
        assert!(way(0).numbers().is_none(), "nothing arrived");
    }
}
