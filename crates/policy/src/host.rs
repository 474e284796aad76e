//! What the guard samples and acts on: a host, or a simulated one.

use std::time::Duration;

use crosstalk_core::Fault;

use serde::Serialize;

use super::decision::{Grant, Offers};
use super::snapshot::Snapshot;

/// A program of foreground work.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Program {
    /// Its process.
    pub pid: u32,
    /// Its name, as `comm` has it.
    pub name: String,
    /// Processors that it used lately.
    pub cpu: f64,
}

/// The host, with a clock.
pub trait Host {
    /// What can be done to background work here, at this moment.
    fn offers(&self) -> Offers;
    /// How many processors it has.
    fn cores(&self) -> usize;
    /// Takes a snapshot; with a probe, if one is asked for, which is taken first.
    ///
    /// # Errors
    /// When there is nothing more to sample.
    fn sample(&mut self, probe: bool) -> Result<Snapshot, Fault>;
    /// Has background work run as granted; `run` says whether it does at this moment. What cannot be
    /// done is in the next [`Host::notes`], not an error: groups come and go.
    fn apply(&mut self, grant: &Grant, run: bool);
    /// What has happened that people should know, since it was last asked: groups that came or
    /// went, what could not be done. Each is there once.
    fn notes(&mut self) -> Vec<String>;
    /// The programs of foreground work that used most lately, as far as that is known.
    fn largest(&self) -> &[Program] {
        &[]
    }
    /// Time since the beginning.
    fn now(&self) -> Duration;
    /// Waits.
    fn sleep(&mut self, time: Duration);
}
