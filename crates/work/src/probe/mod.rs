//! Probes: one question about the machine or the network each.

pub mod stream;
