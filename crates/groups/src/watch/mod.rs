//! Watching which programs are started, and putting each into the group that its user, session or program deserves,
//! before it runs.
//!
//! ```text
//! supervisor ─ settings, answers ─▶ watcher ─ main thread: answers every start
//!     ▲                               │         └ mover: moves processes, and searches for those that were missed
//!     └────────── messages ───────────┘
//! ```
//!
//! The watcher alone has the descriptor of fanotify, and starts nothing. The supervisor starts it, again if need be, and
//! makes groups.

mod bounds;
mod child;
mod failures;
mod file;
mod file_roles;
mod heartbeat;
mod job;
mod judge;
mod message;
mod mover;
mod outbox;
mod rules;
mod source;
mod supervisor;
mod tally;
mod targets;
mod template;
mod waiting;
mod watcher;
mod whereabouts;

pub use child::PLACE;
pub use file::watch_schema;
pub use message::{Mechanism, Placement, WatchEvent};
pub use supervisor::{Supervisor, WatchRequest, WatchResult};
pub use tally::Tally;
pub use watcher::watch;
