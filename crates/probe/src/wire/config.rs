//! The configuration of a process that runs an endpoint of the wire, or both.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use super::transport::Transport;
use crate::mode::Mode;

/// What the process of an endpoint does: it sends, receives or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// One thread sends on the first endpoint and receives on the second.
    OneThread,
    /// The same, with the time of each call.
    OneThreadCalls,
    /// Sends on the first endpoint, and waits for the reply.
    Ping,
    /// Sends back what the second endpoint receives.
    Echo,
    /// Sends on the first endpoint without waiting for anything.
    Send,
    /// Counts what the second endpoint receives.
    Count,
}

impl Role {
    /// Its name for the program in C.
    pub fn name(self) -> &'static str {
        match self {
            Role::OneThread => "alone",
            Role::OneThreadCalls => "stages",
            Role::Ping => "asks",
            Role::Echo => "answers",
            Role::Send => "floods",
            Role::Count => "counts",
        }
    }
}

/// The configuration of an endpoint's process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndpointConfig {
    /// What it does.
    pub role: Role,
    /// What carries the messages.
    pub transport: Transport,
    /// How to wait.
    pub mode: Mode,
    /// Bytes of a frame.
    pub size: usize,
    /// How long to measure, in nanoseconds.
    pub duration: u64,
    /// The most times to keep.
    pub most: usize,
    /// Whether DPDK's buffers are in huge pages.
    pub huge: bool,
    /// Where the two endpoints are: each a network namespace's file, or what the transport has instead.
    pub places: [PathBuf; 2],
}
