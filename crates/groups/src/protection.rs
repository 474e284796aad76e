//! Protecting some groups from the others for a time, to show what that does.
//!
//! | | protected groups | the others |
//! |---|---|---|
//! | CPU | the largest weight | – |
//! | memory, v2 | `memory.low`: what they have is taken last | – |
//! | memory, v1 | – | besteffort groups are limited to what they use |
//!
//! v1 has no protection: there only what others have can be limited, and only of groups that yield by their profile. All
//! is listed in the undo ledger with a lease.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crosstalk_cgroup::group::reading::{inactive_file, number};
use crosstalk_cgroup::group::{Dial, Group, Setting};
use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, human};
use crosstalk_host::Ledger;
use crosstalk_host::user::is_root;

use crate::name::GroupName;
use crate::profile::Profile;
use crate::standing::{Existence, Standing, standing};

/// The largest weight.
const WEIGHT: u32 = 10_000;
/// A besteffort group keeps its counted working set, and so small a part of its other memory.
const KEPT: u64 = 8;
/// No group is limited to less, in bytes.
const LEAST: u64 = 16 << 20;

/// Groups that are protected. Dropping it sets everything back.
#[derive(Debug)]
pub struct Protection {
    set: Vec<(Dial, Setting)>,
    /// What was set, for people.
    pub what: Vec<String>,
}

impl Protection {
    /// Protects these groups from the others. To be renewed several times within a lease.
    ///
    /// # Errors
    /// A usage fault if there is no such group, or its profile says that it yields; an environment fault if this user
    /// may not.
    pub fn new(names: &[GroupName], ledger: &Ledger) -> Result<Self, Fault> {
        names.iter().try_for_each(|name| standing(Some(name)).map(drop))?;
        let all: Vec<Standing> =
            standing(None)?.into_iter().filter(|one| one.existence() == Existence::Whole).collect();
        let (chosen, others): (Vec<&Standing>, Vec<&Standing>) =
            all.iter().partition(|one| names.contains(&one.name));
        let mut protection = Protection { set: Vec::new(), what: Vec::new() };
        let mut low: BTreeMap<PathBuf, (Group, u64)> = BTreeMap::new();
        for one in &chosen {
            if matches!(one.registered.profile, Profile::BestEffort { .. }) {
                return Err(Fault::usage("a besteffort group yields to the others by its profile")
                    .at(one.name.to_string())
                    .remedy("protect a burstable or guaranteed group"));
            }
            protection.weigh(one, ledger)?;
            for group in with_those_above(one, 1) {
                if let Some(file) = group.place(&Setting::MemoryLow(None)) {
                    low.entry(file).or_insert((group, 0)).1 += one.group.charged().map_or(0, |bytes| bytes.0);
                }
            }
        }
        let is_related = |other: &Standing| {
            let to = |name: &GroupName| other.name.is_in(name) || name.is_in(&other.name);
            names.iter().any(to)
        };
        if low.is_empty() {
            let yields = |one: &&&Standing| matches!(one.registered.profile, Profile::BestEffort { .. });
            for other in others.iter().filter(yields).filter(|one| !is_related(one)) {
                protection.limit(other, ledger)?;
            }
        }
        for (file, (group, bytes)) in low {
            let already = fs::read_to_string(file).ok().and_then(|text| number(&text)).unwrap_or(0);
            protection.put(&group, Setting::MemoryLow(Some(Bytes(already.saturating_add(bytes)))), ledger)?;
        }
        Ok(protection)
    }

    /// Renews the lease, and sets again what has been set back meanwhile.
    ///
    /// # Errors
    /// If the kernel refuses, or the reapers cannot be started.
    pub fn renew(&mut self, ledger: &Ledger) -> Result<(), Fault> {
        ledger.renew()?;
        self.set
            .iter_mut()
            .filter(|(dial, setting)| !dial.says(setting))
            .try_for_each(|(dial, setting)| dial.set(setting))
    }

    /// The largest weight for a group, and for those that it is in.
    fn weigh(&mut self, one: &Standing, ledger: &Ledger) -> Result<(), Fault> {
        for group in with_those_above(one, 0) {
            self.put(&group, Setting::Weight(WEIGHT), ledger)?;
        }
        self.what.push(format!("{} has CPU weight {WEIGHT}", one.name));
        Ok(())
    }

    /// Limits a group to what it uses.
    fn limit(&mut self, other: &Standing, ledger: &Ledger) -> Result<(), Fault> {
        let stat =
            other.group.file(&[("memory", "memory.stat")]).and_then(|file| fs::read_to_string(file).ok());
        let (Some(memory), Some(stat)) = (other.group.charged(), stat) else { return Ok(()) };
        let unused = inactive_file(&stat).unwrap_or(0);
        let least = memory.0.saturating_sub(unused - unused / KEPT).max(LEAST);
        let limit = Setting::MemoryMax(Some(Bytes(least)));
        if other.registered.profile.limit().is_some_and(|limit| limit.0 <= least) {
            return Ok(());
        }
        // The kernel may not find so much to take.
        if self.put(&other.group, limit, ledger).is_ok() {
            self.what.push(format!("{} is limited to {}", other.name, human(least as f64, "B")));
        }
        Ok(())
    }

    fn put(&mut self, group: &Group, setting: Setting, ledger: &Ledger) -> Result<(), Fault> {
        ledger.renew()?;
        let mut dial = group.leased(&setting, ledger)?;
        dial.set(&setting).map_err(|fault| match is_root() {
            true => fault,
            false => fault.remedy("run it as root: the kernel lets nobody else set this"),
        })?;
        self.set.push((dial, setting));
        Ok(())
    }
}

/// The group, the named ones that it is in, and `more` above these.
fn with_those_above(one: &Standing, more: usize) -> Vec<Group> {
    let above = |group: &Group| {
        let dirs = group.paths_by_tree().into_iter();
        Group::new(dirs.filter_map(|(tree, dir)| Some((tree, dir.parent()?.into()))).collect())
    };
    let depth = one.name.as_str().split('/').count() + more;
    std::iter::successors(Some(one.group.clone()), |group| Some(above(group))).take(depth).collect()
}
