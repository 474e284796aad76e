//! A run of a grouping on this machine.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_work::peer::Deadline;

use super::counted::Counted;
use super::lines::PARENT;
use super::need::AloneUser;
use super::place::{Placed, arrangement};
use super::search::Ending;
use crate::attempt::{Conduct, Failure, attempt};
use crate::counts::GroupCounts;
use crate::outcome::Outcome;
use crate::population::Population;

/// Runs groups of users, one after another.
pub struct Trials<'a> {
    /// The users.
    pub population: &'a Population,
    /// The folder of their files.
    pub scratch: PathBuf,
    /// Whether the operator has interrupted it.
    pub cancelled: &'a AtomicBool,
}

/// A run's outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// What was counted.
    pub counted: Counted,
    /// Each user, if each was alone in its group.
    pub alone: Vec<AloneUser>,
}

/// As long as it takes.
const FOREVER: f64 = f64::INFINITY;

impl Trials<'_> {
    /// Runs these groups. `cap`: seconds after which the run is cut off.
    ///
    /// # Errors
    /// If the groups cannot be made, a user fails, or at an interruption.
    pub fn run(&self, placed: &[Placed], seed: u64, cap: Option<f64>) -> Result<Ending<Trial>, Fault> {
        let arrangement = arrangement(placed);
        let until = Deadline::new(Seconds(FOREVER), self.cancelled);
        let conduct = Conduct { until: &until, most: cap.map(Seconds), waits: false };
        let outcome = attempt(self.population, &arrangement, &self.scratch, seed, &conduct);
        match outcome {
            Ok(outcome) => {
                let (counted, alone) = (Counted::of(&outcome), alone(&outcome, placed));
                Ok(Ending::Done { makespan: outcome.makespan()?, more: Trial { counted, alone } })
            }
            Err(Failure::OutOfMemory(group)) if arrangement.groups.len() > 1 => {
                Ok(Ending::Killed(format!("{PARENT}/{group}")))
            }
            Err(Failure::OutOfMemory(group)) => Ok(Ending::Killed(group)),
            Err(Failure::Late) => Ok(Ending::Cut(cap.unwrap_or(FOREVER))),
            Err(Failure::Other(fault)) => Err(fault),
        }
    }
}

/// What was counted for each user, by number, if each was alone.
fn alone(outcome: &Outcome, placed: &[Placed]) -> Vec<AloneUser> {
    if placed.len() != outcome.users.len() || outcome.counts.len() != placed.len() {
        return Vec::new();
    }
    let user = |(placed, counts): (&Placed, &GroupCounts)| {
        let number = *placed.users.first()?;
        let user = outcome.users.iter().find(|user| user.number == number)?;
        let limit = placed.limit.map_or(u64::MAX, |Bytes(limit)| limit);
        // Where the kernel keeps no peak, it may have been all.
        let peak = counts.peak.map_or(limit, |peak| peak.0);
        let (read, seconds) = (user.device_reads, user.done.ended - user.done.began);
        Some((number, AloneUser { limit, peak, read, seconds }))
    };
    let mut users: Vec<_> = placed.iter().zip(&outcome.counts).filter_map(user).collect();
    users.sort_by_key(|(number, _)| *number);
    users.into_iter().map(|(_, user)| user).collect()
}
