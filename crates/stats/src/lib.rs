//! Numbers in; interval or verdict out.
//!
//! The datum of a comparison is one log ratio a block ([`paired`]); it is
//! looked at as often as was planned ([`looks`]), together with everything
//! else its study asks ([`family`]); what comes out is an [`Interval`] and a
//! [`verdict`]. Within one run, [`warmup`] and [`quantile`] serve. Each module says why its rule is as it is.
//!
//! Everything here is a pure function of its arguments.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod blocks;
mod interval;
mod signed_rank;
mod special;

pub mod correlation;
pub mod family;
pub mod looks;
pub mod noise;
pub mod order;
pub mod paired;
pub mod peak;
pub mod proof;
pub mod proportion;
pub mod quantile;
pub mod question;
pub mod rng;
pub mod threshold;
pub mod trend;
pub mod verdict;
pub mod warmup;

pub use interval::Interval;
