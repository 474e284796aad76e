//! How much memory groups are guaranteed together, and how much each group must have protected for those in it.
//!
//! v2 protects no more in a group than its parent has protected (`Documentation/admin-guide/cgroup-v2.rst`,
//! memory.min, memory.low). So a parent gets the sum of what is in it.

use std::collections::BTreeMap;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};

use crate::contents::Registered;
use crate::machine::Machine;
use crate::name::GroupName;

/// Memory that is protected for a group, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Protection {
    /// Never taken.
    pub min: u64,
    /// Taken last.
    pub low: u64,
}

/// The protection of groups that hold others, and that of all groups together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Protections {
    /// Of each group that holds others.
    pub holders: BTreeMap<GroupName, Protection>,
    /// Of all at the top.
    pub all: Protection,
}

impl Protection {
    fn of(group: &Registered) -> Self {
        let bytes = |bytes: Option<Bytes>| bytes.map_or(0, |bytes| bytes.0);
        Protection { min: bytes(group.profile.guaranteed()), low: bytes(group.profile.requested()) }
    }

    fn with(self, other: Protection) -> Self {
        Protection { min: self.min.saturating_add(other.min), low: self.low.saturating_add(other.low) }
    }

    /// A group's own request, or what those in it need, whichever is more.
    fn or(self, other: Protection) -> Self {
        Protection { min: self.min.max(other.min), low: self.low.max(other.low) }
    }
}

/// Adds up what groups must have protected.
///
/// # Errors
/// If more is guaranteed within a group than its limit, or in total than the machine has.
pub fn protections(
    groups: &BTreeMap<GroupName, Registered>,
    machine: &Machine,
) -> Result<Protections, Fault> {
    let mut sums: BTreeMap<GroupName, Protection> = BTreeMap::new();
    let mut found = Protections::default();
    // Those within a group come after it.
    for (name, group) in groups.iter().rev() {
        let inner = sums.remove(name);
        if let Some(limit) = group.profile.limit() {
            let has = || format!("`{name}` has {}", human(limit.0 as f64, "B"));
            check(inner.unwrap_or_default(), limit, has)?;
        }
        let whole = Protection::of(group).or(inner.unwrap_or_default());
        if inner.is_some() {
            found.holders.insert(name.clone(), whole);
        }
        let above = match name.parent() {
            Some(parent) => sums.entry(parent).or_default(),
            None => &mut found.all,
        };
        *above = above.with(whole);
    }
    check(found.all, machine.memory, || machine.memory_text())?;
    Ok(found)
}

fn check(sum: Protection, most: Bytes, has: impl Fn() -> String) -> Result<(), Fault> {
    if sum.min <= most.0 {
        return Ok(());
    }
    let sum = human(sum.min as f64, "B");
    Err(Fault::usage(format!("guaranteed memory adds up to {sum}: {}", has()))
        .at("--memory")
        .remedy("guarantee less, or make it burstable; what groups have: crosstalk groups list"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn groups(of: &[(&str, Profile)]) -> BTreeMap<GroupName, Registered> {
        let group =
            |(name, profile): &(&str, Profile)| (name.parse().expect("is a name"), Registered::new(*profile));
        of.iter().map(group).collect()
    }

    fn machine(memory: u64) -> Machine {
        Machine { memory: Bytes(memory), within: None, processors: 2 }
    }

    fn guaranteed(memory: u64) -> Profile {
        Profile::Guaranteed { memory: Bytes(memory), cpus: None }
    }

    fn burstable(memory: Option<u64>, limit: Option<u64>) -> Profile {
        Profile::Burstable { memory: memory.map(Bytes), limit: limit.map(Bytes), cpus: None }
    }

    #[test]
    fn a_group_has_protected_what_those_in_it_need() {
        let all = groups(&[
            ("lab", burstable(None, None)),
            ("lab/a", guaranteed(3)),
            ("lab/b", burstable(Some(5), None)),
            ("lab-2", guaranteed(7)),
            ("big", burstable(Some(100), None)),
            ("big/x", burstable(Some(1), None)),
            ("rest", Profile::BestEffort { limit: None }),
        ]);
        let found = protections(&all, &machine(10)).expect("it fits");
        assert_eq!(found.all, Protection { min: 10, low: 105 });
        let lab = Protection { min: 3, low: 5 };
        let big = Protection { min: 0, low: 100 };
        let name = |text: &str| text.parse::<GroupName>().expect("is a name");
        assert_eq!(found.holders, BTreeMap::from([(name("lab"), lab), (name("big"), big)]));
    }

    #[test]
    fn more_than_there_is_cannot_be_guaranteed() {
        let all = groups(&[("a", guaranteed(6)), ("b", guaranteed(5))]);
        let fault = protections(&all, &machine(10)).expect_err("is too much");
        assert!(fault.message.contains("11 B: this machine has 10 B"), "{fault}");
        let within = |limit| groups(&[("lab", limit), ("lab/a", guaranteed(6)), ("lab/b", guaranteed(5))]);
        let fault = protections(&within(guaranteed(10)), &machine(99)).expect_err("is too much");
        assert!(fault.message.contains("`lab` has 10 B"), "{fault}");
        assert!(
            protections(&within(burstable(None, Some(10))), &machine(99)).is_err(),
            "a limit counts, too"
        );
        assert!(protections(&within(burstable(None, None)), &machine(99)).is_ok());
        let nested = groups(&[("a", guaranteed(6)), ("a/b", guaranteed(6)), ("a/b/c", guaranteed(6))]);
        assert!(protections(&nested, &machine(6)).is_ok(), "it is the same memory");
    }
}
