//! How long a message takes there and back while others are on their way, against
//! how many are sent a second.
//!
//! An *open loop*: messages go out when they are due, whether or not earlier ones
//! have been answered, and a message's time counts from when it was *due*. So a
//! stall is paid for by every message that was due meanwhile, and not only by the one
//! that was on its way (Tene calls the mistake coordinated omission). The measuring end
//! never sleeps; the serving end waits as `mode` says and answers one message after the
//! other.
//!
//! Where no rate is asked for, the *saturation* is found first, the highest rate that is
//! kept up with, and then shares of it are offered.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `latency` | s | distribution from the time due to the reply; label `offered`, messages a second |
//! | `latency_p50` `_p99` `_p999` `_p9999` | s | percentiles that the number of messages allows |
//! | `achieved` | 1/s | replies, over the time they took |
//! | `sent` | messages | sent by the time the last reply was waited for |
//! | `received` | messages | answered within the patience after the last was due |
//! | `lost` | ratio | not answered, of those sent |
//! | `not_sent` | messages | due, and not sent: there was no room for them, or this end was too slow |
//! | `sent_late` | s | distribution: how much later than due a message was taken from the measuring end, which was late itself or had to wait for room |
//! | `saturation` | 1/s | the highest rate that both ends together kept up with, where it was looked for |
//! | `own_overhead` | s | what timing one message costs |

mod find;
mod offer;
mod spec;

pub use offer::{Duplex, Lane, Seen};
pub use spec::Spec;

use std::net::SocketAddr;

use crosstalk_core::Fault;
use crosstalk_core::record::{Better, Metric, Origin, Reading};

use super::arguments::Transport;
use super::control::{Ask, datagrams_to, only, open, ready};
use super::medium::{Medium, Waiting, over};
use super::pin::pin;
use super::settle::percentile;
use super::{Readings, clock, node, processors};
use crosstalk_work::Declared;
use crosstalk_work::peer::socket::broken;
use crosstalk_work::peer::{Line, Until};
use offer::{Datagrams, Stream};

/// The probe.
pub const LOAD: Declared<Spec> = Declared {
    name: "load",
    title: "Round trip of a message while others are on their way, against how many a second",
    parameters: spec::PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| node::deployment(metrics(), spec.seconds()),
    needs: |spec| std::iter::once(spec.transport.need()).chain(processors::need(spec.mode)).collect(),
    prepare: |spec, part| {
        let spec = Spec { seed: part.seed, ..spec };
        node::prepare(part, move |target, until| measure(target, &spec, until))
    },
};

/// Percentiles that are reported, and the metrics that carry them.
const PERCENTILES: [(f64, &str); 4] =
    [(0.5, "latency_p50"), (0.99, "latency_p99"), (0.999, "latency_p999"), (0.9999, "latency_p9999")];

fn metrics() -> Vec<Metric> {
    let lower = |name: &str, unit: &str| Metric::new(name, unit, Better::Lower);
    let mut metrics = vec![lower("latency", "s")];
    metrics.extend(PERCENTILES.map(|(_, name)| lower(name, "s")));
    metrics.extend([
        Metric::new("achieved", "1/s", Better::Higher),
        Metric::new("sent", "messages", Better::Neither),
        Metric::new("received", "messages", Better::Neither),
        lower("lost", "ratio"),
        lower("not_sent", "messages"),
        Metric::new("sent_late", "s", Better::Neither),
        Metric::new("saturation", "1/s", Better::Higher),
        Metric::new("own_overhead", "s", Better::Neither),
    ]);
    metrics
}

/// Measures against the serving end at `target`.
pub fn measure(target: SocketAddr, spec: &Spec, until: &Until) -> Result<Readings, Fault> {
    let _pinned = pin(spec.pin[0])?;
    let overhead = clock::overhead();
    let (mut line, host) = open(target, "load", until)?;
    processors::each_polls(spec.mode, spec.pin, &host)?;
    let ready = ready(&mut line, &Ask::Echo(spec.session()), until)?;
    let mut readings = if spec.transport == Transport::Udp {
        let socket = only(datagrams_to(target, &line, &ready, until)?)?;
        let wire = Datagrams::new(socket).map_err(|e| broken(target, &e))?;
        curve(wire, spec, &line, until)
    } else {
        // This end never sleeps; the other one may have to be woken.
        let waiting = Waiting { nap: None, other_sleeps: spec.sleeps() };
        let medium = Medium::meet(spec.transport, target, &ready, waiting, until)?;
        over!(medium, stream => curve(Stream(stream), spec, &line, until))
    }?;
    line.say(&Ask::Finished)?;
    readings.push((Reading::value("own_overhead", overhead, Origin::Measured), 1));
    let labelled = |(reading, n): (Reading, u64)| {
        let reading = reading.label("transport", spec.transport.name()).label("size", spec.size.0);
        (reading.label("mode", spec.mode.name()), n)
    };
    Ok(readings.into_iter().map(labelled).collect())
}

/// Every rate that is asked for, or shares of the one that is found.
fn curve(wire: impl Duplex, spec: &Spec, line: &Line, until: &Until) -> Result<Readings, Fault> {
    let mut readings = Readings::new();
    let mut lane = Lane::new(wire, spec.size, line);
    let mut at = |rate: f64, seconds: f64| lane.offer(&spec.schedule(rate, seconds), spec.patience, until);
    let rates = match &spec.rates {
        Some(rates) => rates.clone(),
        None => {
            let found = find::saturation(|rate| Ok(at(rate, find::LOOK)?.kept_up()))?;
            readings.push((Reading::value("saturation", found, Origin::Measured), 1));
            find::SHARES.iter().map(|share| share * found).collect()
        }
    };
    for rate in rates.into_iter().filter(|rate| *rate > 0.0) {
        readings.extend(told(&at(rate, spec.duration.0)?, rate));
    }
    Ok(readings)
}

/// What was seen of one rate.
fn told(seen: &Seen, rate: f64) -> Readings {
    let measured = |name: &str, value: f64, n: u64| (Reading::value(name, value, Origin::Measured), n);
    let n = seen.latency.count();
    let mut readings = vec![(Reading::histogram("latency", seen.latency.clone(), Origin::Measured), n)];
    for (q, name) in PERCENTILES {
        let value = percentile(&seen.latency, q).map(|ns| measured(name, ns * 1e-9, n));
        readings.extend(value);
    }
    let late = seen.sent_late.count();
    readings.extend([
        measured("achieved", seen.achieved(), n),
        measured("sent", seen.sent as f64, 1),
        measured("received", n as f64, 1),
        measured("lost", seen.lost(), seen.sent),
        measured("not_sent", (seen.due - seen.sent) as f64, 1),
        (Reading::histogram("sent_late", seen.sent_late.clone(), Origin::Measured), late),
    ]);
    readings.into_iter().map(|(reading, n)| (reading.label("offered", rate.round()), n)).collect()
}
