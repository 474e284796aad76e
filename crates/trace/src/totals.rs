//! The sums of all exchanges of a trace.

use std::collections::BTreeMap;

use crosstalk_core::trace::Scope;
use crosstalk_observe::service::{Exchange, Stamp};

use super::places::TimesByQueue;
use super::sample::Sample;
use super::split::split;
use super::sums::StageSums;

/// The sums over all exchanges of a trace.
#[derive(Default)]
pub struct Totals {
    /// Exchanges whose client is on this machine.
    pub with_client: StageSums,
    /// Exchanges with the server's part alone.
    pub server_only: StageSums,
    /// Where the kernel took the requests in.
    pub taken_in: TimesByQueue,
    /// Where the server read the requests.
    pub read_on: TimesByQueue,
    /// Exchanges that are kept whole.
    pub sample: Sample,
    /// Requests in several packets.
    pub several_packets: u64,
    /// Exchanges that are not followed, by the stamp that is missing or out of order.
    pub broken: BTreeMap<Stamp, u64>,
}

impl Totals {
    /// Adds an exchange.
    pub fn add(&mut self, exchange: Exchange) {
        let split = match split(&exchange) {
            Ok(split) => split,
            Err(stamp) => return *self.broken.entry(stamp).or_default() += 1,
        };
        match split.scope {
            Scope::Client => self.with_client.add(&split),
            Scope::Server => self.server_only.add(&split),
        }
        self.several_packets += u64::from(exchange.packets > 1);
        self.taken_in.add(exchange.cpu, exchange.queue, split.whole);
        self.read_on.add(exchange.read_cpu, None, split.whole);
        self.sample.add(exchange, split.began, split.whole);
    }

    /// Exchanges that were followed from end to end.
    pub fn followed_exchanges(&self) -> u64 {
        self.with_client.count() + self.server_only.count()
    }
}
