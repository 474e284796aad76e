//! What tuning has found, as it is printed and written.

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use super::counted::Counted;
use super::verdict::{Conclusion, Verdict};

/// The version of the result file.
pub const SCHEMA: &str = "crosstalk.tune/1";

/// What tuning has found. Sizes are bytes, times are seconds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tuned {
    /// `crosstalk.tune/1`.
    pub schema: String,
    /// The number of users.
    pub users: usize,
    /// The memory that limits divide.
    pub memory: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// What each user needs, by what the first runs have counted.
    pub needs: Vec<u64>,
    /// The users who stream: more memory does not help them.
    pub streamers: Vec<usize>,
    /// The runs of the search, in order.
    pub runs: Vec<RunRecord>,
    /// The best grouping of the search: `plain`, or for example `4-apart-equal`.
    pub chosen: String,
    /// The same in words.
    pub words: String,
    /// The search's own estimate of plain's makespan over the chosen one's. It is too good: see `verdict`.
    pub estimate: Option<f64>,
    /// What fresh pairs say; `None` if plain was chosen, or no pairs were run.
    pub verdict: Option<Verdict>,
    /// The group whose memory was full in a fresh pair, so that there is no verdict.
    pub killed: Option<String>,
    /// Why the chosen grouping takes another time than plain.
    pub why: Option<String>,
    /// The groupings with more and fewer groups.
    pub beside: Vec<Beside>,
    /// What was counted in plain, in the chosen grouping and in those beside it.
    pub parts: Vec<Parts>,
    /// The groups of the chosen grouping.
    pub groups: Vec<GroupRecord>,
    /// The commands that make these groups; empty if they are not recommended.
    pub commands: Vec<String>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunRecord {
    /// What was run; `needs` for the run that shows what users need.
    pub grouping: String,
    /// Runs of a block have the same seed.
    pub block: usize,
    /// Seconds until the last user had done its jobs; `None` if it did not come to that.
    pub makespan: Option<f64>,
    /// After so many seconds it was cut off, since it was much slower than plain.
    pub cut: Option<f64>,
    /// The group in which the kernel killed a program for want of memory.
    pub killed: Option<String>,
    /// What was counted.
    pub counted: Option<Counted>,
}

/// A grouping beside the chosen one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Beside {
    /// The grouping.
    pub grouping: String,
    /// The same in words.
    pub words: String,
    /// Its makespan over the chosen one's, as the search measured it; at least that if it was cut off.
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
pub struct Parts {
    /// The grouping.
    pub grouping: String,
    /// What was counted.
    pub counted: Counted,
}

/// A group of the chosen grouping.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupRecord {
    /// The name that `commands` gives it.
    pub name: String,
    /// The users in it.
    pub users: Vec<usize>,
    /// Its memory limit.
    pub memory_limit: Option<u64>,
}

impl Tuned {
    /// Whether the groups are to be made.
    pub fn is_recommended(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.conclusion == Conclusion::Faster)
    }

    /// The neighbour that falls off most: by a twentieth at least, or with a kill.
    pub fn cliff(&self) -> Option<&Beside> {
        let depth = |beside: &Beside| match &beside.killed {
            Some(_) => f64::INFINITY,
            None => beside.ratio.unwrap_or(0.0),
        };
        self.beside.iter().filter(|one| depth(one) >= CLIFF).max_by(|a, b| depth(a).total_cmp(&depth(b)))
    }
}

/// A neighbour that takes so many times as long is a cliff.
const CLIFF: f64 = 1.05;

/// The JSON Schema of the result file.
pub fn schema() -> Schema {
    schema_for!(Tuned)
}
