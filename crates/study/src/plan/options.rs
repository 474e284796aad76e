//! What the command line and the host add to a study.

use crosstalk_core::value::Value;
use std::collections::BTreeMap;

/// What the command line and the host add to a study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanOptions {
    /// Run what the study's `[quick]` says.
    pub quick: bool,
    /// `--set KEY=VALUE`, in order: `experiment.factor`, `experiment.part.parameter`,
    /// or the last of these alone where the study has it only once.
    pub set: Vec<(String, Value)>,
    /// Seed instead of the study's.
    pub seed: Option<u64>,
    /// Looks instead of the study's.
    pub looks: Option<Vec<usize>>,
    /// Attempts at each cell before the first block, instead of the study's.
    pub warmup: Option<usize>,
    /// A shell's line that node 0 runs before each attempt at a program of the user's own.
    pub prepare: Option<String>,
    /// Run the workloads on this engine, and of the study what it has for it.
    pub engine: Option<String>,
    /// Run every experiment's links at their fabric's rate over this, instead of what the study says.
    pub scale: Option<f64>,
    /// What was found on the host, by what a factor's `discover` asks for: `cores` → 1, 2.
    pub discovered: BTreeMap<String, Vec<Value>>,
    /// Levels that earlier results gave, by the factor that waits for them: `groups.tasks` → 96.
    pub from_results: BTreeMap<String, Value>,
}
