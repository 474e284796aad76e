//! What the thread that moves processes is to do.

use super::judge::Goal;
use super::message::Answer;

/// What is to be done.
#[derive(Debug)]
pub enum Task {
    /// Put a process into a group.
    Put(Job),
    /// The supervisor has tried to make a group.
    Answered(Answer),
}

/// A process that goes into a group.
#[derive(Debug, Clone)]
pub struct Job {
    /// The process.
    pub pid: u32,
    /// Where it goes.
    pub goal: Goal,
    /// Its program, for people.
    pub program: String,
    /// How it was found.
    pub discovery: Discovery,
}

/// How a process was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    /// Its start waits.
    WaitingStart,
    /// An event reported it.
    ProcessEvent,
    /// It ran before the watcher.
    FirstSearch,
    /// A search found it.
    Search,
}
