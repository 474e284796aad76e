//! The kinds of test of the published study: those of AIM7's mixes, by AIM7's names.
//!
//! Operations, sizes and numbers of repetitions are those of AIM7 (facts read in its public source, release
//! `osdl-aim-7`); all else is our own. One job does a fixed amount of work, and checks that it was done.
//! `bench/aim7.py` compares what jobs use with AIM7's own.

mod arithmetic;
mod check;
mod disk;
mod folder;
mod identity;
mod kind;
mod linear;
mod list;
mod memory;
mod message;
mod names;
mod numeric;
mod program;
mod search;
mod sieve;
mod sort;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub use kind::Test;
pub use list::{test, tests};
