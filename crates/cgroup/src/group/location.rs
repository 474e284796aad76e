//! Where new groups may be: as high as this user may make them, since idle class and weight
//! count among siblings only. Work in a group at the top yields to everything else on the host;
//! work in a group below that of a user's session yields to that session's programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;

use super::below;
use super::hierarchy::{Hierarchy, Tree};

/// Where groups of ours stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Controller of v1, or nothing for v2 → the parent; those that are mounted together have the same.
    pub parents: BTreeMap<String, PathBuf>,
    /// Against whom work there yields.
    pub reach: Reach,
}

/// Against whose work a group's idle class and weight count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All others' on this host (or in this container).
    Everybody,
    /// That of this user's own service manager, `user@UID.service`.
    User,
}

/// Controllers of v1 that have groups for what happens within a group's parent: placed at the top,
/// they would let the work out of limits that the caller has.
const STAYS: [&str; 4] = ["memory", "blkio", "pids", "freezer"];

impl Location {
    /// Finds it. `may_write` says whether groups can be made in a folder.
    ///
    /// # Errors
    /// An environment fault that says what there is instead, and the command that works here.
    pub fn find(hierarchy: &Hierarchy, may_write: &dyn Fn(&Path) -> bool) -> Result<Location, Fault> {
        if hierarchy.trees().is_empty() {
            return Err(Fault::environment("there are no control groups here")
                .at("/proc/self/mountinfo")
                .remedy("as root: mount -t cgroup2 none /sys/fs/cgroup"));
        }
        let open = |tree: &Tree, at: &PathBuf| tree.writable && may_write(at);
        let v2 = hierarchy.v2.iter().map(|tree| (String::new(), tree));
        let trees = v2.chain(hierarchy.v1.iter().map(|(name, tree)| (name.clone(), tree)));
        let parent = |(name, tree): (String, &Tree)| {
            let stays = STAYS.contains(&name.as_str());
            let at = if stays { tree.here()? } else { tree.mount.clone() };
            open(tree, &at).then_some((name, at))
        };
        let parents: BTreeMap<String, PathBuf> = trees.filter_map(parent).collect();
        if ["", "cpu"].iter().any(|name| parents.contains_key(*name)) {
            return Ok(Location { parents, reach: Reach::Everybody });
        }
        let delegated = hierarchy.v2.as_ref().and_then(|tree| delegated(tree).filter(|at| open(tree, at)));
        if let Some(at) = delegated {
            return Ok(Location { parents: [(String::new(), at)].into(), reach: Reach::User });
        }
        Err(refused(hierarchy))
    }
}

/// Where groups of ours may be, whichever user has made them: at the tops of the trees, beside the
/// caller, and where systemd delegates to users.
pub fn anybodys(hierarchy: &Hierarchy) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for tree in hierarchy.trees() {
        places.push(tree.mount.clone());
        places.extend(tree.here());
    }
    if let Some(tree) = &hierarchy.v2 {
        places.extend(delegated(tree));
        let users = tree.mount.join("user.slice");
        let slices = below(&users).into_iter().map(|slice| users.join(slice));
        places.extend(slices.flat_map(|slice| {
            let managers = below(&slice).into_iter().map(|name| slice.join(name));
            managers.filter(|group| is_manager(group)).collect::<Vec<_>>()
        }));
    }
    places.sort();
    places.dedup();
    places
}

/// The group of the user's own service manager, if the process stands below it: what systemd
/// delegates to a user (systemd's "Control Group APIs and Delegation"). It holds no process itself.
fn delegated(tree: &Tree) -> Option<PathBuf> {
    tree.path(tree.here.as_deref()?.ancestors().find(|group| is_manager(group))?)
}

fn is_manager(group: &Path) -> bool {
    let name = group.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("user@") && name.ends_with(".service")
}

/// Why none can be made: what matters is the tree in which processors are shared out.
fn refused(hierarchy: &Hierarchy) -> Fault {
    let trees = [hierarchy.v2.as_ref(), hierarchy.v1.get("cpu")];
    let matters = trees.into_iter().flatten().next_back();
    let mount = matters.map_or("/sys/fs/cgroup".into(), |tree| tree.mount.display().to_string());
    let fault =
        |why: &str| Fault::environment(format!("cannot make control groups: {why}")).at(mount.clone());
    if matters.is_some_and(|tree| !tree.writable) {
        return fault("they are mounted for reading only").remedy(format!(
            "as root: mount -o remount,rw {mount}; in a container, start that with --cgroupns=private and \
             /sys/fs/cgroup mounted rw"
        ));
    }
    fault("they belong to root, and none above this process to you").remedy(
        "begin in one of your own: systemd-run --user --scope -p Delegate=yes bash, and again there; or as root",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    const USER: &str = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope";

    fn find(mounts: &str, foreground: &str, may: &[&str]) -> Result<Location, Fault> {
        Location::find(&Hierarchy::parse(mounts, foreground), &|path| {
            may.iter().any(|may| Path::new(may) == path)
        })
    }

    fn parents(of: &[(&str, &str)]) -> BTreeMap<String, PathBuf> {
        of.iter().map(|(name, at)| (name.to_string(), PathBuf::from(at))).collect()
    }

    #[test]
    fn root_s_stand_at_the_top() {
        let location = find(V2, "0::/user.slice/x.scope", &["/sys/fs/cgroup"]).expect("root may");
        assert_eq!(
            location,
            Location { parents: parents(&[("", "/sys/fs/cgroup")]), reach: Reach::Everybody }
        );
    }

    #[test]
    fn a_user_s_stand_below_the_user_s_manager() {
        let manager = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service";
        let location = find(V2, USER, &[manager]).expect("is delegated");
        assert_eq!(location, Location { parents: parents(&[("", manager)]), reach: Reach::User });
        let fault =
            find(V2, "0::/user.slice/user-1000.slice/session-2.scope", &[manager]).expect_err("not below");
        assert!(fault.remedy.is_some_and(|said| said.contains("systemd-run --user --scope")));
    }

    #[test]
    fn groups_of_every_user_are_looked_for_where_systemd_delegates() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for group in ["user.slice/user-7.slice/user@7.service", "user.slice/user-7.slice/session-2.scope"] {
            let path = folder.path().join(group);
            std::fs::create_dir_all(&path).expect("makes");
            for group in path.ancestors().take_while(|group| *group != folder.path()) {
                std::fs::write(group.join("cgroup.procs"), "").expect("writes");
            }
        }
        let mounts = format!("35 24 0:30 / {} rw - cgroup2 cgroup2 rw", folder.path().display());
        let places = anybodys(&Hierarchy::parse(&mounts, "0::/"));
        let manager = folder.path().join("user.slice/user-7.slice/user@7.service");
        assert_eq!(places, [folder.path().to_path_buf(), manager]);
    }

    #[test]
    fn read_only_and_missing_groups_are_said() {
        let read_only =
            find("35 24 0:30 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw", "0::/", &["/sys/fs/cgroup"]);
        assert!(read_only.expect_err("may not").message.contains("for reading only"));
        assert!(find("", "", &[]).expect_err("none").message.contains("no control groups"));
    }

    #[test]
    fn on_v1_limits_of_the_caller_s_hold_on() {
        let mounts = "33 31 0:30 / /c/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 / /c/memory rw - cgroup cgroup rw,memory";
        let location =
            find(mounts, "4:cpu,cpuacct:/a\n3:memory:/m", &["/c/cpu,cpuacct", "/c/memory/m"]).expect("may");
        let cpu = "/c/cpu,cpuacct";
        assert_eq!(location.parents, parents(&[("cpu", cpu), ("cpuacct", cpu), ("memory", "/c/memory/m")]));
        let only_memory = find(mounts, "4:cpu,cpuacct:/a\n3:memory:/m", &["/c/memory/m"]);
        assert!(only_memory.is_err(), "without the CPU's nothing yields");
    }
}
