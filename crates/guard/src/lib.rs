//! The guard: foreground work stays as fast as agreed, background work gets all the rest.
//!
//! # What is told apart
//! Background work is what was declared so: groups, processes, what a rule means, and all that
//! `crosstalk exec --background` has started. Everything else is foreground work, and protected.
//!
//! # How foreground work is protected
//! In grades, from the least to the most. The first always holds and needs no guard to react.
//! 1. **Idle class** (`cpu.idle`) where background work's tree meets foreground work's: it runs on what foreground
//!    work leaves and loses its processor at once when foreground work wakes up. Where the kernel or the
//!    place in the tree does not offer that: the least *weight*.
//! 2. **Fewer processors**: only those that foreground work leaves, where there is no idle class; and where
//!    fewer of them donate more within the budget (below).
//! 3. **Less memory**, where foreground work fetches pages again that were pushed out (`pages.rs`).
//! 4. **The least weight at devices**, where both use them.
//! 5. **Turns**: it runs for a share of the time.
//! 6. **Standing still**, where foreground work uses all processors: an idle class costs foreground work something
//!    there (it still gets a little), and brings background work nothing. Where nothing can be frozen,
//!    by the least quota. Where foreground work's threads sleep and wake up often it costs more, which is found out by a trial
//!    (`demand.rs`).
//!
//! # The controller of turns
//! Caches, memory bandwidth and a core's second thread are shared whatever the scheduler does, and
//! neither pressure nor run-queue delay shows it. So the guard measures it: with a probe of its own,
//! a fixed piece of computing, of loads that depend on each other and of copying, tens of
//! microseconds long ([`Probe`]). It is taken while background work runs and, milliseconds later or
//! earlier, while it stands still (frozen): the ratio `r` of the two is what background work does to
//! work of that kind, whatever else goes on, since that goes on in both. It is taken in foreground work's
//! place (`place.rs`): elsewhere it would push background work aside. Turns make these pairs by
//! themselves; where background work always runs, it is frozen for 4 ms a second.
//!
//! The model: foreground work takes `r` times as long while background work runs, and as long as alone while
//! it does not. Running for a share `d` of the time slows foreground work to `1/(1 − d (1 − 1/r)) − 1`, and
//! the largest `d` within the budget is a closed form (`duty.rs`). `r` is the largest over the kinds
//! of probe, of each the median of the last pairs once it is shown to be above 1 (`estimate.rs`);
//! nothing is integrated, so nothing winds up or swings: the share follows from what was measured.
//! Foreground work that waits for devices is no such piece of work: how much longer it takes is found out by a
//! trial (`devices.rs`), and counts into `r`. Four fifths of the budget are planned with. While foreground work is quiet, pairs are still taken, every
//! 5 s, so that a share is known at the moment when foreground work begins; that moment is seen within
//! 20 ms, by foreground work's CPU time.
//!
//! # Its limits
//! - What foreground work is made of is not known (without hardware counters nothing tells): it is taken
//!   for as sensitive as the worst kind of probe. Foreground work that only computes beside background work
//!   that only copies loses nothing, and background work gets less than it could.
//! - Contention for a cache that foreground work would fit into, by background work that does not load memory
//!   much, is seen only in part: the probe goes over more memory than most caches have. One that is
//!   larger holds all of it where nobody else needs it, and foreground work's larger memory is contended
//!   for more than the probe's.
//! - Foreground work that comes in bursts is protected by the idle class alone at the beginning of each,
//!   until the next look: 20 ms, and a quarter of a second where it stands in v2's root group itself.
//! - Four fifths of the budget leave one for the turns themselves: caches that must be filled again
//!   are not in `r`.
//!
//! # Where a group cannot be set
//! BOINC's client is asked instead, by its own interface (`client.rs`): to pause while foreground work
//! uses all processors, every few seconds at most.
//!
//! # When the guard ends
//! Every setting stands in the undo ledger: however the guard ends, all is as it was within
//! 10 s, and nothing stays frozen. Background work that `crosstalk exec --background` has started
//! stays in the idle class, which is its own group's; a foreign group has what its owner gave it.
//! What foreground work is protected by for good, `crosstalk doctor` tells.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod client;
mod control;
mod domain;
mod explain;
mod farewell;
mod floor;
mod foreground;
mod limit;
mod lock;
mod machine;
pub mod metrics;
mod named;
mod place;
mod probe;
mod protect;
mod publish;
mod rooted;
mod rules;
mod senses;
mod serving;
mod steady;
mod swaps;
mod targets;
mod tenant;
mod vacancy;
mod waits;

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
