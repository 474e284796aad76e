//! The identity of a cell, the same in the plan, the journal and the report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::value::{Levels, describe_levels};

/// A cell's identity: its experiment, and a level of each factor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CellId {
    /// The experiment's name in the study.
    pub experiment: String,
    /// Factor → level.
    pub levels: Levels,
}

impl CellId {
    /// The cell of `experiment` at `levels`.
    pub fn new(experiment: &str, levels: Levels) -> Self {
        CellId { experiment: experiment.into(), levels }
    }
}

/// For people: `graph at slaves 6, boards many`. Without factors: the experiment's name.
impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.experiment)?;
        if self.levels.is_empty() { Ok(()) } else { write!(f, " at {}", describe_levels(&self.levels)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_the_same_however_its_levels_are_written() {
        let cell = |level: &str| CellId::new("ping", Levels::from([("size".into(), level.into())]));
        assert_eq!(cell("4 KiB"), cell("4096 B"));
        assert_ne!(cell("4 KiB"), cell("4 kB"));
        assert_eq!(cell("4 KiB").to_string(), "ping at size 4 KiB");
        assert_eq!(CellId::new("ping", Levels::new()).to_string(), "ping");
    }
}
