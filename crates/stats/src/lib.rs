//! Statistics: from values to intervals and verdicts.
//!
//! A comparison has one log ratio per block ([`paired`]). It is judged at the
//! planned interim analyses ([`looks`]), together with all other questions of its
//! study ([`family`]). The result is an [`Interval`] and a [`verdict`]. Within one
//! run, [`warmup`] and [`quantile`] are used. Each module gives the reasons for its
//! rule.
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
pub mod latin;
pub mod looks;
pub mod noise;
pub mod order;
pub mod paired;
pub mod peak;
pub mod proportion;
pub mod quantile;
pub mod question;
pub mod rng;
pub mod simulation;
pub mod straight_line;
pub mod threshold;
pub mod trend;
pub mod verdict;
pub mod warmup;

pub use interval::Interval;
