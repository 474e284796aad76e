//! Whether an emulated attempt kept the assumptions of its model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the fidelity monitor counted in one attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fidelity {
    /// The monitor's bounds that the attempt exceeded, in words. Empty: it is faithful.
    pub reasons: Vec<String>,
    /// Counters by name, in base units (`steal_seconds`, `major_faults` …).
    pub counters: BTreeMap<String, f64>,
}

impl Fidelity {
    /// Whether the attempt stayed within the fidelity monitor's bounds.
    pub fn faithful(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Adds another node's counters and reasons.
    pub fn merge(&mut self, other: Fidelity) {
        for reason in other.reasons {
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
        for (name, value) in other.counters {
            *self.counters.entry(name).or_default() += value;
        }
    }
}
