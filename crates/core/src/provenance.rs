//! What a node was when it was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One node's facts. `fixed` facts must agree for a run to be resumed or
/// compared; `moment` facts (load, free memory) are for the record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Kernel, processor, cores, memory, Crosstalk's version …
    pub fixed: BTreeMap<String, String>,
    /// Load average, free memory, steal since boot …
    pub moment: BTreeMap<String, String>,
}
