//! Named groups that an operator makes for the users and programs of a machine.
//!
//! A group is a control group in each tree of the host that accounts for CPU time or memory. It outlives the command
//! that makes it. The [`Registry`], a file, lists the groups that are to exist: [`create()`], [`set()`] and [`remove()`] change it,
//! [`standing()`] and [`Numbers`] read what the kernel says of them, and [`launch()`] starts a command in one.
//!
//! The profiles are those of Kubernetes' quality-of-service classes: a *request* is memory that is protected, a
//! *limit* is never exceeded.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod budget;
mod changes;
mod comparison;
mod contents;
mod create;
mod dispatches;
mod feasible;
mod keep;
mod kernel_log;
mod launch;
mod machine;
mod name;
mod numbers;
mod parents;
mod process_limit;
mod profile;
mod protection;
mod registry;
mod remove;
mod request;
mod set;
mod single;
mod standing;
mod systemd;
mod table;
mod text;
mod unusable;
mod user;
pub mod watch;
mod when_full;
mod working_set;

pub use comparison::{Change, Comparison, Measure, Medians, readings_needed};
pub use contents::{Contents, Registered};
pub use create::{CreateRequest, Created, create};
pub use dispatches::Dispatches;
pub use keep::{AvailableShare, Event, Evictor, FullMemory, GroupEnd, NextEnd, Reason};
pub use launch::{CommandEnd, GroupCommand, KillCause, launch};
pub use name::GroupName;
pub use numbers::{Numbers, Rates, Threads};
pub use profile::Profile;
pub use protection::Protection;
pub use registry::Registry;
pub use remove::{RemoveRequest, Removed, remove};
pub use request::{ProfileKind, ProfileRequest};
pub use set::{Changed, SetRequest, set};
pub use standing::{Existence, Standing, standing};
pub use table::table;
pub use text::processes_in_words;
pub use user::User;
pub use when_full::WhenFull;
pub use working_set::{Stop, WorkingSet, WorkingSetRequest, working_sets};
