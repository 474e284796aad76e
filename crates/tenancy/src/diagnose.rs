//! The diagnosis that nobody tells: work that was made nice so that it disturbs nobody, but stands in
//! a group of its own, where nice does nothing.
//!
//! A nice value shares the CPU out among the processes of one group. Between groups only the groups'
//! weights count (sched-design-CFS.rst), so that a service of nice 19 has as much as all of a user's
//! programs together; measured with one spinner on each side: 50 to 50. It is mended where the two
//! trees meet: the group there must be idle, or of little weight.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crosstalk_core::need::Need;

use crate::boinc::is_client;
use crate::group::Hierarchy;
use crate::process::{Process, all};

/// A nice value from which work is meant to give way.
const NICE: i32 = 10;
/// Work that has used less CPU time than this is not worth a word: 10 s, in ticks.
const HEAVY: u64 = 1000;

/// What a diagnosis is made from.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The processes.
    pub processes: Vec<Process>,
    /// Where the tree that shares the CPU out is mounted.
    pub mount: String,
    /// Whether that is v2's.
    pub v2: bool,
    /// Groups that are idle already, from the tree's root.
    pub idle: BTreeSet<String>,
    /// Groups' weights, where they are not those that every group has (100): from the tree's root.
    pub weights: BTreeMap<String, u64>,
    /// Whether systemd runs the host.
    pub systemd: bool,
}

/// A weight that is as good as none.
const SMALL: u64 = 2;

impl Snapshot {
    /// This host's.
    pub fn take() -> Self {
        let hierarchy = Hierarchy::here();
        let v1 = hierarchy.v1.get("cpu");
        let Some(tree) = v1.or(hierarchy.v2.as_ref()) else { return Snapshot::default() };
        let processes = all();
        let mut snapshot = Snapshot {
            mount: tree.mount.display().to_string(),
            v2: v1.is_none(),
            systemd: Path::new("/run/systemd/system").exists(),
            ..Snapshot::default()
        };
        let groups: BTreeSet<String> = processes
            .iter()
            .filter_map(Process::cpu_group)
            .flat_map(|group| line(group).into_iter().map(String::from))
            .collect();
        for group in groups {
            let Some(path) = tree.path(Path::new(&group)) else { continue };
            let read =
                |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default().trim().to_string();
            if read("cpu.idle") == "1" {
                snapshot.idle.insert(group.clone());
            }
            let weight = read("cpu.weight").parse().ok();
            let shares = || read("cpu.shares").parse().ok().map(|shares: u64| shares * 100 / 1024);
            if let Some(weight) = weight.or_else(shares).filter(|weight| *weight != 100) {
                snapshot.weights.insert(group, weight);
            }
        }
        snapshot.processes = processes;
        snapshot
    }
}

/// The group and those above it, the top left out, from the highest.
fn line(group: &str) -> Vec<&str> {
    let mut above: Vec<&str> = Path::new(group)
        .ancestors()
        .filter_map(Path::to_str)
        .filter(|group| *group != "/" && !group.is_empty())
        .collect();
    above.reverse();
    above
}

/// What is wrong, and the line that mends it; what is right, where there is external work; nothing
/// where there is none.
pub fn diagnose(snapshot: &Snapshot) -> Vec<Need> {
    let meant = |process: &&Process| {
        let boinc = is_client(process);
        boinc || (process.ticks >= HEAVY && (process.nice >= NICE || process.idle_class))
    };
    // By group: what stands in one is in the same position.
    let mut groups: BTreeMap<&str, Vec<&Process>> = BTreeMap::new();
    for process in snapshot.processes.iter().filter(meant) {
        if let Some(group) = process.cpu_group() {
            groups.entry(group).or_default().push(process);
        }
    }
    groups.into_iter().filter_map(|(group, members)| judge(snapshot, group, &members)).collect()
}

fn judge(snapshot: &Snapshot, group: &str, members: &[&Process]) -> Option<Need> {
    let boinc = members.iter().find(|process| is_client(process));
    let first = boinc.or_else(|| members.iter().max_by_key(|process| process.ticks))?;
    let name =
        if boinc.is_some() { "BOINC".to_string() } else { format!("{} (process {})", first.name, first.pid) };
    let what = format!("external work {name}");
    let line = line(group);
    let gives_way = |group: &str| {
        snapshot.idle.contains(group) || snapshot.weights.get(group).is_some_and(|weight| *weight <= SMALL)
    };
    // It competes at each level with what else stands there; the highest is the one with most.
    let Some(top) = line.first() else {
        // At the top, beside everybody's programs: there, nice does what it should.
        return Some(Need::found(what, "shares its group with own work, where its nice value counts"));
    };
    if gives_way(top) {
        return Some(Need::found(
            what,
            format!("gives way: its group {top} is idle, or of the least weight"),
        ));
    }
    let beside = own_beside(snapshot, top);
    if beside == 0 {
        return Some(Need::found(
            what,
            format!("stands in one group with all others ({top}), where its nice value counts"),
        ));
    }
    let consequence = format!(
        "it is nice ({}), but that counts within its group only. It stands in {group}, and {top} has as much of the CPU \
         as everything in any group beside it: one of its threads takes half of a core from one of yours",
        if first.idle_class { "idle class".into() } else { first.nice.to_string() },
    );
    Some(Need::missing(what, consequence, remedy(snapshot, group, top, members)))
}

/// Whether nobody else's processes are in a group or below it. What stands in a service with them is
/// theirs: its helpers, which are not busy themselves.
fn only(snapshot: &Snapshot, group: &str, members: &[&Process]) -> bool {
    let theirs = |process: &Process| {
        members.iter().any(|member| {
            let service = member.cpu_group().is_some_and(|group| group.ends_with(".service"));
            member.pid == process.pid || service && member.cpu_group() == process.cpu_group()
        })
    };
    let inside = |process: &&Process| process.cpu_group().is_some_and(|of| Path::new(of).starts_with(group));
    snapshot.processes.iter().filter(inside).all(theirs)
}

/// How many processes stand outside of a group.
fn own_beside(snapshot: &Snapshot, group: &str) -> usize {
    let outside =
        |process: &&Process| process.cpu_group().is_some_and(|of| !Path::new(of).starts_with(group));
    snapshot.processes.iter().filter(outside).count()
}

/// The one line.
fn remedy(snapshot: &Snapshot, group: &str, top: &str, members: &[&Process]) -> String {
    let unit = group.rsplit('/').next().unwrap_or_default();
    let alone = only(snapshot, top, members);
    if snapshot.systemd && unit.ends_with(".service") && group.starts_with("/system.slice/") {
        // Its slice holds own services, too, and cannot be idle: it needs one of its own.
        return format!(
            "sudo sh -c 'd=/etc/systemd/system/{unit}.d; mkdir -p $d; printf \"[Service]\\nSlice=external.slice\\n\" \
             > $d/external.conf; systemctl daemon-reload; systemctl set-property external.slice CPUWeight=idle; \
             systemctl restart {unit}'"
        );
    }
    if alone && snapshot.systemd && snapshot.v2 && top.ends_with(".slice") {
        return format!("sudo systemctl set-property {} CPUWeight=idle", top.trim_start_matches('/'));
    }
    if alone {
        return format!("echo 1 | sudo tee {}{top}/cpu.idle", snapshot.mount);
    }
    let first = members.first().map_or(0, |process| process.pid);
    format!("sudo crosstalk guard --pid {first}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::need::NeedState;
    use proptest::prelude::*;

    fn process(pid: u32, name: &str, nice: i32, group: &str) -> Process {
        Process {
            pid,
            name: name.into(),
            nice,
            ticks: 5000,
            groups: format!("0::{group}"),
            ..Process::default()
        }
    }

    /// Debian's service, as it is packaged, beside a login and another service.
    fn packaged() -> Snapshot {
        Snapshot {
            processes: vec![
                process(1, "systemd", 0, "/init.scope"),
                process(7, "boinc", 10, "/system.slice/boinc-client.service"),
                process(8, "setiathome", 19, "/system.slice/boinc-client.service"),
                process(9, "mariadbd", 0, "/system.slice/mariadb.service"),
                process(10, "bash", 0, "/user.slice/user-1000.slice/session-2.scope"),
            ],
            mount: "/sys/fs/cgroup".into(),
            v2: true,
            systemd: true,
            ..Snapshot::default()
        }
    }

    fn remedy_of(need: &Need) -> &str {
        match &need.state {
            NeedState::Missing { remedy, .. } => remedy.as_deref().expect("something mends it"),
            NeedState::Found { detail } => panic!("found: {detail}"),
        }
    }

    #[test]
    fn the_packaged_service_is_found_where_nice_does_nothing() {
        let found = diagnose(&packaged());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].what, "external work BOINC");
        let NeedState::Missing { consequence, .. } = &found[0].state else { panic!("not found") };
        let remedy = remedy_of(&found[0]);
        assert!(
            consequence.contains("within its group only")
                && consequence.contains("/system.slice has as much")
        );
        assert!(
            remedy.contains("boinc-client.service.d")
                && remedy.contains("CPUWeight=idle")
                && !remedy.contains('\n')
        );
    }

    #[test]
    fn once_it_is_mended_nothing_is_wrong() {
        let mut snapshot = packaged();
        for process in &mut snapshot.processes[1..3] {
            process.groups = "0::/external.slice/boinc-client.service".into();
        }
        snapshot.idle.insert("/external.slice".into());
        let found = diagnose(&snapshot);
        assert!(found.len() == 1 && found[0].is_found(), "{found:?}");
    }

    #[test]
    fn an_idle_service_in_a_slice_with_others_still_competes() {
        let mut snapshot = packaged();
        snapshot.idle.insert("/system.slice/boinc-client.service".into());
        assert!(!diagnose(&snapshot)[0].is_found(), "its slice has all of its weight");
    }

    #[test]
    fn a_group_that_it_has_to_itself_is_made_idle() {
        let mut snapshot = packaged();
        snapshot.processes[1].groups = "3:cpu,cpuacct:/batch\n".into();
        snapshot.processes[2].groups = "3:cpu,cpuacct:/batch\n".into();
        (snapshot.systemd, snapshot.mount) = (false, "/sys/fs/cgroup/cpu".into());
        assert_eq!(remedy_of(&diagnose(&snapshot)[0]), "echo 1 | sudo tee /sys/fs/cgroup/cpu/batch/cpu.idle");
    }

    #[test]
    fn any_nice_work_in_a_group_with_others_can_be_guarded() {
        let mut snapshot = packaged();
        snapshot.processes.drain(1..3);
        snapshot.processes.push(process(20, "make", 19, "/user.slice/user-1000.slice/session-2.scope"));
        let found = diagnose(&snapshot);
        assert_eq!(remedy_of(&found[0]), "sudo crosstalk guard --pid 20");
        assert_eq!(found[0].what, "external work make (process 20)");
    }

    #[test]
    fn beside_everybody_nice_counts_and_light_work_is_not_told() {
        let mut snapshot = packaged();
        snapshot.processes = vec![process(7, "boinc", 10, "/"), process(10, "bash", 0, "/")];
        assert!(diagnose(&snapshot)[0].is_found());
        snapshot.processes =
            vec![Process { ticks: 5, ..process(7, "backup", 19, "/a") }, process(10, "bash", 0, "/")];
        assert_eq!(diagnose(&snapshot), []);
        assert_eq!(diagnose(&Snapshot::default()), []);
    }

    #[test]
    fn this_host_can_be_looked_at() {
        let snapshot = Snapshot::take();
        if snapshot.mount.is_empty() {
            eprintln!("skipped: no control groups here");
            return;
        }
        assert!(snapshot.processes.iter().any(|process| process.pid == std::process::id()));
        diagnose(&snapshot);
    }

    proptest! {
        #[test]
        fn no_host_panics(groups in prop::collection::vec("(/[ab]{1,2}){0,3}|\\PC{0,6}", 0..8), systemd in any::<bool>()) {
            let processes = groups.iter().enumerate().map(|(pid, group)| process(pid as u32, "boinc", 19, group)).collect();
            diagnose(&Snapshot { processes, systemd, ..Snapshot::default() });
        }
    }
}
