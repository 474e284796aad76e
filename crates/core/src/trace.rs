//! What was seen of a live service: where the time of its requests went.
//!
//! Times are seconds, shares are of one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the trace's schema.
pub const TRACE_SCHEMA: &str = "crosstalk.trace/1";

/// The result of `crosstalk trace`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// `crosstalk.trace/1`.
    pub schema: String,
    /// The processes that listen.
    pub service: Vec<Served>,
    /// The ports they listen on, and that were traced.
    pub ports: Vec<u16>,
    /// How long was traced.
    pub seconds: f64,
    /// Why that was not as long as asked.
    pub ended: Option<String>,
    /// Requests that were seen to begin: each is what a client sends until it is answered.
    pub requests: u64,
    /// Those that were followed to their end.
    pub followed: u64,
    /// Why others were not, and how many each.
    pub not_followed: Vec<Tally>,
    /// What else was counted.
    pub counted: Vec<Tally>,
    /// Where the time went; one for requests whose client is on this machine, one for others.
    pub accounts: Vec<Account>,
    /// Requests by the CPU and the device's queue that took them in.
    pub taken_in: Vec<Place>,
    /// Requests by the CPU on which the server read them.
    pub read_on: Vec<Place>,
    /// What tracing itself took.
    pub cost: Cost,
    /// What to know before believing it.
    pub remarks: Vec<String>,
}

/// A process that serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// Its number.
    pub pid: u32,
    /// What it is called.
    pub name: String,
}

/// So many of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// What they are.
    pub what: String,
    /// How many.
    pub count: u64,
}

/// What of a request an account holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// From the client's sending to its having read all of the answer.
    Client,
    /// From the server's machine taking the request in to the answer's first packet leaving it.
    Server,
}

/// Where the time of requests went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// What of them.
    pub scope: Scope,
    /// How many requests.
    pub requests: u64,
    /// Their mean time.
    pub mean: f64,
    /// Percentiles of their times, where there are enough.
    pub percentiles: Vec<Percentile>,
    /// In the order of a request's way. They add up to the whole, in each column.
    pub stages: Vec<Stage>,
}

/// A percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// 0.99 for the 99th.
    pub quantile: f64,
    /// At most so long.
    pub seconds: f64,
}

/// Where a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// In the client, or below it.
    Client,
    /// Between both.
    Between,
    /// In the server, or below it.
    Server,
    /// Around a time that makes no sense beside its neighbours.
    Unexplained,
}

impl Side {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Between => "between",
            Side::Server => "server",
            Side::Unexplained => "unexplained",
        }
    }
}

/// A part of requests' time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// Where.
    pub side: Side,
    /// What it is called.
    pub name: String,
    /// Its mean over all requests.
    pub mean: f64,
    /// Its part of all time.
    pub share: f64,
    /// Its mean in requests around the median: from the 45th to the 55th percentile.
    pub around_p50: f64,
    /// Its mean in those from the 98.5th to the 99.5th percentile, where there are enough.
    pub around_p99: Option<f64>,
}

/// Requests that share a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The CPU.
    pub cpu: u16,
    /// The device's queue, where it tells.
    pub queue: Option<u16>,
    /// How many.
    pub requests: u64,
    /// Their part of all.
    pub share: f64,
    /// Their median time, where there are enough.
    pub p50: Option<f64>,
    /// Their 99th percentile, where there are enough.
    pub p99: Option<f64>,
}

/// What tracing took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Runs of our programs for each request, on every CPU and for whatever was seen; while
    /// they were counted.
    pub runs_a_request: Option<f64>,
    /// What these took, as the kernel timed it.
    pub seconds_a_request: Option<f64>,
    /// The same as a part of one CPU.
    pub kernel_cpus: Option<f64>,
    /// How long the runs were counted: counting costs time itself.
    pub counted_seconds: f64,
    /// What reading the records took, as a part of one CPU.
    pub reader_cpus: f64,
    /// Runs that the kernel left out.
    pub runs_missed: u64,
}
