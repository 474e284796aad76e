//! Whether an emulated attempt may be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the fidelity monitor saw in one attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fidelity {
    /// Why the attempt is beyond the monitor's bounds; empty means faithful.
    pub reasons: Vec<String>,
    /// What was counted, by name, in base units (`steal_seconds`, `wildcard_receives` …).
    pub counters: BTreeMap<String, f64>,
}

impl Fidelity {
    /// Within the monitor's bounds.
    pub fn faithful(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Adds another node's observations: counters add up, reasons join.
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
