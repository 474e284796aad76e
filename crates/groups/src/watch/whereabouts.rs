//! Where a process is: in a named group, where it may be taken from, or in a unit, a container or another's group,
//! where it stays.
//!
//! A process may be taken from the root of a tree, from the watcher's own group, and from a login session of systemd:
//!
//! - `/user.slice` and `/user.slice/user-N.slice`,
//! - `/user.slice/user-N.slice/session-X.scope`,
//! - scopes that the user's service manager makes for programs of a desktop: `…/user@N.service/app.slice/…/X.scope`.
//!
//! It is never taken from other units: services of the system and of users, their managers' `init.scope`, machines,
//! containers (also those of users), and scopes of `systemd-run`, whose limits somebody has chosen.
//! Sources: proc_pid_cgroup(5); systemd's "Control Group APIs and Delegation", systemd.special(7), pam_systemd(8).

use std::path::{Path, PathBuf};

use crosstalk_cgroup::group::{Group, Hierarchy, Tree};

/// Where a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// In a named group.
    Grouped,
    /// Where it may be taken from.
    Free,
    /// Where it stays: the group that says so.
    Kept(String),
}

/// What is known of the trees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trees {
    /// For each tree: its controllers as `/proc/PID/cgroup` has them, and the path of a parent of named groups, with a
    /// slash behind it. A tree may have several, of different registries.
    parents: Vec<(String, String)>,
    /// The same of the groups that the watcher itself is in, without a slash.
    own: Vec<(String, String)>,
    /// The tree of version 2.
    unified: Option<Tree>,
}

impl Trees {
    /// Those of this host. `parents` are the groups that named groups stand in. `cgroup` is what `/proc/self/cgroup`
    /// says.
    pub fn new(hierarchy: &Hierarchy, cgroup: &str, parents: &[Group]) -> Self {
        let own: Vec<(String, String)> =
            lines(cgroup).map(|(tree, path)| (tree.to_string(), path.to_string())).collect();
        let column = |controller: &str| {
            let is_it = |tree: &str| tree.split(',').any(|name| name == controller);
            own.iter().find(|(tree, _)| is_it(tree)).map(|(tree, _)| tree.clone())
        };
        let of = |parent: &Group| {
            let dirs = parent.paths_by_tree().into_iter();
            let path = |(controller, dir): (String, PathBuf)| {
                let tree = if controller.is_empty() {
                    hierarchy.v2.as_ref()?
                } else {
                    hierarchy.v1.get(&controller)?
                };
                Some((column(&controller)?, format!("{}/", name_in(tree, &dir)?)))
            };
            dirs.filter_map(path).collect::<Vec<_>>()
        };
        Trees { parents: parents.iter().flat_map(of).collect(), own, unified: hierarchy.v2.clone() }
    }

    /// The directory in the tree of version 2 of the named group that the process is in there.
    pub fn unified(&self, cgroup: &str) -> Option<PathBuf> {
        let (_, path) = lines(cgroup).find(|(tree, path)| tree.is_empty() && self.is_grouped(tree, path))?;
        self.unified.as_ref()?.path(Path::new(path))
    }

    fn is_grouped(&self, tree: &str, path: &str) -> bool {
        self.parents.iter().any(|(of, parent)| of == tree && path.starts_with(parent.as_str()))
    }

    /// Where the process is whose `cgroup` file says that.
    pub fn whereabouts(&self, cgroup: &str) -> Whereabouts {
        if lines(cgroup).any(|(tree, path)| self.is_grouped(tree, path)) {
            return Whereabouts::Grouped;
        }
        let is_own = |tree: &str, path: &str| self.own.iter().any(|(of, own)| of == tree && own == path);
        match lines(cgroup).find(|(tree, path)| !is_own(tree, path) && !is_open(path)) {
            Some((_, path)) => Whereabouts::Kept(path.into()),
            None => Whereabouts::Free,
        }
    }
}

/// The controllers and the path of each line. A path may contain colons.
fn lines(cgroup: &str) -> impl Iterator<Item = (&str, &str)> {
    cgroup.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'))
}

/// The path of a directory from its tree's own root.
fn name_in(tree: &Tree, dir: &Path) -> Option<String> {
    let path = tree.root.join(dir.strip_prefix(&tree.mount).ok()?);
    path.to_str().map(String::from)
}

/// Whether programs may be taken from there.
fn is_open(path: &str) -> bool {
    if path.split('/').any(is_container) {
        return false;
    }
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match (parts.next(), parts.next(), parts.next()) {
        (None, ..) => true,
        (Some("user.slice"), None, _) => true,
        (Some("user.slice"), Some(slice), below)
            if slice.starts_with("user-") && slice.ends_with(".slice") =>
        {
            match below {
                None => true,
                Some(scope) if session_of(scope).is_some() => true,
                Some(manager) if manager.starts_with("user@") && manager.ends_with(".service") => {
                    parts.next() == Some("app.slice")
                        && parts.next_back().is_some_and(is_scope_of_program)
                        && parts.all(|part| part.ends_with(".slice"))
                }
                Some(_) => false,
            }
        }
        _ => false,
    }
}

/// Whether a group is of a container, by the names that Docker, Podman and CRI-O give.
fn is_container(part: &str) -> bool {
    ["docker-", "libpod", "crio-"].iter().any(|start| part.starts_with(start))
}

/// A scope that is none of `systemd-run --user --scope`.
fn is_scope_of_program(part: &str) -> bool {
    part.ends_with(".scope") && !part.starts_with("run-")
}

/// The id of a login session, from its scope's name.
fn session_of(scope: &str) -> Option<&str> {
    scope.strip_prefix("session-")?.strip_suffix(".scope")
}

/// The login session that the process is in whose `cgroup` file says that.
pub fn session(cgroup: &str) -> Option<&str> {
    lines(cgroup).find_map(|(_, path)| {
        let mut parts = path.strip_prefix("/user.slice/user-")?.split('/').skip(1);
        session_of(parts.next()?).filter(|id| !id.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const OWN: &str = "4:memory:/box/one\n3:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n";

    fn trees() -> Trees {
        let mounts = "33 31 0:30 / /c/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 / /c/memory rw - cgroup cgroup rw,memory\n\
                      36 31 0:33 / /c/unified rw - cgroup2 cgroup2 rw";
        let hierarchy = Hierarchy::parse(mounts, OWN);
        let dirs = [
            ("", "/c/unified/crosstalk-groups"),
            ("cpu", "/c/cpu/crosstalk-groups"),
            ("memory", "/c/memory/box/one/crosstalk-groups"),
        ];
        let dirs: BTreeMap<_, _> = dirs.iter().map(|(tree, dir)| (tree.to_string(), dir.into())).collect();
        Trees::new(&hierarchy, OWN, &[Group::new(dirs)])
    }

    #[test]
    fn a_process_in_one_tree_of_a_group_is_in_it() {
        for cgroup in [
            "4:memory:/box/one/crosstalk-groups/lab\n3:cpu,cpuacct:/\n0::/\n",
            "4:memory:/\n3:cpu,cpuacct:/crosstalk-groups/lab/alice\n0::/\n",
            "4:memory:/\n0::/crosstalk-groups/a\n",
        ] {
            assert_eq!(trees().whereabouts(cgroup), Whereabouts::Grouped, "{cgroup}");
            let unified =
                cgroup.contains("0::/crosstalk-groups/a").then(|| "/c/unified/crosstalk-groups/a".into());
            assert_eq!(trees().unified(cgroup), unified, "{cgroup}");
        }
        for cgroup in
            ["4:memory:/crosstalk-groups/lab\n0::/\n", "0::/crosstalk-groups\n", "0::/crosstalk-groups-2/a\n"]
        {
            assert!(matches!(trees().whereabouts(cgroup), Whereabouts::Kept(_)), "another's: {cgroup}");
        }
    }

    #[test]
    fn login_sessions_and_roots_are_open_and_units_are_not() {
        let slice = "/user.slice/user-1000.slice";
        let open = [
            "/",
            "/user.slice",
            slice,
            &format!("{slice}/session-4.scope"),
            &format!("{slice}/session-c2.scope/deeper"),
            &format!("{slice}/user@1000.service/app.slice/app-terminal-7.scope"),
            &format!("{slice}/user@1000.service/app.slice/app-gnome.slice/app-gnome-editor-7.scope"),
        ];
        let kept = [
            "/init.scope",
            "/system.slice",
            "/system.slice/ssh.service",
            "/system.slice/docker-1.scope",
            "/machine.slice/x.scope",
            "/docker/1",
            "/kubepods/pod1/2",
            "/session-4.scope",
            &format!("{slice}/user@1000.service"),
            &format!("{slice}/user@1000.service/init.scope"),
            &format!("{slice}/user@1000.service/app.slice/syncthing.service"),
            &format!("{slice}/user@1000.service/app.slice"),
            &format!("{slice}/user@1000.service/x.service/y.scope"),
            &format!("{slice}/user@1000.service/app.slice/x.service/y.scope"),
            &format!("{slice}/user@1000.service/user.slice/docker-1.scope"),
            &format!("{slice}/user@1000.service/user.slice/libpod-1.scope"),
            &format!("{slice}/user@1000.service/user.slice/x.scope"),
            &format!("{slice}/user@1000.service/app.slice/libpod-conmon-1.scope"),
            &format!("{slice}/user@1000.service/app.slice/docker-1.scope"),
            &format!("{slice}/user@1000.service/app.slice/crio-1.scope"),
            &format!("{slice}/user@1000.service/app.slice/run-u7.scope"),
            &format!("{slice}/user@1000.service/app.slice/run-r0123.scope"),
            &format!("{slice}/session-4.scope/libpod_parent/libpod-1"),
            &format!("{slice}/other.service"),
            "/user.slice/x.service",
            "/user.slice/user-1000.slicex/session-1.scope",
        ];
        for path in open {
            assert_eq!(trees().whereabouts(&format!("0::{path}\n")), Whereabouts::Free, "{path}");
        }
        for path in kept {
            assert_eq!(trees().whereabouts(&format!("0::{path}\n")), Whereabouts::Kept(path.into()));
            let legacy = format!("4:memory:/\n1:name=systemd:{path}\n0::/\n");
            assert_eq!(trees().whereabouts(&legacy), Whereabouts::Kept(path.into()), "in any tree");
        }
        assert_eq!(trees().whereabouts(OWN), Whereabouts::Free, "beside the watcher");
        assert_eq!(trees().whereabouts("4:memory:/box/two\n"), Whereabouts::Kept("/box/two".into()));
    }

    #[test]
    fn a_session_has_an_id() {
        let cgroup = "4:memory:/\n1:name=systemd:/user.slice/user-7.slice/session-c2.scope\n";
        assert_eq!(session(cgroup), Some("c2"));
        assert_eq!(session("0::/user.slice/user-7.slice/user@7.service/session-1.scope\n"), None);
        assert_eq!(session("0::/\n"), None);
    }

    proptest! {
        #[test]
        fn no_path_below_a_service_is_open(before in "(/user.slice|/user-1.slice|/user@1.service|/x){0,4}", after in "(/session-1.scope|/a.scope)?") {
            let path = format!("{before}/some.service{after}");
            prop_assert!(!is_open(&path), "{}", path);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}|[0-9:/a-z.\n-]{0,60}") {
            trees().whereabouts(&text);
            session(&text);
        }
    }
}
