//! What a group may have, by profiles that are named as Kubernetes' quality-of-service classes.
//!
//! | profile | memory | CPU |
//! |---|---|---|
//! | `guaranteed` | protected, and limited to the same | weight and quota |
//! | `burstable` | a request is protected; a limit may be above it | weight |
//! | `besteffort` | not protected: taken first | idle class, else the least weight |
//!
//! Sources: Kubernetes' "Pod Quality of Service Classes" and its KEP 2570 (requests are `memory.min`); here only a
//! guaranteed request is `memory.min`, and a burstable one is `memory.low`.

use crosstalk_cgroup::group::{Group, Setting};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use serde::{Deserialize, Serialize};

/// The weight that one processor's worth of requests has: what groups have by default.
const WEIGHT: f64 = 100.0;

/// What the kernel gives a new group.
const NEW: Profile = Profile::Burstable { memory: None, limit: None, cpus: None };

/// A profile with what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "profile", rename_all = "lowercase")]
pub enum Profile {
    /// Memory that is the group's own, and all that it gets.
    Guaranteed {
        /// Protected, and the limit.
        memory: Bytes,
        /// Processors: its share, and all that it gets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpus: Option<f64>,
    },
    /// Memory that the group has if it is there, and more if nobody else needs it.
    Burstable {
        /// Protected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<Bytes>,
        /// Never exceeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Bytes>,
        /// Processors: its share beside others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpus: Option<f64>,
    },
    /// What others leave.
    BestEffort {
        /// Never exceeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Bytes>,
    },
}

impl Profile {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Profile::Guaranteed { .. } => "guaranteed",
            Profile::Burstable { .. } => "burstable",
            Profile::BestEffort { .. } => "besteffort",
        }
    }

    /// Memory that nobody takes from it.
    pub fn guaranteed(&self) -> Option<Bytes> {
        match self {
            Profile::Guaranteed { memory, .. } => Some(*memory),
            _ => None,
        }
    }

    /// Memory that is taken from it only if nothing unprotected is left.
    pub fn requested(&self) -> Option<Bytes> {
        match self {
            Profile::Burstable { memory, .. } => *memory,
            _ => None,
        }
    }

    /// Memory that it never exceeds.
    pub fn limit(&self) -> Option<Bytes> {
        match self {
            Profile::Guaranteed { memory, .. } => Some(*memory),
            Profile::Burstable { limit, .. } | Profile::BestEffort { limit } => *limit,
        }
    }

    /// Processors that it requests.
    pub fn cpus(&self) -> Option<f64> {
        match self {
            Profile::Guaranteed { cpus, .. } | Profile::Burstable { cpus, .. } => *cpus,
            Profile::BestEffort { .. } => None,
        }
    }

    /// Sets a new group as the profile says. Memory that is not offered to be protected is no error: see
    /// [`Profile::shortfall`].
    ///
    /// # Errors
    /// If the host does not offer another setting, or refuses it.
    pub fn apply(&self, group: &Group) -> Result<(), Fault> {
        self.changes(&NEW, group).iter().try_for_each(|setting| match (setting, group.set(setting)) {
            // A device without shares has none to give: nothing is lost.
            (Setting::IoWeight(_), Err(_)) => Ok(()),
            (_, done) => done,
        })
    }

    /// What is to be set in a group that had another profile, in this order. Some of it may be set already.
    pub fn changes(&self, before: &Profile, group: &Group) -> Vec<Setting> {
        let has_idle_class = group.place(&Setting::Idle(true)).is_some();
        let (new, before) = (NEW.settings(has_idle_class), before.settings(has_idle_class));
        let is_optional = |setting: &Setting| {
            matches!(setting, Setting::MemoryMin(_) | Setting::MemoryLow(_) | Setting::IoWeight(_))
        };
        let mut changes = self.settings(has_idle_class);
        changes.retain(|setting| !(new.contains(setting) && before.contains(setting)));
        changes.retain(|setting| !is_optional(setting) || group.place(setting).is_some());
        changes
    }

    /// All that a group of this profile has, unless something else has set it, on a host with or without an idle class.
    fn settings(&self, has_idle_class: bool) -> Vec<Setting> {
        let yields = matches!(self, Profile::BestEffort { .. });
        let quota = match self {
            Profile::Guaranteed { cpus, .. } => *cpus,
            Profile::Burstable { .. } | Profile::BestEffort { .. } => None,
        };
        // Without the idle class, the least weight is what comes nearest to it. With it, there is no weight.
        let weight = match self.cpus() {
            _ if yields => 1,
            cpus => weight(cpus.unwrap_or(1.0)),
        };
        let settings = [
            Some(Setting::MemoryMax(self.limit())),
            Some(Setting::MemoryMin(self.guaranteed())),
            Some(Setting::MemoryLow(self.requested())),
            has_idle_class.then_some(Setting::Idle(yields)),
            (!(yields && has_idle_class)).then_some(Setting::Weight(weight)),
            Some(Setting::Quota(quota)),
            Some(Setting::IoWeight(if yields { 1 } else { 100 })),
        ];
        settings.into_iter().flatten().collect()
    }

    /// What of the profile this host cannot give to such a group, in one line.
    pub fn shortfall(&self, group: &Group) -> Option<String> {
        let (setting, file) = match self {
            Profile::Guaranteed { .. } => (Setting::MemoryMin(None), "memory.min"),
            Profile::Burstable { memory: Some(_), .. } => (Setting::MemoryLow(None), "memory.low"),
            _ => return None,
        };
        if group.place(&setting).is_some() {
            return None;
        }
        let why = match group.dir("memory") {
            Some(_) => format!("v1 has no {file}"),
            None => format!("this host's groups have no {file}"),
        };
        Some(match self.limit() {
            Some(_) => format!("memory is limited but not protected: {why}"),
            None => format!("memory is neither protected nor limited: {why} (to limit it: --memory-limit)"),
        })
    }
}

/// The weight of so many processors: their sum over all groups of a full machine is what that has.
pub fn weight(cpus: f64) -> u32 {
    (cpus * WEIGHT).round().clamp(1.0, 10_000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{ProfileKind, ProfileRequest};
    use std::collections::BTreeMap;
    use std::fs;

    const MIB: u64 = 1 << 20;

    fn request(kind: ProfileKind) -> ProfileRequest {
        ProfileRequest { kind, ..ProfileRequest::default() }
    }

    /// A group of plain files: controller of v1, or nothing for v2, and its files.
    fn pretended(trees: &[(&str, &[&str])]) -> (tempfile::TempDir, Group) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut dirs = BTreeMap::new();
        for (tree, files) in trees {
            let dir = folder.path().join(format!("tree-{tree}"));
            fs::create_dir(&dir).expect("makes");
            files.iter().for_each(|file| fs::write(dir.join(file), "").expect("writes"));
            dirs.insert((*tree).to_string(), dir);
        }
        (folder, Group::new(dirs))
    }

    const V2: &[(&str, &[&str])] =
        &[("", &["memory.min", "memory.low", "memory.max", "cpu.weight", "cpu.max", "cpu.idle"])];
    const V1: &[(&str, &[&str])] =
        &[("cpu", &["cpu.shares", "cpu.cfs_quota_us"]), ("memory", &["memory.limit_in_bytes"])];

    fn read(folder: &tempfile::TempDir, file: &str) -> String {
        fs::read_to_string(folder.path().join(file)).expect("reads")
    }

    #[test]
    fn guaranteed_memory_is_protected_and_limited_to_the_same() {
        let request = ProfileRequest {
            memory: Some(Bytes(64 * MIB)),
            cpus: Some(0.5),
            ..request(ProfileKind::Guaranteed)
        };
        let profile = Profile::try_from(request).expect("is whole");
        let (folder, group) = pretended(V2);
        profile.apply(&group).expect("is offered");
        let bytes = (64 * MIB).to_string();
        let files = ["memory.min", "memory.max", "cpu.weight", "cpu.max", "memory.low"];
        let found = files.map(|file| read(&folder, &format!("tree-/{file}")));
        assert_eq!(found, [bytes.as_str(), &bytes, "50", "50000 100000", ""]);
        assert_eq!(profile.shortfall(&group), None);
    }

    #[test]
    fn v1_limits_and_says_that_it_does_not_protect() {
        let (folder, group) = pretended(V1);
        let memory = Some(Bytes(64 * MIB));
        let guaranteed = ProfileRequest { memory, cpus: Some(2.0), ..request(ProfileKind::Guaranteed) };
        let profile = Profile::try_from(guaranteed).expect("is whole");
        profile.apply(&group).expect("is offered");
        assert_eq!(read(&folder, "tree-memory/memory.limit_in_bytes"), (64 * MIB).to_string());
        assert_eq!(read(&folder, "tree-cpu/cpu.shares"), "2048");
        assert_eq!(read(&folder, "tree-cpu/cpu.cfs_quota_us"), "200000");
        let said = profile.shortfall(&group).expect("it is reported");
        assert_eq!(said, "memory is limited but not protected: v1 has no memory.min");
        let burstable = ProfileRequest { memory, ..ProfileRequest::default() };
        let said = Profile::try_from(burstable).expect("is whole").shortfall(&group).expect("it is reported");
        assert!(said.starts_with("memory is neither protected nor limited: v1 has no memory.low"), "{said}");
        let default = Profile::try_from(ProfileRequest::default()).expect("is whole");
        assert_eq!(default.shortfall(&group), None, "nothing was requested");
        let (_folder, bare) = pretended(&[("", &["cpu.weight"])]);
        let said = Profile::try_from(burstable).expect("is whole").shortfall(&bare).expect("it is reported");
        assert!(said.contains("this host's groups have no memory.low"), "{said}");
    }

    #[test]
    fn besteffort_is_idle_or_has_the_least_weight() {
        let profile = Profile::try_from(request(ProfileKind::BestEffort)).expect("needs nothing");
        let (folder, group) = pretended(V2);
        profile.apply(&group).expect("is offered");
        assert_eq!(read(&folder, "tree-/cpu.idle"), "1");
        let (folder, group) = pretended(V1);
        profile.apply(&group).expect("is offered");
        assert_eq!(read(&folder, "tree-cpu/cpu.shares"), "10");
    }

    #[test]
    fn a_change_sets_what_the_other_profile_had_set() {
        let memory = Bytes(64 * MIB);
        let (folder, group) = pretended(V2);
        let guaranteed = Profile::Guaranteed { memory, cpus: Some(0.5) };
        let limited = Profile::Burstable { memory: None, limit: Some(memory), cpus: None };
        let rest = Profile::BestEffort { limit: None };
        use Setting::{Idle, MemoryLow, MemoryMax, MemoryMin, Quota, Weight};
        let some = Some(memory);
        assert_eq!(limited.changes(&NEW, &group), [MemoryMax(some)]);
        assert_eq!(
            limited.changes(&guaranteed, &group),
            [MemoryMax(some), MemoryMin(None), Weight(100), Quota(None)]
        );
        assert_eq!(rest.changes(&limited, &group), [MemoryMax(None), Idle(true)]);
        assert_eq!(NEW.changes(&rest, &group), [Idle(false), Weight(100)], "in this order");
        let low = Profile::Burstable { memory: some, limit: None, cpus: None };
        assert_eq!(low.changes(&low, &group), [MemoryLow(some)], "something else may have set it");
        drop(folder);
        let (_folder, group) = pretended(V1);
        assert_eq!(low.changes(&guaranteed, &group), [MemoryMax(None), Weight(100), Quota(None)]);
    }

    #[test]
    fn a_missing_controller_is_a_fault_with_a_remedy() {
        let (_folder, group) = pretended(&[("cpu", &["cpu.shares"])]);
        let limit = Some(Bytes(MIB));
        let profile =
            Profile::try_from(ProfileRequest { limit, ..ProfileRequest::default() }).expect("is whole");
        let fault = profile.apply(&group).expect_err("there is no memory controller");
        assert!(fault.message.contains("a memory limit") && fault.remedy.is_some(), "{fault}");
    }

    #[test]
    fn weights_are_those_of_processors() {
        assert_eq!([1.0, 0.001, 2.5, 1e6].map(weight), [100, 1, 250, 10_000]);
    }
}
