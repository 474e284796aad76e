//! A requirement on a machine, found or missing.

use serde::{Deserialize, Serialize};

/// One requirement of the program or of a part of it, and whether this machine meets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// What is needed, in a few words.
    pub what: String,
    /// Whether it was found.
    #[serde(flatten)]
    pub state: NeedState,
}

/// Whether a requirement is met, with details of what was found or what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum NeedState {
    /// It was found.
    Found {
        /// The version that was found, or what it allows.
        detail: String,
    },
    /// It is missing.
    Missing {
        /// What cannot be done without it.
        consequence: String,
        /// The command or setting that provides it. `None`: only another machine has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remedy: Option<String>,
    },
}

/// A requirement that this machine does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmetNeed {
    /// What is needed, in a few words.
    pub what: String,
    /// What cannot be done without it.
    pub consequence: String,
    /// The command or setting that provides it. `None`: only another machine has it.
    pub remedy: Option<String>,
}

impl Need {
    /// A requirement that this machine meets; `detail` says how.
    pub fn found(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Need { what: what.into(), state: NeedState::Found { detail: detail.into() } }
    }

    /// A missing requirement, and the command or setting that provides it.
    pub fn missing(
        what: impl Into<String>,
        consequence: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Need {
            what: what.into(),
            state: NeedState::Missing { consequence: consequence.into(), remedy: Some(remedy.into()) },
        }
    }

    /// A missing requirement that no command or setting can provide on this machine.
    pub fn unavailable(what: impl Into<String>, consequence: impl Into<String>) -> Self {
        Need {
            what: what.into(),
            state: NeedState::Missing { consequence: consequence.into(), remedy: None },
        }
    }

    /// The requirement, if it is missing.
    pub fn unmet(self) -> Option<UnmetNeed> {
        match self.state {
            NeedState::Found { .. } => None,
            NeedState::Missing { consequence, remedy } => {
                Some(UnmetNeed { what: self.what, consequence, remedy })
            }
        }
    }

    /// Whether this machine meets the requirement.
    pub fn is_found(&self) -> bool {
        matches!(self.state, NeedState::Found { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unavailable_need_has_no_remedy_and_reads_back() {
        let need = Need::unavailable("a part", "less is seen");
        let text = serde_json::to_string(&need).expect("writes");
        assert_eq!(text, r#"{"what":"a part","state":"missing","consequence":"less is seen"}"#);
        assert_eq!(serde_json::from_str::<Need>(&text).expect("reads"), need);
        assert!(!need.is_found());
        let unmet = need.unmet().expect("is missing");
        assert_eq!((unmet.what.as_str(), unmet.consequence.as_str()), ("a part", "less is seen"));
        assert_eq!(Need::found("a part", "v1").unmet(), None);
    }
}
