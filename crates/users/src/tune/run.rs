//! A run of a grouping, and how it ended.

use super::grouping::Grouping;

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending<M> {
    /// All users have done their jobs.
    Done {
        /// Seconds.
        makespan: f64,
        /// What was measured besides.
        more: M,
    },
    /// It took longer than this many seconds, and was cut off.
    Cut(f64),
    /// The kernel killed a program for want of memory, in this group.
    Killed(String),
}

impl<M> Ending<M> {
    /// Seconds that it took, if it was not cut off or killed.
    pub fn makespan(&self) -> Option<f64> {
        match self {
            Ending::Done { makespan, .. } => Some(*makespan),
            Ending::Cut(_) | Ending::Killed(_) => None,
        }
    }
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run<M> {
    /// What was run.
    pub grouping: Grouping,
    /// Runs of a block have the same seed.
    pub block: usize,
    /// How it ended.
    pub ending: Ending<M>,
}
