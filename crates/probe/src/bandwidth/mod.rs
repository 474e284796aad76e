//! Bits a second over any transport, for writes of a size.
//!
//! The client sends and the server counts; reversed, the server sends and the client counts. What
//! was *received* counts: what was written may still lie in a buffer or be lost. The first
//! intervals, in which congestion control still opens its window, are detected and left out.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `bandwidth` | bit/s | payload received after warm-up, over the time it took; over TCP with the labels `congestion` and `receiver_congestion`, the congestion control of the sender and of the receiver |
//! | `bandwidth_p50` | bit/s | median of the intervals after warm-up, where there are enough |
//! | `bandwidth_series` | bit/s | every whole interval in order, warm-up included |
//! | `offered` | bit/s | payload sent, over the time of sending |
//! | `sent` | datagrams | sent (UDP) |
//! | `received` | datagrams | received, of those (UDP) |
//! | `lost` | ratio | datagrams not received, of those sent (UDP) |
//! | `not_sent` | writes | due by the rate, and not sent: there was no room for them |
//! | `retransmitted` | segments | retransmitted by TCP, warm-up included; label `congestion`, the sender's control |
//! | `bandwidth_lately` | bit/s | with `report`: received since the last report; labels `begin`, `end` in seconds |
//! | `warm_up` | s | left out at the beginning; half of all where no steady state was found (label `settled`) |
//! | `own_overhead` | s | what counting one write costs at client or server: clock and record |

mod carriers;
mod client;
mod congestion;
mod counter;
pub(crate) mod counts;
mod outcome;
mod sender;
pub(crate) mod server;
pub(crate) mod session;
mod spec;
mod tally;
mod workload;

pub use client::{measure, measure_live};
pub use counts::ReportedInterval;
pub use outcome::{Outcome, interval_reading};
pub use spec::Spec;
pub use workload::BANDWIDTH;
