//! The readings of a probe.

use crosstalk_core::record::Reading;

/// Readings, each with the number of its observations.
pub type Readings = Vec<(Reading, u64)>;
