//! The one group in each tree that all groups stand in, `crosstalk-groups`: where it is, and making it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crosstalk_cgroup::group::{
    Group, Hierarchy, Location, Reach, Setting, enable, keep_within, memory_limit,
};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::allowed;
use crosstalk_host::ledger::Knob;

use crate::budget::{Protection, Protections};
use crate::contents::{Contents, Manager};
use crate::machine::Machine;
use crate::profile::weight;
use crate::systemd::{self, Systemd};

/// The name of the parents.
const NAME: &str = "crosstalk-groups";
/// The trees in which groups stand: v2, and controllers of v1 that account for CPU time or memory, or count processes.
/// Each tree takes its time whenever a program starts in a group.
const TREES: [&str; 5] = ["", "cpu", "cpuacct", "memory", "pids"];

/// Where the parents are, or are to be.
#[derive(Debug, PartialEq, Eq)]
pub struct Site {
    /// The parents. That of v2 is missing as long as a service manager is to make it.
    parents: BTreeMap<String, PathBuf>,
    /// The groups that the parents stand in.
    above: BTreeMap<String, PathBuf>,
    /// Who makes the parent of v2, if this program does not.
    pub manager: Option<Manager>,
}

impl Site {
    /// Those that the registry names if they exist, else those that this host allows. `booted`: systemd runs it.
    ///
    /// # Errors
    /// If this user may make no groups, with the reason.
    pub fn find(
        registered: &Contents,
        hierarchy: &Hierarchy,
        may_write: &dyn Fn(&Path) -> bool,
        booted: bool,
    ) -> Result<Site, Fault> {
        if registered.parent().exists() {
            let above = |(tree, dir): (&String, &PathBuf)| Some((tree.clone(), dir.parent()?.into()));
            return Ok(Site {
                parents: registered.parents.clone(),
                above: registered.parents.iter().filter_map(above).collect(),
                manager: registered.manager,
            });
        }
        let Location { parents: mut above, reach } = Location::find(hierarchy, may_write)?;
        above.retain(|tree, _| TREES.contains(&tree.as_str()));
        // Beside v1's controllers, the tree of v2 has none that systemd would set.
        let owned = above.contains_key("") && !hierarchy.v1.contains_key("cpu");
        let manager = match reach {
            _ if !owned => None,
            Reach::Everybody => booted.then_some(Manager::System),
            Reach::User => Some(Manager::User),
        };
        let ours = above.iter().filter(|(tree, _)| manager.is_none() || !tree.is_empty());
        let parents = ours.map(|(tree, dir)| (tree.clone(), dir.join(NAME))).collect();
        Ok(Site { parents, above, manager })
    }

    /// What groups can have together: this machine's, unless a control group that they stand in has less. Parents that
    /// are to be made get the limits of this process ([`Site::build`]).
    pub fn machine(&self, hierarchy: &Hierarchy) -> Machine {
        let parents = Group::new(self.parents.clone());
        let places = match parents.exists() {
            true => vec![parents],
            false if self.manager.is_some() => vec![],
            false => vec![Group::new(self.above.clone()), Group::standing(hierarchy)],
        };
        let limits = places.into_iter().filter_map(|group| {
            let dir = group.dir("memory").or(group.dir(""))?.to_path_buf();
            Some((memory_limit(&group)?, dir))
        });
        Machine::here(limits.min_by_key(|(limit, _)| limit.0))
    }

    /// Enables the controllers of v2 for the parent. A service manager does that by itself.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn enable(&self, ledger: &Ledger) -> Result<Vec<Knob>, Fault> {
        match self.above.get("") {
            Some(above) if self.manager.is_none() => enable(above, ledger),
            _ => Ok(Vec::new()),
        }
    }

    /// Has the service manager make the parent of v2, if that is to. Returns the parents, which need not exist yet.
    ///
    /// # Errors
    /// If the service manager refuses.
    pub fn name(&mut self, systemd: &Systemd<'_>, hierarchy: &Hierarchy) -> Result<Group, Fault> {
        if let (Some(manager), Some(tree), false) =
            (self.manager, &hierarchy.v2, self.parents.contains_key(""))
        {
            let is_there = |group: &Path| tree.path(group).is_some_and(|dir| dir.exists());
            let group = systemd.start(manager, &is_there)?;
            let dir = tree.path(&group).ok_or_else(|| {
                Fault::environment("systemd's control group for us is not below what is mounted here")
                    .at(group.display().to_string())
            })?;
            self.parents.insert(String::new(), dir);
        }
        Ok(Group::new(self.parents.clone()))
    }

    /// Makes the parents that are missing. New ones have the weight of all processors, and no more than this process
    /// has.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn build(&self, parents: &Group, hierarchy: &Hierarchy) -> Result<(), Fault> {
        let mut is_new = false;
        for path in parents.paths() {
            match fs::create_dir(&path) {
                Ok(()) => is_new = true,
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => {
                    return Err(Fault::environment(format!("cannot create a control group: {e}"))
                        .at(path.display().to_string())
                        .remedy("run it as root"));
                }
            }
        }
        if is_new {
            keep_within(parents, &Group::standing(hierarchy))?;
            let share = Setting::Weight(whole_weight());
            if self.manager.is_none() && parents.place(&share).is_some() {
                parents.set(&share)?;
            }
        }
        parents.enable_within()
    }
}

/// Protects in groups that hold others, and in the parents, the memory of all that are in them.
///
/// # Errors
/// If the kernel or systemd refuses.
pub fn hold(contents: &Contents, protections: &Protections) -> Result<(), Fault> {
    let parents = contents.parent();
    let holders = protections.holders.iter();
    let holders = holders.map(|(holder, protection)| (parents.below(holder.as_str()), *protection));
    holders
        .filter(|(group, _)| group.exists())
        .try_for_each(|(group, protection)| set_protection(&group, protection))?;
    match contents.manager {
        Some(manager) => systemd::HERE.set(manager, whole_weight(), protections.all),
        None => set_protection(&parents, protections.all),
    }
}

/// Protects memory in a group, as far as the group offers that.
///
/// # Errors
/// If the kernel refuses.
fn set_protection(group: &Group, protection: Protection) -> Result<(), Fault> {
    let settings =
        [Setting::MemoryMin(Some(Bytes(protection.min))), Setting::MemoryLow(Some(Bytes(protection.low)))];
    settings
        .iter()
        .filter(|setting| group.place(setting).is_some())
        .try_for_each(|setting| group.set(setting))
}

/// The weight of all processors, as Kubernetes gives its pods together.
fn whole_weight() -> u32 {
    weight(allowed().len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "33 31 0:30 / /c/cpu rw - cgroup cgroup rw,cpu\n34 31 0:31 / /c/cpuset rw - cgroup cgroup rw,cpuset\n\
                      35 31 0:32 / /c/memory rw - cgroup cgroup rw,memory\n36 31 0:33 / /c/unified rw - cgroup2 cgroup2 rw";
    const V2: &str = "35 24 0:30 / /c rw - cgroup2 cgroup2 rw";

    fn find(mounts: &str, groups: &str, booted: bool) -> Site {
        let hierarchy = Hierarchy::parse(mounts, groups);
        Site::find(&Contents::default(), &hierarchy, &|_| true, booted).expect("root may")
    }

    fn dirs(of: &[(&str, &str)]) -> BTreeMap<String, PathBuf> {
        of.iter().map(|(tree, dir)| (tree.to_string(), PathBuf::from(dir))).collect()
    }

    #[test]
    fn on_v1_and_hybrid_hosts_they_stand_in_trees_that_account() {
        let site = find(V1, "4:cpu:/a\n3:memory:/m\n0::/u", true);
        let expected = [
            ("", "/c/unified/crosstalk-groups"),
            ("cpu", "/c/cpu/crosstalk-groups"),
            ("memory", "/c/memory/m/crosstalk-groups"),
        ];
        assert_eq!((site.parents, site.manager), (dirs(&expected), None), "not in that of cpuset");
    }

    #[test]
    fn on_v2_systemd_makes_them_where_it_runs() {
        assert_eq!(find(V2, "0::/", false).parents, dirs(&[("", "/c/crosstalk-groups")]));
        let site = find(V2, "0::/", true);
        assert_eq!((site.manager, site.parents.len()), (Some(Manager::System), 0));
        let own = "/user.slice/user-7.slice/user@7.service";
        let hierarchy = Hierarchy::parse(V2, &format!("0::{own}/app.slice/x.scope"));
        let may = |path: &Path| path.ends_with("user@7.service");
        let site = Site::find(&Contents::default(), &hierarchy, &may, true).expect("is delegated");
        assert_eq!(site.manager, Some(Manager::User));
    }

    #[test]
    fn those_that_are_registered_count_while_they_exist() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let parent = folder.path().join(NAME);
        let parents = BTreeMap::from([("memory".to_string(), parent.clone())]);
        let registered = Contents { parents: parents.clone(), ..Contents::default() };
        let hierarchy = Hierarchy::parse(V2, "0::/");
        let find = || Site::find(&registered, &hierarchy, &|_| true, false).expect("root may");
        assert_eq!(find().parents, dirs(&[("", "/c/crosstalk-groups")]), "they are gone");
        fs::create_dir(&parent).expect("makes");
        let site = find();
        assert_eq!(site.parents, parents);
        assert_eq!(site.above, BTreeMap::from([("memory".to_string(), folder.path().to_path_buf())]));
    }

    #[test]
    fn memory_is_the_machines_or_what_is_allowed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let site = Site {
            parents: BTreeMap::new(),
            above: BTreeMap::from([("memory".into(), folder.path().into())]),
            manager: None,
        };
        let machine = || site.machine(&Hierarchy::default());
        assert_eq!(machine().within, None);
        fs::write(folder.path().join("cgroup.procs"), "").expect("writes");
        fs::write(folder.path().join("memory.limit_in_bytes"), "1048576\n").expect("writes");
        assert_eq!((machine().memory, machine().within.as_deref()), (Bytes(1 << 20), Some(folder.path())));
    }

    #[test]
    fn parents_that_exist_are_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let parents = BTreeMap::from([("cpu".to_string(), folder.path().join(NAME))]);
        let site = Site { parents: parents.clone(), above: BTreeMap::new(), manager: None };
        let (group, hierarchy) = (Group::new(parents), Hierarchy::default());
        site.build(&group, &hierarchy).expect("makes");
        assert!(group.is_whole());
        site.build(&group, &hierarchy).expect("exists already");
    }

    #[test]
    fn protection_is_set_where_it_is_offered() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let group = Group::new(BTreeMap::from([(String::new(), folder.path().to_path_buf())]));
        set_protection(&group, Protection { min: 1, low: 2 }).expect("v1 has none");
        fs::write(folder.path().join("memory.low"), "").expect("writes");
        set_protection(&group, Protection { min: 1, low: 2 }).expect("is offered");
        assert_eq!(fs::read_to_string(folder.path().join("memory.low")).expect("reads"), "2");
    }
}
