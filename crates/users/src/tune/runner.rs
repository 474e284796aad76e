//! Runs groups of users on this machine.

use std::path::PathBuf;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_work::peer::Deadline;

use super::host::drop_caches;
use super::lines::PARENT;
use super::need::AloneUser;
use super::plan::{GroupPlan, arrangement};
use super::run::Ending;
use super::run_counts::RunCounts;
use crate::attempt::{Conduct, Failure, attempt};
use crate::counts::GroupCounts;
use crate::outcome::Outcome;
use crate::population::Population;

/// Runs groups of users, one run after another.
pub struct Runner<'a> {
    /// The users.
    pub population: &'a Population,
    /// The folder of their files.
    pub scratch: PathBuf,
    /// When all runs have to be done; the operator may interrupt them before.
    pub until: Deadline<'a>,
    /// Whether the machine's page cache is dropped before each run.
    pub drop_caches: bool,
    /// Whether this machine can count what tasks wait for in the kernel.
    pub can_count_waits: bool,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To explain: tracepoints count what tasks wait for in the kernel, if this machine can.
    Explain,
    /// To decide: nothing is counted that costs time.
    Decide,
}

/// What a run has shown besides its makespan.
#[derive(Debug, Clone, PartialEq)]
pub struct RunData {
    /// What was counted.
    pub counts: RunCounts,
    /// Each user, by number, if each was alone in its group.
    pub alone: Vec<AloneUser>,
}

impl Runner<'_> {
    /// Runs these groups. `seed`: of the users' random numbers. `cap`: the run is cut off so many seconds after the
    /// users have begun.
    ///
    /// # Errors
    /// If the groups cannot be made, a user fails, the time is up, or at an interruption.
    pub fn run(
        &self,
        plans: &[GroupPlan],
        seed: u64,
        cap: f64,
        purpose: Purpose,
    ) -> Result<Ending<RunData>, Fault> {
        let arrangement = arrangement(plans);
        if self.drop_caches {
            drop_caches()?;
        }
        let waits = self.can_count_waits && purpose == Purpose::Explain;
        let conduct = Conduct { until: &self.until, most: Some(Seconds(cap)), waits };
        let outcome = attempt(self.population, &arrangement, &self.scratch, seed, &conduct);
        match outcome {
            Ok(outcome) => {
                let (counts, alone) = (RunCounts::of(&outcome), alone(&outcome, plans));
                Ok(Ending::Done { makespan: outcome.makespan()?, more: RunData { counts, alone } })
            }
            Err(Failure::OutOfMemory(group)) if arrangement.groups.len() > 1 => {
                Ok(Ending::Killed(format!("{PARENT}/{group}")))
            }
            Err(Failure::OutOfMemory(group)) => Ok(Ending::Killed(group)),
            Err(Failure::Late) => Ok(Ending::Cut(cap)),
            Err(Failure::Other(_)) if self.until.is_over() && !self.until.is_cancelled() => {
                Err(Fault::attempt("the time of --deadline was up before all runs were done")
                    .remedy("allow more time, or shorten the runs (--jobs), or make fewer (--runs, --pairs)"))
            }
            Err(Failure::Other(fault)) => Err(fault),
        }
    }
}

/// What was counted for each user, by number, if each was alone.
fn alone(outcome: &Outcome, plans: &[GroupPlan]) -> Vec<AloneUser> {
    if plans.len() != outcome.users.len() || outcome.counts.len() != plans.len() {
        return Vec::new();
    }
    let user = |(plan, counts): (&GroupPlan, &GroupCounts)| {
        let number = *plan.users.first()?;
        let user = outcome.users.iter().find(|user| user.number == number)?;
        let limit = plan.limit.map_or(u64::MAX, |Bytes(limit)| limit);
        let peak = counts.peak.map(|peak| peak.0);
        let (read, seconds) = (user.device_reads, user.done.ended - user.done.began);
        Some((number, AloneUser { limit, peak, read, seconds }))
    };
    let mut users: Vec<_> = plans.iter().zip(&outcome.counts).filter_map(user).collect();
    users.sort_by_key(|(number, _)| *number);
    users.into_iter().map(|(_, user)| user).collect()
}
