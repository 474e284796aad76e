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
        /// The command or setting that mends it; nothing where nothing does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remedy: Option<String>,
    },
}

/// A need that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// What is needed, in a few words.
    pub what: String,
    /// What cannot be done without it.
    pub consequence: String,
    /// The command or setting that mends it; nothing where nothing does.
    pub remedy: Option<String>,
}

impl Need {
    /// It is there.
    pub fn found(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Need { what: what.into(), state: NeedState::Found { detail: detail.into() } }
    }

    /// It is missing, and this mends it.
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

    /// It is missing, and nothing mends that: another machine would have to be had.
    pub fn lacking(what: impl Into<String>, consequence: impl Into<String>) -> Self {
        Need {
            what: what.into(),
            state: NeedState::Missing { consequence: consequence.into(), remedy: None },
        }
    }

    /// What is missing of it, where anything is.
    pub fn unmet(self) -> Option<Unmet> {
        match self.state {
            NeedState::Found { .. } => None,
            NeedState::Missing { consequence, remedy } => {
                Some(Unmet { what: self.what, consequence, remedy })
            }
        }
    }

    /// Whether it is there.
    pub fn is_found(&self) -> bool {
        matches!(self.state, NeedState::Found { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nothing_mends_has_no_remedy_and_reads_back() {
        let need = Need::lacking("a part", "less is seen");
        let text = serde_json::to_string(&need).expect("writes");
        assert_eq!(text, r#"{"what":"a part","state":"missing","consequence":"less is seen"}"#);
        assert_eq!(serde_json::from_str::<Need>(&text).expect("reads"), need);
        assert!(!need.is_found());
        let unmet = need.unmet().expect("is missing");
        assert_eq!((unmet.what.as_str(), unmet.consequence.as_str()), ("a part", "less is seen"));
        assert_eq!(Need::found("a part", "v1").unmet(), None);
    }
}
