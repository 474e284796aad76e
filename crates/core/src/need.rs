//! What a part of Crosstalk needs of a machine, found or missing.

use serde::{Deserialize, Serialize};

/// One requirement and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// What is needed, in a few words.
    pub what: String,
    /// Whether it is there.
    #[serde(flatten)]
    pub state: NeedState,
}

/// Found or missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum NeedState {
    /// It is there: which version, or what it allows.
    Found {
        /// What was found.
        detail: String,
    },
    /// It is missing.
    Missing {
        /// What cannot be done without it.
        consequence: String,
        /// The command or setting that mends it.
        remedy: String,
    },
}

impl Need {
    /// It is there.
    pub fn found(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Need { what: what.into(), state: NeedState::Found { detail: detail.into() } }
    }

    /// It is missing.
    pub fn missing(
        what: impl Into<String>,
        consequence: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Need {
            what: what.into(),
            state: NeedState::Missing { consequence: consequence.into(), remedy: remedy.into() },
        }
    }

    /// Whether it is there.
    pub fn is_found(&self) -> bool {
        matches!(self.state, NeedState::Found { .. })
    }
}
