//! iperf3 (github.com/esnet/iperf) as a workload of two nodes: its client on node 0, its server on node 1.
//! Its report is read from its JSON, so that a study can compare it with the probe `bandwidth`, whose metrics
//! have the same names.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `bandwidth` | bit/s | received, over the time of the run; over TCP with the labels `congestion` and `receiver_congestion`, the congestion control of the sender and of the receiver |
//! | `offered` | bit/s | sent, over the time of the run |
//! | `retransmitted` | segments | over TCP, retransmitted by the sender; label `congestion`, its control |
//! | `sent` | datagrams | over UDP |
//! | `lost` | ratio | over UDP, datagrams not received, of those sent |
//! | `jitter` | s | over UDP, smoothed as RFC 1889 says |

mod node;
mod output;
mod spec;
mod workload;

pub use spec::Spec;
pub use workload::IPERF3;
