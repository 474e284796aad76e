//! `trace`: where the time of requests to a live service goes, from the kernel's tracepoints,
//! without touching the service.
//!
//! The BPF programs record an exchange for each request ([`crosstalk_observe::service`]). Each
//! exchange is split into stages ([`split`]) and added to sums ([`sums`]). Some exchanges are kept
//! whole ([`sample`]) for a trace viewer ([`perfetto`]).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod cost;
#[cfg(test)]
mod fixture;
mod perfetto;
mod places;
mod ports;
mod process;
mod report;
mod run;
mod sample;
mod service;
mod slices;
mod split;
mod stages;
mod sums;
mod totals;
mod watch;

pub use perfetto::perfetto;
pub use run::{Traced, check_needs, needs, trace};
pub use service::{Service, ServiceQuery, find};
pub use watch::Progress;
