//! The types that every crate of Crosstalk shares: units, records, agent messages,
//! fabrics, systems, and the traits of a scene. Nothing here reads a clock, opens a
//! file or calls an operating system.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod cell;
pub mod emulation;
pub mod fabric;
pub mod fault;
pub mod fidelity;
pub mod histogram;
pub mod interconnect;
pub mod message;
pub mod mpi;
pub mod name;
pub mod need;
pub mod parameter;
pub mod parse_error;
pub mod provenance;
pub mod quote;
pub mod range;
pub mod record;
pub mod registry;
pub mod scene;
pub mod system;
pub mod testbed;
pub mod trace;
pub mod units;
pub mod value;

pub use fault::{Fault, FaultKind};
pub use quote::quoted;
