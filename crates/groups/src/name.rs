//! Names of groups: `lab`, and `lab/alice` for one that is in it.

use std::fmt;
use std::str::FromStr;

use crosstalk_core::{Fault, quoted};
use serde::{Deserialize, Serialize};

/// The most characters of a part, and the most parts.
const LONGEST: usize = 64;
const DEEPEST: usize = 8;

/// The name of a group. In their order a group comes before those in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GroupName(String);

impl GroupName {
    /// The group that it is in, if it is not at the top.
    pub fn parent(&self) -> Option<GroupName> {
        self.0.rsplit_once('/').map(|(parent, _)| GroupName(parent.into()))
    }

    /// Whether it is in the other one, at any depth.
    pub fn is_in(&self, other: &GroupName) -> bool {
        self.0.strip_prefix(&other.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The name with a number: `lab-7`.
    #[must_use]
    pub fn numbered(&self, number: u32) -> GroupName {
        GroupName(format!("{}-{number}", self.0))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GroupName {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let parts: Vec<&str> = text.split('/').collect();
        if parts.len() <= DEEPEST && parts.iter().all(|part| is_part(part)) {
            return Ok(GroupName(text.into()));
        }
        Err(Fault::usage(format!(
            "expected a name of letters, digits, `-`, `_` and `.`, such as lab or lab/alice, found `{}`",
            quoted(text)
        ))
        .remedy(format!(
            "begin each part with a letter or a digit; {LONGEST} characters at most in a part, {DEEPEST} parts"
        )))
    }
}

/// The number behind [`GroupName::numbered`] may make a part longer by a few characters.
fn is_part(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    part.len() <= LONGEST
        && part.starts_with(|c: char| c.is_ascii_alphanumeric())
        && part.chars().all(is_plain)
}

impl TryFrom<String> for GroupName {
    type Error = Fault;

    fn try_from(text: String) -> Result<Self, Fault> {
        text.parse()
    }
}

impl From<GroupName> for String {
    fn from(name: GroupName) -> String {
        name.0
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> GroupName {
        text.parse().expect("is a name")
    }

    #[test]
    fn a_name_has_parts() {
        assert_eq!(name("lab/alice").parent(), Some(name("lab")));
        assert_eq!(name("lab").parent(), None);
        assert!(name("lab/alice").is_in(&name("lab")) && name("a/b/c").is_in(&name("a")));
        assert!(!name("lab").is_in(&name("lab")) && !name("lab-2/x").is_in(&name("lab")));
        assert_eq!(name("lab").numbered(7).as_str(), "lab-7");
        assert!(name("lab") < name("lab/alice"), "a group comes before those in it");
    }

    #[test]
    fn odd_names_are_refused_with_what_is_expected() {
        let long = "x".repeat(LONGEST + 1);
        let deep = ["a"; DEEPEST + 1].join("/");
        for text in
            ["", "..", "a/..", "a//b", "/a", "a/", "a b", "a\n", "é", "-a", "_a", ".a", "a/./b", &long, &deep]
        {
            let fault = text.parse::<GroupName>().expect_err(text);
            assert!(fault.remedy.is_some() && !fault.message.contains('\n'), "{fault}");
        }
        assert!(serde_json::from_str::<GroupName>(r#""../x""#).is_err(), "a file is not trusted, either");
    }

    proptest! {
        #[test]
        fn no_name_leads_out_of_its_parent(text in "\\PC{0,20}|[a-z./-]{0,20}") {
            if let Ok(name) = text.parse::<GroupName>() {
                let path = std::path::Path::new(name.as_str());
                prop_assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
            }
        }
    }
}
