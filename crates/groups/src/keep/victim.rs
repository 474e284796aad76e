//! Which group is ended when memory is full, by rule.
//!
//! Besteffort groups come first, then burstable ones by what they have above their request; a guaranteed group, and a
//! burstable one within its request, never. So a group loses only what it was not promised.

use crosstalk_core::units::Bytes;
use serde::{Deserialize, Serialize};

use crate::profile::Profile;
use crate::standing::Standing;
use crate::when_full::WhenFull;

/// Ending a group that has less than this part of what the largest one has would help nobody.
const LEAST: u64 = 20;

/// A group that may be ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// What it may have.
    pub profile: Profile,
    /// Its rule.
    pub rule: WhenFull,
    /// Memory that goes with it.
    pub memory: Bytes,
}

impl Candidate {
    /// A group, with what it has.
    pub fn of(one: &Standing, memory: Bytes) -> Self {
        Candidate { profile: one.registered.profile, rule: one.registered.when_full(), memory }
    }
}

/// Why a group was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Its own memory is full.
    OwnLimit,
    /// It is besteffort.
    BestEffort,
    /// It has more than it requested.
    AboveRequest,
}

/// Which of the groups to end when their memory is full, and why; `None` if none may be. `ending`: the most that a group
/// has that is ending already.
pub fn victim(candidates: &[Candidate], ending: Bytes) -> Option<(usize, Reason)> {
    let largest = candidates.iter().map(|one| one.memory.0).fold(ending.0, u64::max);
    let rank = |(at, one): (usize, &Candidate)| {
        let (reason, memory) = match one.profile {
            Profile::Guaranteed { .. } => return None,
            Profile::BestEffort { .. } => (Reason::BestEffort, one.memory.0),
            Profile::Burstable { memory, .. } => {
                (Reason::AboveRequest, one.memory.0.saturating_sub(memory.map_or(0, |bytes| bytes.0)))
            }
        };
        let may_end = one.rule == WhenFull::End && memory > 0 && memory >= largest / LEAST;
        may_end.then_some((reason == Reason::BestEffort, memory, at, reason))
    };
    let ranked = candidates.iter().enumerate().filter_map(rank);
    let first = ranked.max_by_key(|(is_besteffort, memory, ..)| (*is_besteffort, *memory))?;
    Some((first.2, first.3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;
    const REST: Profile = Profile::BestEffort { limit: None };
    const GUARANTEED: Profile = Profile::Guaranteed { memory: Bytes(100 * MIB), cpus: None };

    fn burstable(request: Option<u64>) -> Profile {
        Profile::Burstable { memory: request.map(|mib| Bytes(mib * MIB)), limit: None, cpus: None }
    }

    fn of(groups: &[(Profile, u64)]) -> Option<(usize, Reason)> {
        victim(&groups.iter().map(candidate).collect::<Vec<_>>(), Bytes(0))
    }

    fn candidate((profile, mib): &(Profile, u64)) -> Candidate {
        Candidate { profile: *profile, rule: WhenFull::of(profile), memory: Bytes(mib * MIB) }
    }

    #[test]
    fn besteffort_groups_come_first_and_the_largest_of_them() {
        let all = [(burstable(None), 150), (REST, 30), (REST, 40), (GUARANTEED, 100)];
        assert_eq!(of(&all), Some((2, Reason::BestEffort)));
        assert_eq!(
            of(&[(burstable(None), 150), (REST, 5)]),
            Some((0, Reason::AboveRequest)),
            "5 MiB help nobody"
        );
    }

    #[test]
    fn then_the_one_that_is_most_above_its_request() {
        let all = [(burstable(Some(100)), 130), (burstable(Some(10)), 60), (burstable(None), 20)];
        assert_eq!(of(&all), Some((1, Reason::AboveRequest)));
    }

    #[test]
    fn nobody_loses_what_was_promised() {
        assert_eq!(of(&[(GUARANTEED, 100), (burstable(Some(150)), 150), (REST, 0)]), None);
        assert_eq!(of(&[]), None);
        let warn = Candidate { profile: REST, rule: WhenFull::Warn, memory: Bytes(200 * MIB) };
        let kernel = Candidate { rule: WhenFull::Kernel, ..warn };
        assert_eq!(victim(&[warn, kernel], Bytes(0)), None, "by its rule");
    }

    #[test]
    fn while_a_large_group_is_ending_no_small_one_is_ended() {
        let small = [candidate(&(REST, 5))];
        assert_eq!(victim(&small, Bytes(200 * MIB)), None);
        assert!(victim(&small, Bytes(50 * MIB)).is_some());
    }

    proptest! {
        #[test]
        fn whoever_is_chosen_may_be_ended(groups in prop::collection::vec((0_u8..3, 0_u64..300, 0_u64..300), 0..8)) {
            let profiles: Vec<(Profile, u64)> = groups.iter().map(|(kind, request, memory)| (match kind {
                0 => GUARANTEED,
                1 => REST,
                _ => burstable(Some(*request)),
            }, *memory)).collect();
            let candidates: Vec<Candidate> = profiles.iter().map(candidate).collect();
            match victim(&candidates, Bytes(0)) {
                Some((at, _)) => {
                    prop_assert!(profiles[at].0.guaranteed().is_none());
                    prop_assert!(candidates[at].memory.0 > profiles[at].0.requested().map_or(0, |bytes| bytes.0));
                }
                None => prop_assert!(!candidates.iter().any(|one| one.profile == REST && one.memory.0 >= 15 * MIB)),
            }
        }
    }
}
