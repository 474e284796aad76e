//! The guard: foreground work stays as fast as agreed, background work gets all the rest.
//!
//! # Which work is which
//! Background work is what was declared so: groups, processes, what a rule means, and all that
//! `crosstalk exec --background` has started. Everything else is foreground work, and protected.
//!
//! # How it works
//! `docs/explanation/guard.md` says what the guard does, what that was measured to be worth, and what it cannot see.
//! [`Machine`] is the host of the policy's loop ([`crosstalk_policy::watch`]): its sampler reads what foreground and
//! background work use (`sampler.rs`), the policy decides, and each guarded group is set to what was decided
//! (`guarded_group.rs`), or BOINC's client is asked to pause where its group cannot be set (`client.rs`).
//!
//! Contention is measured by a probe: a fixed piece of computing, of loads that depend on each other and of copying
//! (`probe.rs`). It is taken where foreground work runs (`place.rs`), while background work runs and, milliseconds later
//! or earlier, while it is paused.
//!
//! # Safety
//! Every setting is written into the undo ledger: however the guard ends, all is as it was within 10 s, and nothing stays
//! paused. A group runs for a bounded time where foreground work waits for what it holds (`blocked`), and for processes
//! that are to end (`termination.rs`).
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod blocked;
mod client;
mod control;
mod controls;
mod explain;
mod foreground;
mod grouping;
mod guarded_group;
mod guarded_groups;
mod lock;
mod machine;
mod memory_pool;
pub mod metrics;
mod named;
mod phase;
mod place;
mod probe;
mod protect;
mod publish;
mod rules;
mod sampler;
mod serving;
mod steady;
mod targets;
mod termination;
mod threads;
mod usage;
mod waiting;

use crosstalk_core::scene::Condition;

pub use explain::{explain, summary, view};
pub use machine::Machine;
pub use publish::Publisher;
pub use rules::{Rules, rules_schema};
pub use targets::{Target, Targets};

/// What can hold while foreground and background work run.
pub fn conditions() -> Vec<Box<dyn Condition>> {
    vec![Box::new(protect::Protect)]
}
