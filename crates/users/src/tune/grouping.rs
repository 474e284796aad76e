//! A way to group users: how many groups, who is with whom, and what limits them.

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

impl Grouping {
    /// Its name for people, among so many users: `plain`, or for example `4 groups, streamers apart, equal limits`.
    pub fn words(&self, users: usize) -> String {
        if self.groups == 1 {
            return "plain".into();
        }
        let who = match self.who {
            _ if self.groups == users => "one user each",
            Who::Dealt => "mixed",
            Who::Alike => "alike together",
            Who::Apart => "streamers apart",
        };
        let limits = match self.limits {
            Limits::None => "no limits",
            Limits::Equal => "equal limits",
            Limits::Need => "limits by need",
        };
        format!("{} groups, {who}, {limits}", self.groups)
    }
}

/// What the parts of names mean, each once.
pub const LEGEND: [(&str, &str); 5] = [
    ("mixed", "each group has its share of users of every kind"),
    ("alike together", "users who need about as much memory are in one group"),
    ("streamers apart", "those who stream are in a group of their own, the others are mixed"),
    ("equal limits", "a group's limit is its users' equal share of the memory"),
    ("limits by need", "a group's limit is what its users need, as the first runs have shown"),
];

#[cfg(test)]
impl std::str::FromStr for Grouping {
    type Err = String;

    /// Reads a code.
    fn from_str(text: &str) -> Result<Self, String> {
        let every = |groups| {
            let each = move |(who, _)| LIMITS.map(|(limits, _)| Grouping { groups, limits, who });
            WHO.into_iter().flat_map(each)
        };
        let found = (1..=64).flat_map(every).find(|grouping| grouping.code() == text);
        let plain = |grouping: Grouping| if grouping.groups == 1 { Grouping::PLAIN } else { grouping };
        found.map(plain).ok_or_else(|| format!("`{text}` is no grouping"))
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
    }

    #[test]
    fn words_say_what_is_done() {
        let grouping = Grouping { groups: 4, limits: Limits::Equal, who: Who::Apart };
        assert_eq!(grouping.words(8), "4 groups, streamers apart, equal limits");
        assert_eq!(grouping.words(4), "4 groups, one user each, equal limits");
        assert_eq!(Grouping::PLAIN.words(8), "plain");
    }
}
