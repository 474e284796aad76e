//! What the command line and the host add to a study.

use crosstalk_core::value::Value;
use std::collections::BTreeMap;

/// What the command line and the host add to a study.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanOptions {
    /// Run the part of the study that its `quick` section names.
    pub quick: bool,
    /// `--set KEY=VALUE`, in order: `experiment.factor`, `experiment.part.parameter`,
    /// or the last of these alone where the study has it only once.
    pub set: Vec<(String, Value)>,
    /// Seed instead of the study's.
    pub seed: Option<u64>,
    /// Interim analyses instead of the study's.
    pub looks: Option<Vec<usize>>,
    /// Attempts at each cell before the first block, instead of the study's.
    pub warmup: Option<usize>,
    /// A shell command that node 0 runs before each attempt at a program of the user's.
    pub prepare: Option<String>,
    /// Run the workloads on this engine, and the part of the study that the engine's section names.
    pub engine: Option<String>,
    /// Divide the rates of all links by this, instead of the study's scale.
    pub scale: Option<f64>,
    /// Levels that were discovered on the host, by the name in a factor's `discover`: `cores` → 1, 2.
    pub discovered: BTreeMap<String, Vec<Value>>,
    /// Levels from earlier results, by pending factor: `groups.tasks` → 96.
    pub from_results: BTreeMap<String, Value>,
}
