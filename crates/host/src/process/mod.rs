//! Processes: who they are, whose they are, and how they begin and end.

mod account;
mod children;
mod identity;
mod lowered;
mod mark;
mod own;
mod place;
mod scarce;
mod wait;

pub use account::{Account, LowPorts};
pub use children::{Fork, child_events, die_with_parent, end_with_starter, fork};
pub use children::{kill_all_others, reap_events, wait_for};
pub use identity::Identity;
pub use lowered::{Lower, Lowered};
pub(crate) use mark::own_mark;
pub use mark::{MARK, fresh_mark, kill_marked, marked};
pub use own::{ignore_signals, leave_session, rename};
pub(crate) use place::kill_now;
pub use place::{in_foreground, is_there, is_to_end, place, send};
pub use scarce::{begin_thread, cannot, is_scarce};
pub use wait::wait_readable;
