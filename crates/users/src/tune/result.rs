//! What tuning has found, as it is printed and written.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use super::cached::CachedReads;
use super::lines::full_name;
use super::need::NeedsGap;
use super::neighbours::CLIFF;
use super::plan::GroupPlan;
use super::run_counts::RunCounts;
use super::verdict::{Conclusion, Verdict};

/// The version of the result file.
pub const SCHEMA: &str = "crosstalk.tune/1";
/// What the run that shows what users need is called, which is none of a grouping.
pub const NEEDS: &str = "needs";

/// What tuning has found. Sizes are bytes, times are seconds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TuneResult {
    /// `crosstalk.tune/1`.
    pub schema: String,
    /// The number of users.
    pub users: usize,
    /// What each user does, by number from 0.
    pub activities: Vec<String>,
    /// The memory that limits divide.
    pub memory: u64,
    /// Bytes a second that all users together read at most; `None`: as many as the disk can.
    pub read_rate: Option<u64>,
    /// Whether the machine's page cache was dropped before each run.
    pub drop_caches: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// What each user needs, by what the first runs have counted. For the users of `needs_gap` it is assumed.
    pub needs: Vec<u64>,
    /// Users whose needs the first runs do not show; `None` if they show all.
    pub needs_gap: Option<NeedsGap>,
    /// The users who stream: more memory does not help them.
    pub streamers: Vec<usize>,
    /// The runs of the search, in order.
    pub runs: Vec<RunRecord>,
    /// The groups of every grouping that was run.
    pub groupings: Vec<GroupingRecord>,
    /// The best grouping of the search: `plain`, or for example `4-apart-equal`.
    pub chosen: String,
    /// The same in words.
    pub words: String,
    /// The search's own estimate of plain's makespan over the chosen one's. It is too good: see `verdict`.
    pub estimate: Option<f64>,
    /// What the users' commands read that was cached before, so that the runs do not show whether groups help; `None` if
    /// there is no sign of that.
    pub cached: Option<CachedReads>,
    /// What fresh pairs say; `None` if plain was chosen, or not all pairs were run.
    pub verdict: Option<Verdict>,
    /// The group whose memory was full in a fresh pair, so that there is no verdict.
    pub killed: Option<String>,
    /// Seconds after which the chosen grouping was cut off in a fresh pair, so that there is no verdict.
    pub cut: Option<f64>,
    /// Why the chosen grouping takes another time than plain.
    pub why: Option<String>,
    /// Groupings like the chosen one with another number of groups: the next with fewer, and those with more up to the
    /// first that is much slower.
    pub neighbours: Vec<Neighbour>,
    /// The neighbour that falls off most, by 5 % or more, or with a kill; `None` if none does that was run.
    pub cliff: Option<String>,
    /// What was counted in plain, in the chosen grouping and in its neighbours.
    pub parts: Vec<TimeParts>,
    /// Why waiting for locks and the time of reclaim were not counted; `None` if they were.
    pub locks_unavailable: Option<String>,
    /// The groups of the chosen grouping.
    pub groups: Vec<GroupRecord>,
    /// The commands that make these groups, with all limits that they had; empty if they are not recommended.
    pub commands: Vec<String>,
}

/// The groups that a grouping makes of the users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupingRecord {
    /// Its name: `plain`, or for example `4-apart-equal`.
    pub grouping: String,
    /// Its groups. Each user is in one of them.
    pub groups: Vec<GroupRecord>,
}

/// A run of the search.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunRecord {
    /// What was run; `needs` for the run that shows what users need.
    pub grouping: String,
    /// Runs of a block have the same seed.
    pub block: usize,
    /// Seconds until the last user had done its jobs; `None` if it did not come to that.
    pub makespan: Option<f64>,
    /// After so many seconds it was cut off, since it was much slower than others.
    pub cut: Option<f64>,
    /// The group in which the kernel killed a program for want of memory.
    pub killed: Option<String>,
    /// What was counted, if it ended well.
    pub counts: Option<RunCounts>,
}

/// A grouping like the chosen one with another number of groups.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Neighbour {
    /// The grouping.
    pub grouping: String,
    /// The same in words.
    pub words: String,
    /// Its makespan over the chosen one's, as the search measured it; at least that if it was cut off. `None`: it was
    /// killed, or not run.
    pub ratio: Option<f64>,
    /// Whether it was cut off.
    pub cut: bool,
    /// The group in which a program was killed for want of memory.
    pub killed: Option<String>,
    /// Why it takes another time than the chosen one.
    pub why: Option<String>,
}

/// What was counted in the runs of a grouping, on average: the parts of a user's time, and what explains them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimeParts {
    /// The grouping.
    pub grouping: String,
    /// The same in words.
    pub words: String,
    /// What was counted, on average over its runs.
    pub counts: RunCounts,
}

/// A group of a grouping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupRecord {
    /// The name that `commands` gives it.
    pub name: String,
    /// The users in it, by number from 0. Texts for people number them from 1.
    pub users: Vec<usize>,
    /// Its memory limit; `None`: only the memory of all groups together limits it.
    pub memory_limit: Option<u64>,
}

impl GroupRecord {
    /// Those of these plans.
    pub fn all_of(plans: &[GroupPlan]) -> Vec<Self> {
        let record = |(number, plan): (usize, &GroupPlan)| GroupRecord {
            name: full_name(number),
            users: plan.users.clone(),
            memory_limit: plan.limit.map(|limit| limit.0),
        };
        plans.iter().enumerate().map(record).collect()
    }
}

impl TuneResult {
    /// Whether the groups are to be made.
    pub fn is_recommended(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.conclusion == Conclusion::Faster)
    }

    /// Whether the fresh pairs show a difference, so that there is something to explain.
    pub fn is_different(&self) -> bool {
        let conclusion = self.verdict.as_ref().map(|verdict| verdict.conclusion);
        matches!(conclusion, Some(Conclusion::Faster | Conclusion::Slower))
    }
}

/// The neighbour that falls off most: by a twentieth at least, or with a kill.
pub fn cliff(neighbours: &[Neighbour]) -> Option<&Neighbour> {
    let depth = |one: &Neighbour| match &one.killed {
        Some(_) => f64::INFINITY,
        None => one.ratio.unwrap_or(0.0),
    };
    neighbours.iter().filter(|one| depth(one) >= CLIFF).max_by(|a, b| depth(a).total_cmp(&depth(b)))
}

/// The JSON Schema of the result file.
pub fn schema() -> Schema {
    schema_for!(TuneResult)
}
