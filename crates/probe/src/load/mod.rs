//! The latency of messages under load, against the number of messages a second.
//!
//! An *open loop*: messages are sent when they are due, whether or not earlier ones have been
//! answered, and a message's latency counts from when it was *due*. So a stall delays every
//! message that was due meanwhile, not only the one on its way (Tene calls the mistake coordinated
//! omission). The client never sleeps. The server waits as `mode` says and answers one message
//! after the other.
//!
//! Without `rate` the *saturation* is searched for first: the highest rate that client and server
//! keep up with. Then shares of it are offered.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `latency` | s | distribution from the time due to the reply; label `offered`, messages a second |
//! | `latency_p50` `_p99` `_p999` `_p9999` | s | percentiles for which there are enough messages |
//! | `achieved` | 1/s | replies, over the time they took |
//! | `sent` | messages | sent before the patience was over |
//! | `received` | messages | answered within the patience after the last was due |
//! | `lost` | ratio | not answered, of those sent |
//! | `not_sent` | messages | due, and not sent: the transport had no room, or the client was too slow |
//! | `sent_late` | s | distribution: how much later than due the transport took a message, because the client was late or there was no room |
//! | `saturation` | 1/s | the highest rate that client and server kept up with, where it was searched for |
//! | `own_overhead` | s | what timing one message costs |

mod connection;
mod measure;
mod non_blocking;
mod rate_result;
mod readings;
mod saturation;
mod spec;
mod workload;

pub use measure::measure;
pub use spec::Spec;
pub use workload::LOAD;
