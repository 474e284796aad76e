//! A comparison of every datapath over one wire. Those that this machine has are measured in turn, round by
//! round, so that disturbances of the machine affect all of them.

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::need::{Need, UnmetNeed};
use crosstalk_core::record::{Observation, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_stats::quantile::reportable_percentiles;
use serde_json::{Value, json};

use super::workload::WIRE;
use crate::readings::Readings;

/// The datapaths: name, transport, mode.
const DATAPATHS: [(&str, &str, &str); 5] = [
    ("sockets, blocking", "udp", "blocking"),
    ("sockets, polling", "udp", "polling"),
    ("AF_XDP, polling", "af-xdp", "polling"),
    ("DPDK over AF_XDP", "dpdk-af-xdp", "polling"),
    ("DPDK over packet sockets", "dpdk-af-packet", "polling"),
];

/// How often each datapath is measured.
pub const ROUNDS_PER_DATAPATH: usize = 3;

/// The results of all datapaths, to be compared.
pub struct Comparison {
    /// In the order of the table.
    pub datapaths: Vec<Datapath>,
    /// The readings of all datapaths and rounds, with the label `round`.
    pub readings: Readings,
}

/// A way from one endpoint to the other, such as the kernel's UDP or DPDK, and its result.
pub struct Datapath {
    /// Its name for people.
    pub name: &'static str,
    /// Its result.
    pub state: State,
}

/// The result of a datapath, or why it has none.
pub enum State {
    /// This machine does not have it.
    Missing {
        /// What is missing, and what follows.
        why: String,
        /// What to do.
        remedy: Option<String>,
    },
    /// It was measured.
    Measured {
        /// One-way times of all rounds, in nanoseconds.
        one_way: Histogram,
        /// Each round's median, in nanoseconds.
        medians: Vec<f64>,
    },
}

/// A summary of one-way times, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct TimeSummary {
    /// The median of all rounds.
    pub p50: f64,
    /// The smallest of the rounds' medians.
    pub least: f64,
    /// The largest of them.
    pub most: f64,
    /// The 99th percentile, if there are enough messages.
    pub p99: Option<f64>,
    /// The longest.
    pub max: f64,
    /// The number of messages.
    pub count: u64,
}

/// Whether `params` sets no datapath: then all are compared.
pub fn is_comparison(params: &Params) -> bool {
    ["transport", "mode", "measure", "stages", "devices"].iter().all(|name| params.get(name).is_none())
}

/// Measures each datapath that this machine has with `once`, in turn. Calls `begins` before, with the name and
/// the round from 1.
///
/// # Errors
/// Those of `once`; an environment fault with its remedy if the machine has no datapath.
pub fn compare(
    params: &Params,
    once: impl Fn(&Params) -> Result<Readings, Fault>,
    begins: impl Fn(&str, usize),
) -> Result<Comparison, Fault> {
    let mut comparison = Comparison { datapaths: Vec::new(), readings: Readings::new() };
    let mut available: Vec<(usize, Params)> = Vec::new();
    for (name, transport, mode) in DATAPATHS {
        let params = params.clone().with("transport", transport).with("mode", mode);
        let missing = WIRE.needs(&params).into_iter().find_map(Need::unmet);
        let state = match missing {
            Some(UnmetNeed { what, consequence, remedy }) => {
                State::Missing { why: format!("{what}: {consequence}"), remedy }
            }
            None => {
                available.push((comparison.datapaths.len(), params));
                State::Measured { one_way: Histogram::default(), medians: Vec::new() }
            }
        };
        comparison.datapaths.push(Datapath { name, state });
    }
    if available.is_empty() {
        return Err(comparison.none());
    }
    for round in 1..=ROUNDS_PER_DATAPATH {
        for (place, params) in &available {
            let datapath = &mut comparison.datapaths[*place];
            begins(datapath.name, round);
            let readings = once(params)?;
            readings.iter().for_each(|(reading, _)| datapath.add(reading));
            let numbered = |(reading, n): (Reading, u64)| (reading.label("round", round), n);
            comparison.readings.extend(readings.into_iter().map(numbered));
        }
    }
    Ok(comparison)
}

impl Datapath {
    fn add(&mut self, reading: &Reading) {
        if let (State::Measured { one_way, medians }, "one_way", Observation::Histogram(times)) =
            (&mut self.state, reading.metric.as_str(), &reading.observation)
        {
            one_way.merge(times);
            medians.extend(times.quantile(0.5));
        }
    }

    /// Its summary; `None` if it is missing or nothing arrived.
    pub fn summary(&self) -> Option<TimeSummary> {
        let State::Measured { one_way, medians } = &self.state else { return None };
        let at = |q: f64| one_way.quantile(q).map(|value| value * 1e-9);
        let p99 = reportable_percentiles(one_way.count()).find(|(_, name)| *name == "p99");
        Some(TimeSummary {
            p50: at(0.5)?,
            least: medians.iter().copied().reduce(f64::min)? * 1e-9,
            most: medians.iter().copied().reduce(f64::max)? * 1e-9,
            p99: p99.and_then(|(q, _)| at(q)),
            max: at(1.0)?,
            count: one_way.count(),
        })
    }

    fn json(&self) -> Value {
        match (&self.state, self.summary()) {
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

impl Comparison {
    /// The comparison as JSON, in seconds.
    pub fn json(&self) -> Value {
        json!({ "ways": self.datapaths.iter().map(Datapath::json).collect::<Vec<_>>() })
    }

    /// The fault of a machine without a datapath: what the first one lacks.
    fn none(&self) -> Fault {
        match self.datapaths.first().map(|datapath| &datapath.state) {
            Some(State::Missing { why, remedy }) => {
                let fault = Fault::environment(why.clone());
                remedy.iter().fold(fault, |fault, remedy| fault.remedy(remedy))
            }
            _ => Fault::environment("this machine has no datapath over a wire"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datapath_that_is_set_is_the_only_one() {
        assert!(is_comparison(&Params::default().with("size", 128).with("ends", "one-thread")));
        assert!(!is_comparison(&Params::default().with("mode", "polling")));
        assert!(!is_comparison(&Params::default().with("transport", "udp")));
    }

    #[test]
    fn a_p99_needs_enough_messages() {
        let datapath = |count: u64| {
            let mut one_way = Histogram::default();
            (0..count).for_each(|n| one_way.record(2000 + n));
            let state = State::Measured { one_way, medians: vec![3e3, 2e3, 4e3] };
            Datapath { name: "sockets", state }
        };
        let (few, many) = (datapath(367).summary().expect("some"), datapath(368).summary().expect("some"));
        assert!(few.p99.is_none() && many.p99.is_some());
        assert_eq!((few.least, few.most, many.count), (2e3 * 1e-9, 4e3 * 1e-9, 368));
        assert!(datapath(0).summary().is_none(), "nothing arrived");
    }
}
