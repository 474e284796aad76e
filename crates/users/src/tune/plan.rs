//! The groups that a grouping makes of users whose needs are known.

use crosstalk_cgroup::group::Setting;
use crosstalk_core::units::Bytes;

use super::grouping::{Grouping, LIMITS, Limits, WHO, Who};
use super::need::Needs;
use crate::arrangement::{Arrangement, UserGroup};
use crate::isolation::View;

/// The controllers in which named groups are apart.
pub const CONTROLLERS: [&str; 2] = ["memory", "cpu"];
/// The weight of a group for each of its users: what one processor's worth of a named group has.
const WEIGHT: usize = 100;
/// The most that the kernel takes as a weight.
const MOST_WEIGHT: usize = 10_000;
/// Limits that differ by this share at most are about the same.
const NEAR: f64 = 0.1;
/// The least limit, in bytes: no program runs in less, and `groups create` takes no less.
const LEAST: u64 = MIB;
/// Limits are whole mebibytes, or whole pages below one.
const MIB: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// A group that is to be made: who is in it, and what limits it.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupPlan {
    /// The numbers of its users, from 0.
    pub users: Vec<usize>,
    /// Its memory limit, in bytes; `None`: only the memory of all groups together limits it.
    pub limit: Option<Bytes>,
}

impl GroupPlan {
    /// Whether the limit leaves room for a program.
    fn is_possible(&self) -> bool {
        self.limit.is_none_or(|limit| limit.0 >= LEAST)
    }
}

/// The name of the group of this number.
pub fn name(number: usize) -> String {
    format!("g{number}")
}

/// The groups, none of them empty. Those who stream, if apart, are the last one.
pub fn plan(grouping: &Grouping, needs: &Needs, memory: Bytes) -> Vec<GroupPlan> {
    let all = needs.bytes.len();
    let members = members(grouping, needs);
    let parts = match grouping.limits {
        Limits::None => None,
        Limits::Equal => Some(vec![memory.0 / all.max(1) as u64; all]),
        Limits::Need => Some(needs.parts(memory)),
    };
    let limit = |users: &[usize]| {
        let parts = parts.as_ref().filter(|_| grouping.groups > 1)?;
        Some(rounded(users.iter().map(|user| parts[*user]).sum()))
    };
    members.into_iter().map(|users| GroupPlan { limit: limit(&users), users }).collect()
}

/// Each user alone, limited to its part of the memory.
pub fn alone(needs: &Needs, memory: Bytes) -> Vec<GroupPlan> {
    let one = |(user, part): (usize, u64)| GroupPlan { users: vec![user], limit: Some(rounded(part)) };
    needs.parts(memory).into_iter().enumerate().map(one).collect()
}

fn rounded(bytes: u64) -> Bytes {
    let unit = if bytes >= MIB { MIB } else { PAGE };
    Bytes(bytes / unit * unit)
}

/// The users of each group.
fn members(grouping: &Grouping, needs: &Needs) -> Vec<Vec<usize>> {
    let all = needs.bytes.len();
    let groups = grouping.groups.min(all).max(1);
    let users: Vec<usize> = (0..all).collect();
    let (streaming, others): (Vec<usize>, Vec<usize>) = users.iter().partition(|user| needs.streams[**user]);
    match grouping.who {
        _ if groups == 1 => vec![users],
        Who::Apart if !streaming.is_empty() && !others.is_empty() => {
            let mut members = dealt(&others, (groups - 1).min(others.len()));
            members.push(streaming);
            members
        }
        Who::Dealt | Who::Apart => dealt(&users, groups),
        Who::Alike => {
            let mut sorted = users;
            sorted.sort_by_key(|user| (needs.streams[*user], needs.bytes[*user]));
            // Groups of neighbours, which differ by one user at most.
            (0..groups).map(|at| sorted[at * all / groups..(at + 1) * all / groups].to_vec()).collect()
        }
    }
}

fn dealt(users: &[usize], groups: usize) -> Vec<Vec<usize>> {
    let mut dealt = vec![Vec::new(); groups];
    users.iter().enumerate().for_each(|(at, user)| dealt[at % groups].push(*user));
    dealt
}

/// The control groups that these make: as `crosstalk groups create` makes them, below one group.
pub fn arrangement(plans: &[GroupPlan]) -> Arrangement {
    let group = |(number, plan): (usize, &GroupPlan)| {
        let weight = (WEIGHT * plan.users.len()).min(MOST_WEIGHT) as u32;
        let limit = plan.limit.map(|limit| Setting::MemoryMax(Some(limit)));
        let settings = limit.into_iter().chain([Setting::Weight(weight)]).collect();
        UserGroup { name: name(number), users: plan.users.clone(), settings }
    };
    let mut groups: Vec<UserGroup> = plans.iter().enumerate().map(group).collect();
    if let [only] = &mut groups[..] {
        *only = UserGroup { name: "plain".into(), settings: Vec::new(), ..only.clone() };
        return Arrangement { groups, controllers: Vec::new(), folders: false, view: View::Host };
    }
    Arrangement { groups, controllers: CONTROLLERS.into(), folders: false, view: View::Host }
}

/// All groupings that differ: plain first, then by number of groups. Those that make about the same groups as a simpler
/// one are left out, and those with a limit in which no program runs.
pub fn space(needs: &Needs, memory: Bytes) -> Vec<Grouping> {
    let mut space = vec![Grouping::PLAIN];
    for groups in counts(needs.bytes.len()) {
        let mut made: Vec<Vec<GroupPlan>> = Vec::new();
        for (who, _) in WHO {
            for (limits, _) in LIMITS {
                let grouping = Grouping { groups, limits, who };
                let mut plans = plan(&grouping, needs, memory);
                plans.sort_by(|a, b| a.users.cmp(&b.users));
                let is_known = made.iter().any(|made| are_about_the_same(made, &plans));
                let is_possible = plans.len() == groups && plans.iter().all(GroupPlan::is_possible);
                if is_possible && !is_known && (who != Who::Alike || needs.differ()) {
                    made.push(plans);
                    space.push(grouping);
                }
            }
        }
    }
    space
}

/// Whether these are the same users, with limits that hardly differ.
fn are_about_the_same(one: &[GroupPlan], other: &[GroupPlan]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            let near = match (one.limit, other.limit) {
                (Some(one), Some(other)) => one.0.abs_diff(other.0) as f64 <= NEAR * one.0 as f64,
                (one, other) => one == other,
            };
            near && one.users == other.users
        })
}

/// The numbers of groups that are tried: powers of two up to the users, and one each.
pub fn counts(users: usize) -> Vec<usize> {
    let powers = (1..usize::BITS).map(|power| 1_usize << power).take_while(|power| *power < users);
    powers.chain((users > 1).then_some(users)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEMORY: Bytes = Bytes(60 * MIB);

    /// Six users: the first two stream, the last two need more.
    fn needs() -> Needs {
        let bytes = [4, 4, 8, 8, 16, 16].map(|mib| mib * MIB);
        Needs { bytes: bytes.into(), streams: vec![true, true, false, false, false, false] }
    }

    fn users(groups: usize, who: Who) -> Vec<Vec<usize>> {
        let grouping = Grouping { groups, limits: Limits::None, who };
        plan(&grouping, &needs(), MEMORY).into_iter().map(|plan| plan.users).collect()
    }

    #[test]
    fn users_are_dealt_together_or_apart() {
        assert_eq!(users(2, Who::Dealt), [vec![0, 2, 4], vec![1, 3, 5]]);
        assert_eq!(users(2, Who::Apart), [vec![2, 3, 4, 5], vec![0, 1]]);
        assert_eq!(users(3, Who::Alike), [vec![2, 3], vec![4, 5], vec![0, 1]]);
        assert_eq!(users(1, Who::Apart), [vec![0, 1, 2, 3, 4, 5]]);
    }

    #[test]
    fn limits_are_shares_or_what_is_needed() {
        let limits = |limits| {
            let grouping = Grouping { groups: 3, limits, who: Who::Alike };
            let plans = plan(&grouping, &needs(), MEMORY);
            plans.iter().map(|plan| plan.limit.map(|limit| limit.0 >> 20)).collect::<Vec<_>>()
        };
        assert_eq!(limits(Limits::None), [None; 3]);
        assert_eq!(limits(Limits::Equal), [Some(20); 3]);
        // 48 MiB are needed by those who do not stream, 52 are left to them.
        assert_eq!(limits(Limits::Need), [Some(17), Some(34), Some(8)]);
    }

    #[test]
    fn a_space_has_no_two_groupings_that_make_the_same_groups() {
        assert_eq!(counts(16), [2, 4, 8, 16]);
        assert_eq!(counts(6), [2, 4, 6]);
        assert!(counts(1).is_empty());
        let alike = Needs::unknown(4, MEMORY);
        let codes: Vec<String> = space(&alike, MEMORY).iter().map(Grouping::code).collect();
        let expected = ["plain", "2-dealt-none", "2-dealt-equal", "4-dealt-none", "4-dealt-equal"];
        assert_eq!(codes, expected, "all need the same, and nobody streams");
        // Two dealt groups need the same; with six, everybody is alone.
        assert_eq!(space(&needs(), MEMORY).len(), 1 + (2 + 3 + 3) + 9 + 3);
    }

    #[test]
    fn plain_is_one_group_without_limits() {
        let plain = arrangement(&plan(&Grouping::PLAIN, &needs(), MEMORY));
        assert!(plain.controllers.is_empty() && plain.groups.len() == 1);
        assert!(plain.groups[0].settings.is_empty());
    }

    proptest! {
        #[test]
        fn every_user_is_in_one_group_and_limits_fit_the_memory(
            known in prop::collection::vec((1_u64..40, any::<bool>()), 2..30),
        ) {
            let needs = Needs {
                bytes: known.iter().map(|(mib, _)| mib * MIB).collect(),
                streams: known.iter().map(|(_, streams)| *streams).collect(),
            };
            for grouping in space(&needs, MEMORY) {
                let plans = plan(&grouping, &needs, MEMORY);
                let mut all: Vec<usize> = plans.iter().flat_map(|plan| plan.users.clone()).collect();
                all.sort_unstable();
                prop_assert_eq!(all, (0..known.len()).collect::<Vec<_>>());
                prop_assert!(plans.iter().all(|plan| !plan.users.is_empty()));
                prop_assert!(plans.iter().filter_map(|plan| plan.limit).map(|b| b.0).sum::<u64>() <= MEMORY.0);
            }
        }
    }
}
