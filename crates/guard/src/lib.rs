//! The guard: foreground work stays as fast as agreed, background work gets all the rest.
//!
//! # Which work is which
//! Background work is what was declared so: groups, processes, what a rule means, and all that
//! `crosstalk exec --background` has started. Everything else is foreground work, and protected.
//!
//! # How foreground work is protected
//! In grades, from the least to the most. The first always holds, and needs no guard to react.
//! 1. **Idle class** (`cpu.idle`) where background work's tree meets foreground work's: background work runs on what
//!    foreground work leaves, and loses its processor at once when foreground work wakes up. Where the kernel or the
//!    place in the tree does not offer that: the least *weight*. At devices that have weights, the least of these, too.
//! 2. **Fewer processors**: those that foreground work leaves, where the idle class does not reach.
//! 3. **A duty cycle**: background work runs for a share of the time.
//! 4. **A pause**: where foreground work uses all processors (the idle class costs it something there, and brings
//!    background work nothing), where background work takes memory that foreground work misses, and for trials.
//!
//! # The duty cycle
//! Caches, memory bandwidth and a core's second thread are shared whatever the scheduler does, and neither pressure
//! nor run-queue delay shows it. So the guard measures it by a probe: a fixed piece of computing, of loads that depend
//! on each other and of copying, tens of microseconds long ([`Probe`](crosstalk_policy::Probe)). It is taken while
//! background work runs and, milliseconds later or earlier, while it is paused. The ratio `r` of the two is what
//! background work does to work of that kind, whatever else runs, since that runs in both. It is taken where
//! foreground work runs (`place.rs`): elsewhere it would push background work aside. A duty cycle makes these pairs by
//! itself; where background work always runs, it is paused for 4 ms every second while foreground work is active, and
//! every 5 s while it is quiet.
//!
//! The model: foreground work takes `r` times as long while background work runs, and as long as alone while it is
//! paused. Running for a share `d` of the time slows foreground work to `1/(1 − d (1 − 1/r)) − 1`, and the largest `d`
//! within the budget is a closed form (`duty.rs` of the policy). `r` is the largest over the kinds of probe, of each the
//! median of the last pairs once it is shown to be above 1 (`contention.rs`). Nothing is integrated, so nothing winds
//! up or swings. How much longer foreground work takes that waits for devices or for processors is found out by
//! trials (`devices.rs`, `demand.rs`), and counts into `r`. Four fifths of the budget are planned with: caches that must
//! be filled again are not in `r`.
//!
//! # Its limits
//! - What foreground work is made of is not known. It is taken for as sensitive as the worst kind of probe: work that
//!   only computes loses nothing while others copy, and background work gets less than it could.
//! - Contention for a cache that foreground work would fit into, by background work that loads little memory, is seen
//!   only in part.
//! - Foreground work that comes in bursts is protected by the idle class alone at the beginning of each, until the
//!   next snapshot: 20 ms, and up to 120 ms where sampling is dear. Where the kernel counts in ticks only (processes in
//!   v2's root group, no cpuacct), 100 ms at least.
//! - At devices the budget is not promised: what one request waits behind was given to the device before.
//!
//! # Where a group cannot be set
//! BOINC's client is asked instead, by its own interface (`client.rs`): to pause while foreground work
//! uses all processors or memory is short, every few seconds at most.
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
