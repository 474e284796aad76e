//! What the watcher and its supervisor write to each other, a line of JSON each.

use crosstalk_core::Fault;
use serde::{Deserialize, Serialize};

use super::rules::Rules;
use super::tally::Tally;
use crate::name::GroupName;

/// How programs are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// A program waits until it is in its group (fanotify).
    Fanotify,
    /// A program is moved when it runs already (process events): the fallback.
    ProcessEvents,
}

/// What the watcher is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Who gets which group.
    pub rules: Rules,
    /// The mechanism, if it is chosen; else fanotify, if this host has it.
    pub mechanism: Option<Mechanism>,
    /// Whether each program that is moved is reported.
    pub verbose: bool,
    /// Whether another watcher ran before, and ended: what runs without a group was missed.
    pub again: bool,
    /// The groups that the command was started in, as `/proc/PID/cgroup` has them: programs are taken from there.
    pub own: String,
}

/// From the supervisor to the watcher, after the settings: a group that was wanted exists, or cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Its name.
    pub group: GroupName,
    /// Why it cannot be made.
    pub refusal: Option<String>,
}

/// From the watcher to its supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// It watches.
    Ready {
        /// How.
        mechanism: Mechanism,
        /// Mounts whose programs are seen; none by process events.
        mounts: usize,
        /// Why it is not the other mechanism.
        because: Option<String>,
    },
    /// A program was put into a group.
    Placed(Placement),
    /// A group is missing that a rule makes.
    MissingGroup {
        /// The group.
        group: GroupName,
        /// The number of the rule.
        rule: usize,
    },
    /// What is not as it should be, once for each text.
    Note(String),
    /// What it has done so far.
    Tally(Box<Tally>),
    /// It cannot watch.
    Failed(Fault),
}

/// What whoever runs the supervisor is to know.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchEvent {
    /// Programs are watched from now on.
    Ready {
        /// How.
        mechanism: Mechanism,
        /// Mounts whose programs are seen; none by process events.
        mounts: usize,
        /// Why it is not the other mechanism.
        because: Option<String>,
    },
    /// A program was put into a group.
    Placed(Placement),
    /// A group was made by a rule.
    Made(GroupName),
    /// Such a group was removed, since no process is in it.
    Removed(GroupName),
    /// What is not as it should be.
    Note(String),
}

/// A program in a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The process.
    pub pid: u32,
    /// The user's number.
    pub uid: u32,
    /// The program, as the kernel names the process, or its file.
    pub program: String,
    /// The group.
    pub group: GroupName,
    /// Whether it was put there before it ran.
    pub in_time: bool,
    /// Seconds from its start to its place; none if it ran already.
    pub took: Option<f64>,
}
