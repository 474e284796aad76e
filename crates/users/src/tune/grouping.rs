//! A way to group users: how many groups, who is with whom, and what limits them.

use std::fmt;
use std::str::FromStr;

use crosstalk_core::{Fault, quoted};

/// A way to group users. In their order a simpler one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grouping {
    /// The number of groups; 1 is plain.
    pub groups: usize,
    /// The memory limits of the groups.
    pub limits: Limits,
    /// Who is with whom.
    pub who: Who,
}

/// Who is with whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// Users are dealt one by one, so that each group has its share of each kind.
    Dealt,
    /// Users who need about as much memory are together, those who stream with each other.
    Alike,
    /// Those who stream are in a group of their own; the others are dealt.
    Apart,
}

/// The memory limits of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limits {
    /// None: each group has an LRU of its own.
    None,
    /// Each group has its users' share of the memory.
    Equal,
    /// Each group has what its users were found to need.
    Need,
}

/// Each way with its word.
pub(super) const WHO: [(Who, &str); 3] =
    [(Who::Dealt, "dealt"), (Who::Alike, "alike"), (Who::Apart, "apart")];
/// Each kind of limit with its word.
pub(super) const LIMITS: [(Limits, &str); 3] =
    [(Limits::None, "none"), (Limits::Equal, "equal"), (Limits::Need, "need")];

impl Grouping {
    /// All users together, without limits.
    pub const PLAIN: Grouping = Grouping { groups: 1, limits: Limits::None, who: Who::Dealt };

    /// A short name: `plain`, or for example `4-apart-equal`.
    pub fn code(&self) -> String {
        let word = |who| WHO.iter().find(|(known, _)| *known == who).map_or("", |(_, word)| word);
        let limits = LIMITS.iter().find(|(known, _)| *known == self.limits).map_or("", |(_, word)| word);
        match self.groups {
            1 => "plain".into(),
            groups => format!("{groups}-{}-{limits}", word(self.who)),
        }
    }
}

impl FromStr for Grouping {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let parse = || {
            if text == "plain" {
                return Some(Grouping::PLAIN);
            }
            let mut parts = text.split('-');
            let groups = parts.next()?.parse().ok().filter(|groups| *groups > 1)?;
            let (who, limits) = (parts.next()?, parts.next()?);
            let who = WHO.iter().find(|(_, word)| *word == who)?.0;
            let limits = LIMITS.iter().find(|(_, word)| *word == limits)?.0;
            parts.next().is_none().then_some(Grouping { groups, limits, who })
        };
        parse().ok_or_else(|| {
            Fault::usage(format!("expected a grouping such as 4-apart-equal, found `{}`", quoted(text)))
                .remedy("write plain, or groups, who (dealt, alike, apart) and limits (none, equal, need)")
        })
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.groups == 1 {
            return f.write_str("plain");
        }
        let who = match self.who {
            Who::Dealt => "users dealt out",
            Who::Alike => "users who are alike together",
            Who::Apart => "streamers apart",
        };
        let limits = match self.limits {
            Limits::None => "no limits",
            Limits::Equal => "equal limits",
            Limits::Need => "limits by need",
        };
        write!(f, "{} groups, {who}, {limits}", self.groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_back() {
        for groups in [1, 2, 16] {
            for (who, _) in WHO {
                for (limits, _) in LIMITS {
                    let grouping = Grouping { groups, limits, who };
                    let read = grouping.code().parse::<Grouping>().expect("its own code");
                    assert_eq!(read, if groups == 1 { Grouping::PLAIN } else { grouping });
                }
            }
        }
        for text in ["", "4", "4-apart", "0-dealt-none", "1-dealt-none", "4-apart-equal-x", "four-dealt-none"]
        {
            assert!(text.parse::<Grouping>().is_err(), "{text}");
        }
    }

    #[test]
    fn words_say_what_is_done() {
        let grouping = Grouping { groups: 4, limits: Limits::Equal, who: Who::Apart };
        assert_eq!(grouping.to_string(), "4 groups, streamers apart, equal limits");
        assert_eq!(Grouping::PLAIN.to_string(), "plain");
    }
}
