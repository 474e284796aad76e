//! The trace of a live service: how its requests spent their time.
//!
//! Times are in seconds; shares are from 0 to 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the trace's schema.
pub const TRACE_SCHEMA: &str = "crosstalk.trace/1";

/// The result of `crosstalk trace`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// `crosstalk.trace/1`.
    pub schema: String,
    /// The processes that serve requests.
    pub service: Vec<ServerProcess>,
    /// The traced ports, at which they listen.
    pub ports: Vec<u16>,
    /// Duration of the trace.
    pub seconds: f64,
    /// Why the trace was shorter than requested.
    pub ended: Option<String>,
    /// Requests whose begin was seen. A request is all that a client sends until the answer.
    pub requests: u64,
    /// Requests that were traced from begin to end.
    pub followed: u64,
    /// Reasons why other requests were not, each with its number of requests.
    pub not_followed: Vec<LabelledCount>,
    /// Other counts.
    pub counted: Vec<LabelledCount>,
    /// How requests spent their time: one account for requests of clients on this machine, one for others.
    pub accounts: Vec<TimeAccount>,
    /// Requests by the CPU and the device queue that received them.
    pub taken_in: Vec<QueueRequests>,
    /// Requests by the CPU on which the server read them.
    pub read_on: Vec<QueueRequests>,
    /// The cost of tracing itself.
    pub cost: TracingCost,
    /// Restrictions on what the trace shows.
    pub remarks: Vec<String>,
}

/// A process of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerProcess {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// A number of things, and what they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelledCount {
    /// What was counted.
    pub what: String,
    /// The number.
    pub count: u64,
}

/// The part of a request's life that an account covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// From the client's first send to its last read of the answer.
    Client,
    /// From the request's arrival at the server's machine to the departure of the answer's first packet.
    Server,
}

/// How requests spent their time, stage by stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeAccount {
    /// The part of their life that is covered.
    pub scope: Scope,
    /// Number of requests.
    pub requests: u64,
    /// Their mean time.
    pub mean: f64,
    /// Percentiles of their times, as far as the requests suffice.
    pub percentiles: Vec<Percentile>,
    /// The stages in the order in which a request passes them. Each column adds up to the whole.
    pub stages: Vec<StageTimes>,
}

/// A percentile of the requests' times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// 0.99 for the 99th.
    pub quantile: f64,
    /// The time that this share of requests does not exceed.
    pub seconds: f64,
}

/// The side of a connection that a stage belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The client, and the kernel below it.
    Client,
    /// The network between client and server.
    Between,
    /// The server, and the kernel below it.
    Server,
    /// No side: a time stamp is missing, or contradicts its neighbours.
    Unexplained,
}

impl Side {
    /// Its word, for people.
    pub fn word(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Between => "between",
            Side::Server => "server",
            Side::Unexplained => "unexplained",
        }
    }
}

/// The times of one stage of the requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageTimes {
    /// The side that it belongs to.
    pub side: Side,
    /// Its name.
    pub name: String,
    /// Its mean time over all requests.
    pub mean: f64,
    /// Its share of all time.
    pub share: f64,
    /// Its mean time in requests from the 45th to the 55th percentile.
    pub around_p50: f64,
    /// Its mean time in requests from the 98.5th to the 99.5th percentile, if the requests suffice.
    pub around_p99: Option<f64>,
}

/// The requests that arrived at one CPU and device queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueRequests {
    /// The CPU.
    pub cpu: u16,
    /// The device queue, if the device reports it.
    pub queue: Option<u16>,
    /// Number of requests.
    pub requests: u64,
    /// Their share of all requests.
    pub share: f64,
    /// Their median time, if the requests suffice.
    pub p50: Option<f64>,
    /// Their 99th percentile, if the requests suffice.
    pub p99: Option<f64>,
}

/// What tracing costs the traced service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracingCost {
    /// Runs of our BPF programs a request, on all CPUs and for all events, while runs were
    /// counted.
    pub runs_a_request: Option<f64>,
    /// CPU seconds of these runs a request, as measured by the kernel.
    pub seconds_a_request: Option<f64>,
    /// CPU time of these runs, as a share of one CPU.
    pub kernel_cpus: Option<f64>,
    /// Seconds during which runs were counted. Counting itself costs time.
    pub counted_seconds: f64,
    /// CPU time of reading the records, as a share of one CPU.
    pub reader_cpus: f64,
    /// Runs that the kernel skipped.
    pub runs_missed: u64,
}
