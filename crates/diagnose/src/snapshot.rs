//! What a diagnosis is made from: the processes, and the groups between which the CPU is shared out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crosstalk_cgroup::group::Hierarchy;
use crosstalk_cgroup::process::{Process, all};

/// The processes and their groups.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The processes.
    pub processes: Vec<Process>,
    /// The groups that have a share of the CPU of their own, by their names from the tree's root.
    /// What is in any other group shares with those of the nearest group above it.
    pub shares: BTreeMap<String, Share>,
    /// Whether the tree is v2's.
    pub v2: bool,
    /// Who runs the host's services.
    pub manager: Manager,
}

/// What a group has of the CPU beside its siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Its directory.
    pub at: PathBuf,
    /// Its weight; 100 is what every group has.
    pub weight: u64,
    /// Whether it is idle; nothing where the kernel does not offer that.
    pub idle: Option<bool>,
}

/// Who runs the host's services, and so owns their groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Manager {
    /// systemd, of this version; 0 where that is unknown.
    Systemd(u32),
    /// Another one, which does not make groups.
    #[default]
    Other,
}

impl Snapshot {
    /// This host's.
    pub fn take() -> Self {
        let hierarchy = Hierarchy::here();
        let v1 = hierarchy.v1.get("cpu");
        let Some(tree) = v1.or(hierarchy.v2.as_ref()) else { return Snapshot::default() };
        let processes = all();
        let groups: BTreeSet<&str> = processes.iter().filter_map(Process::cpu_group).flat_map(line).collect();
        let share = |group: &str| Some((group.to_string(), Share::of(tree.path(Path::new(group))?)?));
        let shares = groups.into_iter().filter_map(share).collect();
        Snapshot { shares, v2: v1.is_none(), manager: Manager::here(), processes }
    }
}

impl Share {
    /// That of the group in this directory; none where the group has no share of its own, since v2's
    /// controller is not enabled for it.
    fn of(at: PathBuf) -> Option<Self> {
        let read = |file: &str| Some(fs::read_to_string(at.join(file)).ok()?.trim().to_string());
        let number = |file: &str| read(file)?.parse::<u64>().ok();
        let weight = number("cpu.weight").or_else(|| Some(number("cpu.shares")?.saturating_mul(100) / 1024));
        let idle = read("cpu.idle").map(|text| text == "1");
        Some(Share { weight: weight?, idle, at })
    }

    /// Whether what is in it yields to what stands beside it.
    pub fn yields(&self) -> bool {
        /// A weight that is as good as none.
        const SMALL: u64 = 2;
        self.idle == Some(true) || self.weight <= SMALL
    }
}

impl Manager {
    fn here() -> Self {
        if !Path::new("/run/systemd/system").exists() {
            return Manager::Other;
        }
        let output = Command::new("systemctl").arg("--version").output();
        Manager::Systemd(output.map_or(0, |output| version(&String::from_utf8_lossy(&output.stdout))))
    }
}

/// The version that `systemctl --version` prints first: `systemd 252 (252.22-1~deb12u1)`.
fn version(text: &str) -> u32 {
    let word = text.split_whitespace().nth(1).unwrap_or_default();
    word.split(|c: char| !c.is_ascii_digit()).next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The group and those above it, the top left out, from the highest.
pub(super) fn line(group: &str) -> Vec<&str> {
    let mut above: Vec<&str> = Path::new(group)
        .ancestors()
        .filter_map(Path::to_str)
        .filter(|group| *group != "/" && !group.is_empty())
        .collect();
    above.reverse();
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(files: &[(&str, &str)]) -> Option<Share> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (file, text) in files {
            fs::write(folder.path().join(file), text).expect("writes");
        }
        Share::of(folder.path().to_path_buf())
    }

    #[test]
    fn a_group_without_the_controller_has_no_share_of_its_own() {
        assert_eq!(share(&[("cgroup.procs", "7\n")]), None);
        let v2 = share(&[("cpu.weight", "50\n"), ("cpu.idle", "0\n")]).expect("has one");
        assert_eq!((v2.weight, v2.idle, v2.yields()), (50, Some(false), false));
        let v1 = share(&[("cpu.shares", "1024\n")]).expect("has one");
        assert_eq!((v1.weight, v1.idle, v1.yields()), (100, None, false));
        assert!(share(&[("cpu.shares", "2\n")]).is_some_and(|share| share.yields()));
        assert!(share(&[("cpu.weight", "100"), ("cpu.idle", "1\n")]).is_some_and(|share| share.yields()));
    }

    #[test]
    fn systemd_prints_its_version_first() {
        assert_eq!(version("systemd 252 (252.22-1~deb12u1)\n+PAM +AUDIT\n"), 252);
        assert_eq!(version("systemd 249.11-0ubuntu3"), 249);
        assert_eq!((version(""), version("systemd v")), (0, 0));
    }

    #[test]
    fn this_host_can_be_looked_at() {
        let snapshot = Snapshot::take();
        if snapshot.processes.is_empty() {
            eprintln!("skipped: no control groups here");
            return;
        }
        assert!(snapshot.processes.iter().any(|process| process.pid == std::process::id()));
        super::super::diagnose(&snapshot);
    }
}
