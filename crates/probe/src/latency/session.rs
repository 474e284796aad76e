//! One size of message, as the client describes it to the server.

use serde::{Deserialize, Serialize};

use crate::message::ServerStamps;
use crate::mode::Mode;
use crate::transport::Transport;

/// What client and server agree on to measure one size of message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What carries the messages.
    pub transport: Transport,
    /// Bytes of a message.
    pub size: u64,
    /// How the server waits.
    pub mode: Mode,
    /// The times that the server writes into the reply.
    pub stamps: ServerStamps,
    /// The server's processor.
    pub pin: Option<usize>,
    /// About how long it will take, in seconds.
    pub seconds: f64,
    /// Seconds without a message after which the client counts as stopped.
    pub idle: f64,
}
