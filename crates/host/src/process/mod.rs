//! Processes: who they are, whose they are, and how they begin and end.

mod children;
mod identity;
mod mark;
mod own;
mod wait;

pub use children::{Fork, child_events, die_with_parent, fork, kill_all_others, reap_events, wait_for};
pub use identity::Identity;
pub use mark::{MARK, fresh_mark, kill_marked, marked};
pub use own::{ignore_signals, leave_session, rename};
pub use wait::wait_readable;
