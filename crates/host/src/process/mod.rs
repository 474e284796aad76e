//! Processes: their identity, their marks, signals, starting and ending them.

mod account;
mod children;
mod fork;
mod identity;
mod info;
mod interruptions;
mod lower_priority;
mod mark;
mod shortage;
mod signal;
mod start;
mod this;
mod trap;
mod usage;
mod wait;
mod watchdog;

pub use account::{Account, LowPorts};
pub(crate) use children::refuse_threads;
pub use children::{Fork, child_events, die_with_parent, end_with_starter, fork};
pub use children::{kill_all_others, reap_events, wait_for};
pub use fork::{Ended, Forked, PANICKED, fork_child, fork_in_turn};
pub use identity::Identity;
pub use info::ProcessInfo;
pub use interruptions::Interruptions;
pub use lower_priority::{Lower, LoweredPriority};
pub(crate) use mark::own_mark;
pub use mark::{MARK, fresh_mark, kill_marked, marked};
pub use shortage::{cannot, is_resource_shortage, spawn_thread};
pub(crate) use signal::kill_now;
pub use signal::{has_pending_termination, in_foreground, is_there, place, send};
pub use start::{StartFault, Started, start_in};
pub use this::{ignore_signals, keep_in_memory, leave_session, raise_file_limit, set_process_name};
pub use trap::catch_own_signals;
pub use usage::Usage;
pub use wait::wait_readable;
pub use watchdog::WatchdogTimer;
