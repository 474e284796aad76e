//! Own and external work side by side: control groups, BOINC, the guard.
//!
//! *Own work* is the owner's; *external work* is donated: it may have what own work leaves. What
//! keeps them apart is in [`group`] (v1, v2 and hybrid hosts), what starts external work in [`exec`],
//! and what protects own work beyond that in [`guard`]. [`diagnose`] tells what is wrong as it is.
//! Studies set the ways of protecting side by side ([`conditions`]).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod boinc;
pub mod diagnose;
pub mod donor;
pub mod exec;
mod focus;
pub mod group;
pub mod guard;
pub mod process;
mod protect;
pub mod resctrl;

pub use donor::Donor;

use crosstalk_core::scene::Condition;

/// What can hold while own and external work run.
pub fn conditions() -> Vec<Box<dyn Condition>> {
    vec![Box::new(protect::Protect)]
}
