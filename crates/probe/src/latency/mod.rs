//! The round trip of a message, over any transport, against its size.
//!
//! A *ping-pong*: the client sends a message, the server sends it back, and only then comes the
//! next. One clock times the **round trip**. Half of it is `half_round_trip`, for comparison with
//! instruments that report that (sockperf does). It is not the one-way time: the two directions
//! need not take equally long. `one_way` is reported only where client and server read the same
//! clock.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `round_trip` | s | distribution after warm-up |
//! | `half_round_trip` | s | half of each round trip |
//! | `one_way` | s | to the server, where both share a clock |
//! | `round_trip_p50` `_p99` `_p999` | s | percentiles for which there are enough messages |
//! | `lost` | ratio | messages not answered in time, of those sent (UDP) |
//! | `warm_up` | messages | discarded at the beginning; half of all where no steady state was found (label `settled`) |
//! | `own_overhead` | s | what timing one message costs: clock and record |
//! | `stage_time` | s | with `stages`: mean time in a stage, of the messages in a band of the round trip; labels `stage`, `way` (`there`, `back`), `band` (`all`, `p50`, `p99`) |
//! | `matched` | share | of the messages that the kernel's records follow from end to end |
//! | `unexplained` | share | of their round trips, the time around a stamp that is missing or out of order; label `band` |

mod channel;
pub(crate) mod echo;
mod joined;
mod outcome;
mod ping;
mod samples;
pub(crate) mod session;
mod spec;
mod stages;
mod workload;

pub use outcome::Outcome;
pub use ping::measure;
pub use spec::Spec;
pub use stages::Stages;
pub use workload::LATENCY;
