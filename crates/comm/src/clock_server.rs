//! The clock server: a thread of rank 0's process, which knows what all ranks do, and answers them.
//!
//! Each rank reports its operations over a connection of its own, coded as in a schedule
//! ([`crosstalk_model::schedule::codec`]). It asks only where it has to know: who sent a message, whether a request is
//! done, what the clock shows. The clock server runs them all over one [`Network`], and so decides in the order of virtual
//! time. Messages themselves go from rank to rank.
//!
//! What the ranks reported is the run's schedule: the clock server records it.

mod answer;
mod client;
mod replies;
mod server;

pub(crate) use client::Client;
pub(crate) use replies::Replies;
pub(crate) use server::{ClockServer, Recorded, begin};

/// What a rank says of its part of virtual time: nothing has moved it by more than the fidelity monitor allows.
const FAITHFUL: u8 = 1;
/// Something has.
const UNFAITHFUL: u8 = 0;
