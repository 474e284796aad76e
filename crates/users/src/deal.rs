//! Which users are in which group.

/// The users of each group, by number. Every user is in one group; no group is empty.
///
/// The first users of a workload stream. `apart`: they get a group of their own, the last one.
/// Otherwise all users are dealt one by one, so that every group has its share of each kind.
///
/// # Panics
/// If there are more groups than users, or no group.
pub fn deal(users: usize, groups: usize, streamers: usize, apart: bool) -> Vec<Vec<usize>> {
    assert!((1..=users).contains(&groups), "{groups} groups of {users} users");
    let alone = apart && streamers > 0 && groups > 1 && streamers < users;
    let (first, shared) = if alone { (streamers, groups - 1) } else { (0, groups) };
    let mut dealt = vec![Vec::new(); shared.min(users - first)];
    let count = dealt.len();
    for user in first..users {
        dealt[(user - first) % count].push(user);
    }
    if alone {
        dealt.push((0..first).collect());
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn streamers_are_dealt_out_or_are_alone() {
        assert_eq!(deal(6, 2, 2, false), [vec![0, 2, 4], vec![1, 3, 5]]);
        assert_eq!(deal(6, 2, 2, true), [vec![2, 3, 4, 5], vec![0, 1]]);
        assert_eq!(deal(6, 3, 2, true), [vec![2, 4], vec![3, 5], vec![0, 1]]);
        assert_eq!(deal(2, 1, 1, true), [vec![0, 1]], "one group cannot keep anybody apart");
    }

    proptest! {
        #[test]
        fn every_user_is_in_one_group_and_groups_differ_by_one(
            users in 1_usize..200, groups in 1_usize..200, streamers in 0_usize..10,
        ) {
            let (groups, streamers) = (groups.min(users), streamers.min(users));
            for apart in [false, true] {
                let dealt = deal(users, groups, streamers, apart);
                let mut all: Vec<usize> = dealt.iter().flatten().copied().collect();
                all.sort_unstable();
                prop_assert_eq!(all, (0..users).collect::<Vec<_>>());
                prop_assert!(dealt.iter().all(|group| !group.is_empty()));
            }
            let dealt = deal(users, groups, streamers, false);
            let sizes = dealt.iter().map(Vec::len);
            prop_assert!(sizes.clone().max().unwrap_or(0) - sizes.min().unwrap_or(0) <= 1);
            prop_assert_eq!(dealt.len(), groups);
        }
    }
}
