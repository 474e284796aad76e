//! What was known of a node when it was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The facts of one node. A run is resumed or compared only where all `fixed` facts agree.
/// `moment` facts (load, free memory) are only recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Kernel, processor, cores, memory, Crosstalk's version …
    pub fixed: BTreeMap<String, String>,
    /// Load average, free memory, steal since boot …
    pub moment: BTreeMap<String, String>,
}
