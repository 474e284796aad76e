//! Exchanges as a trace that ui.perfetto.dev and chrome://tracing open: the Trace Event
//! Format, complete events (`X`), times in microseconds, one track a connection.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crosstalk_core::trace::Scope;
use crosstalk_observe::service::Exchange;
use serde_json::{Value, json};

use super::slices::slices;
use super::split::split;

/// The trace, as JSON.
pub fn perfetto(exchanges: &[Exchange], service: &str) -> Value {
    let first = exchanges
        .iter()
        .filter_map(|exchange| split(exchange).ok())
        .map(|split| split.began)
        .min()
        .unwrap_or(0);
    let mut tracks: BTreeMap<(SocketAddr, u16), usize> = BTreeMap::new();
    for exchange in exchanges {
        let next = tracks.len() + 1;
        tracks.entry((exchange.client, exchange.port)).or_insert(next);
    }
    let mut events =
        vec![json!({ "ph": "M", "name": "process_name", "pid": 1, "args": { "name": service } })];
    for ((client, port), track) in &tracks {
        let name = json!({ "name": format!("{client} to port {port}") });
        events.push(json!({ "ph": "M", "name": "thread_name", "pid": 1, "tid": track, "args": name }));
    }
    for exchange in exchanges {
        let track = tracks.get(&(exchange.client, exchange.port)).copied().unwrap_or(0);
        events.extend(request(exchange, track, first));
    }
    json!({ "displayTimeUnit": "ns", "traceEvents": events })
}

/// The events of a request and its stages.
fn request(exchange: &Exchange, track: usize, first: u64) -> Vec<Value> {
    let Ok(split) = split(exchange) else { return Vec::new() };
    let event = |name: &str, category: &str, from: u64, to: u64, details: Value| {
        let (at, duration) = ((from - first) as f64 / 1e3, (to - from) as f64 / 1e3);
        json!({
            "ph": "X", "name": name, "cat": category, "pid": 1, "tid": track,
            "ts": at, "dur": duration, "args": details,
        })
    };
    let seen = if split.scope == Scope::Client { "from end to end" } else { "the server's part" };
    let details = json!({
        "seen": seen,
        "taken in on CPU": exchange.cpu,
        "by queue": exchange.queue,
        "read on CPU": exchange.read_cpu,
        "server's thread": exchange.reader,
        "client's thread": exchange.asker,
        "packets": exchange.packets,
        "service on no CPU (ns)": exchange.off,
    });
    let mut events = vec![event("request", "request", split.began, split.began + split.whole, details)];
    for slice in slices(exchange).iter().filter(|slice| slice.to > slice.from) {
        let name = format!("{}: {}", slice.side.word(), slice.name);
        events.push(event(&name, slice.side.word(), slice.from, slice.to, json!({})));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::exchange_fixture;

    #[test]
    fn stages_lie_one_after_the_other_within_their_request() {
        let trace = perfetto(&[exchange_fixture(|_, at| at)], "redis");
        let events = trace["traceEvents"].as_array().expect("events");
        let complete: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
        let request = complete[0];
        assert_eq!((request["name"].as_str(), request["ts"].as_f64()), (Some("request"), Some(0.0)));
        let mut end = 0.0;
        for stage in &complete[1..] {
            let (from, duration) = (stage["ts"].as_f64().expect("ts"), stage["dur"].as_f64().expect("dur"));
            assert!((from - end).abs() < 1e-9, "{stage}");
            end = from + duration;
        }
        assert!((end - request["dur"].as_f64().expect("dur")).abs() < 1e-9);
        assert!(complete.iter().any(|event| event["name"] == "server: service"));
    }

    #[test]
    fn every_connection_has_a_track() {
        let other =
            Exchange { client: "10.0.0.1:9".parse().expect("an address"), ..exchange_fixture(|_, at| at) };
        let trace =
            perfetto(&[exchange_fixture(|_, at| at), other, exchange_fixture(|_, at| at + 500)], "redis");
        let events = trace["traceEvents"].as_array().expect("events");
        assert_eq!(events.iter().filter(|event| event["name"] == "thread_name").count(), 2);
        assert_eq!(events.iter().filter(|event| event["name"] == "request").count(), 3);
        assert_eq!(perfetto(&[], "none")["traceEvents"].as_array().map(Vec::len), Some(1));
    }
}
