//! Names of groups: `lab`, and `lab/alice` for one that is in it.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crosstalk_core::{Fault, quoted};
use serde::{Deserialize, Serialize};

/// The most characters of a part, and the most parts.
const LONGEST: usize = 64;
const DEEPEST: usize = 8;

/// The name of a group. In their order a group comes right before those in it, and numbers count as such: `user-2`
/// before `user-10`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    ///
    /// # Errors
    /// If it is too long then.
    pub fn numbered(&self, number: u32) -> Result<GroupName, Fault> {
        format!("{}-{number}", self.0).parse()
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for GroupName {
    fn cmp(&self, other: &Self) -> Ordering {
        let (mut parts, mut others) = (self.0.split('/'), other.0.split('/'));
        loop {
            let order = match (parts.next(), others.next()) {
                (Some(part), Some(other)) => runs(part).cmp(runs(other)).then(part.cmp(other)),
                (part, other) => return part.is_some().cmp(&other.is_some()),
            };
            if order.is_ne() {
                return order;
            }
        }
    }
}

impl PartialOrd for GroupName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By what a part is sorted: its letters, and its numbers by their length without zeros in front, and their digits.
fn runs(part: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = part;
    std::iter::from_fn(move || {
        let is_number = rest.chars().next()?.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_number).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        let number = run.trim_start_matches('0');
        Some(if is_number { (number.len(), number) } else { (usize::MAX, run) })
    })
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
        assert_eq!(name("lab").numbered(7), Ok(name("lab-7")));
        let longest = name(&"x".repeat(LONGEST));
        let long = longest.numbered(7).expect_err("is too long").to_string();
        assert!(long.contains("64 characters at most"), "{long}");
        assert!(name("lab") < name("lab/alice"), "a group comes before those in it");
    }

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names =
            ["user-10", "user-2", "user-2/b", "lab-2", "lab/a10", "user-1", "lab/a9", "lab", "user-02"]
                .map(name);
        names.sort();
        let expected =
            ["lab", "lab/a9", "lab/a10", "lab-2", "user-1", "user-02", "user-2", "user-2/b", "user-10"];
        assert_eq!(names.map(String::from), expected);
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
        fn the_order_is_total_and_a_group_comes_before_those_in_it(all in proptest::collection::vec("[a0-1][a0-1.-]{0,3}(/[a0-2]{1,3}){0,2}", 3)) {
            let [a, b, c]: [GroupName; 3] = all.iter().map(|text| name(text)).collect::<Vec<_>>().try_into().expect("three");
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert_eq!(a.cmp(&b).is_eq(), a == b);
            prop_assert!(!(a <= b && b <= c) || a <= c);
            prop_assert!(a.parent().is_none_or(|parent| parent < a));
        }

        #[test]
        fn no_name_leads_out_of_its_parent(text in "\\PC{0,20}|[a-z./-]{0,20}") {
            if let Ok(name) = text.parse::<GroupName>() {
                let path = std::path::Path::new(name.as_str());
                prop_assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
            }
        }
    }
}
