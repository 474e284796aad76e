//! Mocked hosts: what is said of each, and what mends it.

use super::*;
use crosstalk_core::need::NeedState;
use proptest::prelude::*;

fn process(pid: u32, name: &str, nice: i32, group: &str) -> Process {
    Process { pid, name: name.into(), nice, ticks: 5000, groups: format!("0::{group}"), ..Process::default() }
}

/// A host with v2's tree, in which every group has a share like any other's.
fn host(manager: Manager, processes: Vec<Process>) -> Snapshot {
    let groups: Vec<&str> = processes.iter().filter_map(Process::cpu_group).collect();
    let share = |group: &str| Share {
        at: Path::new("/sys/fs/cgroup").join(group.trim_start_matches('/')),
        weight: 100,
        idle: Some(false),
    };
    let lines = groups.into_iter().flat_map(snapshot::line);
    let shares = lines.map(|group| (group.to_string(), share(group))).collect();
    Snapshot { processes, shares, v2: true, manager }
}

const DEBIAN: Manager = Manager::Systemd(252);

/// Debian's service, as it is packaged, beside a login and another service.
fn packaged(manager: Manager) -> Snapshot {
    host(
        manager,
        vec![
            process(1, "systemd", 0, "/init.scope"),
            process(7, "boinc", 10, "/system.slice/boinc-client.service"),
            Process { parent: 7, ..process(8, "setiathome", 19, "/system.slice/boinc-client.service") },
            process(9, "mariadbd", 0, "/system.slice/mariadb.service"),
            process(10, "bash", 0, "/user.slice/user-1000.slice/session-2.scope"),
        ],
    )
}

fn idle(snapshot: &mut Snapshot, group: &str) {
    snapshot.shares.get_mut(group).expect("is a group").idle = Some(true);
}

/// The one that is found.
fn only(snapshot: &Snapshot) -> Diagnosis {
    let mut found = diagnose(snapshot);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn remedy_of(snapshot: &Snapshot) -> String {
    match only(snapshot).standing {
        Standing::Competes { remedy, .. } => remedy,
        Standing::Yields(how) => panic!("{how}"),
    }
}

fn yields(snapshot: &Snapshot) -> String {
    match only(snapshot).standing {
        Standing::Yields(how) => how,
        Standing::Competes { why, .. } => panic!("{why}"),
    }
}

#[test]
fn the_packaged_service_is_found_where_nice_does_nothing() {
    let found = only(&packaged(DEBIAN));
    assert_eq!((found.what.as_str(), found.competing()), ("background work BOINC", Some(&[7, 8][..])));
    let Standing::Competes { why, remedy, .. } = &found.standing else { panic!("{found:?}") };
    assert!(why.contains("within its group only") && why.contains("/system.slice has as much"), "{why}");
    assert!(remedy.contains("boinc-client.service.d") && remedy.contains("CPUWeight=idle"), "{remedy}");
    assert!(!remedy.contains('\n'), "{remedy}");
}

#[test]
fn what_it_costs_is_said_with_it_where_that_was_measured() {
    let found = only(&packaged(DEBIAN));
    let said = |cost: Option<&Cost>| match found.need(cost).state {
        NeedState::Missing { consequence, remedy } => (consequence, remedy.is_some()),
        NeedState::Found { detail } => panic!("{detail}"),
    };
    let cost = Cost::Measured { share: 0.51, background: 1.96, processors: 4, seconds: 1.0 };
    let (measured, mended) = said(Some(&cost));
    assert!(
        measured.contains("of yours; foreground work gets 51 % of a processor while it runs") && mended,
        "{measured}"
    );
    assert!(said(Some(&Cost::Quiet { used: 7200.0 })).0.contains("it has used 2 h of CPU time"));
    assert!(said(None).0.ends_with("from one of yours"));
}

#[test]
fn once_it_is_mended_nothing_is_wrong() {
    let mut snapshot = packaged(DEBIAN);
    for process in &mut snapshot.processes[1..3] {
        process.groups = "0::/background.slice/boinc-client.service".into();
    }
    let mut snapshot = host(DEBIAN, snapshot.processes);
    idle(&mut snapshot, "/background.slice");
    assert!(only(&snapshot).need(None).is_found() && yields(&snapshot).contains("/background.slice is idle"));
}

#[test]
fn an_idle_service_in_a_slice_with_others_still_competes() {
    let mut snapshot = packaged(DEBIAN);
    idle(&mut snapshot, "/system.slice/boinc-client.service");
    assert!(only(&snapshot).competing().is_some(), "its slice has all of its weight");
}

#[test]
fn below_one_group_for_all_each_level_is_judged() {
    let container = |foreground: &str| {
        host(
            Manager::Other,
            vec![process(7, "boinc", 19, "/docker/x/boinc"), process(10, "bash", 0, foreground)],
        )
    };
    let mut snapshot = container("/docker/x/foreground");
    let Standing::Competes { why, remedy, .. } = only(&snapshot).standing else { panic!("it competes") };
    assert!(why.contains("/docker/x/boinc has as much"), "{why}");
    assert_eq!(remedy, "echo 1 | sudo tee /sys/fs/cgroup/docker/x/boinc/cpu.idle");
    idle(&mut snapshot, "/docker/x/boinc");
    assert!(yields(&snapshot).contains("/docker/x/boinc is idle"));
    // With foreground work in its own group, and with that below it, nice counts among them.
    for foreground in ["/docker/x/boinc", "/docker/x/boinc/foreground"] {
        assert!(
            yields(&container(foreground)).contains("one group with all others (/docker/x/boinc)"),
            "{foreground}"
        );
    }
    // Foreground work right in the group above stands beside it, too.
    assert!(only(&container("/docker/x")).competing().is_some());
}

#[test]
fn what_stands_in_a_group_that_yields_is_background_all_of_it() {
    let mut snapshot = host(
        Manager::Other,
        vec![
            process(7, "boinc", 19, "/background/boinc"),
            process(8, "render", 0, "/background/render"),
            process(10, "bash", 0, "/foreground"),
        ],
    );
    idle(&mut snapshot, "/background");
    assert!(yields(&snapshot).contains("/background is idle"));
}

#[test]
fn what_it_does_to_yield_is_said_of_all_its_processes() {
    let why = |snapshot: &Snapshot| match only(snapshot).standing {
        Standing::Competes { why, .. } => why,
        Standing::Yields(how) => panic!("{how}"),
    };
    let mut snapshot = packaged(DEBIAN);
    assert!(why(&snapshot).starts_with("it is nice (10, 19), but that counts within its group only."));
    // A client's tasks are background work however short they are.
    (snapshot.processes[2].idle_class, snapshot.processes[2].ticks) = (true, 3);
    assert!(why(&snapshot).starts_with("it is in the idle class, but"));
    assert_eq!(only(&snapshot).competing(), Some(&[7, 8][..]));
    snapshot.processes[2].idle_class = false;
    (snapshot.processes[1].nice, snapshot.processes[2].nice) = (0, 0);
    assert!(why(&snapshot).starts_with("it does nothing to yield. It is in"), "{}", why(&snapshot));
}

#[test]
fn where_v2_s_controller_is_not_enabled_nice_counts_among_groups() {
    let mut snapshot = packaged(DEBIAN);
    snapshot
        .processes
        .retain(|process| process.cpu_group().is_some_and(|group| group.starts_with("/system")));
    assert_eq!(
        remedy_of(&snapshot),
        "sudo systemctl set-property boinc-client.service CPUWeight=idle",
        "below one slice for all it is the service that competes"
    );
    snapshot.shares.retain(|group, _| group == "/system.slice");
    assert!(yields(&snapshot).contains("one group with all others (/system.slice)"));
    snapshot.shares.clear();
    assert!(yields(&snapshot).contains("shares its group with foreground work"));
}

#[test]
fn systemd_is_asked_for_an_idle_weight_only_where_it_has_one() {
    for (manager, v2) in [(Manager::Systemd(249), true), (Manager::Systemd(0), true), (DEBIAN, false)] {
        let snapshot = Snapshot { v2, ..packaged(manager) };
        assert_eq!(remedy_of(&snapshot), "sudo crosstalk guard boinc", "{manager:?}, v2: {v2}");
    }
    let mut alone = packaged(DEBIAN);
    alone.processes[1].groups = "0::/batch.slice".into();
    alone.processes[2].groups = "0::/batch.slice".into();
    let alone = host(DEBIAN, alone.processes);
    assert_eq!(remedy_of(&alone), "sudo systemctl set-property batch.slice CPUWeight=idle");
    let old = Snapshot { manager: Manager::Systemd(249), ..alone };
    assert_eq!(remedy_of(&old), "sudo crosstalk guard boinc", "the group is systemd's to set");
}

#[test]
fn a_group_that_it_has_to_itself_is_made_idle() {
    let with = |v2: bool, idle: Option<bool>, manager: Manager| {
        let mut snapshot = packaged(DEBIAN);
        snapshot.processes[1].groups = "3:cpu,cpuacct:/batch\n".into();
        snapshot.processes[2].groups = "3:cpu,cpuacct:/batch\n".into();
        let mut snapshot = Snapshot { v2, ..host(manager, snapshot.processes) };
        snapshot.shares.get_mut("/batch").expect("is a group").idle = idle;
        remedy_of(&snapshot)
    };
    for manager in [Manager::Other, Manager::Systemd(249)] {
        let idle = with(false, Some(false), manager);
        assert_eq!(idle, "echo 1 | sudo tee /sys/fs/cgroup/batch/cpu.idle", "nobody else sets it");
    }
    // Before Linux 5.15 there is the least weight.
    assert_eq!(with(true, None, Manager::Other), "echo 1 | sudo tee /sys/fs/cgroup/batch/cpu.weight");
    assert_eq!(with(false, None, Manager::Other), "echo 2 | sudo tee /sys/fs/cgroup/batch/cpu.shares");
}

#[test]
fn where_the_idle_class_is_missing_above_a_group_is_said_with_what_gives_it_that() {
    let said = |snapshot: &Snapshot, pid: u32| level_of(snapshot, &[pid]).expect("is in a group");
    let nested = |others: &str| {
        host(Manager::Other, vec![process(7, "render", 0, "/batch/a"), process(10, "bash", 0, others)])
    };
    let line = "echo 1 | sudo tee /sys/fs/cgroup/batch/cpu.idle".to_string();
    assert_eq!(said(&nested("/foreground"), 7), ("/batch".into(), Some(line)));
    assert_eq!(
        said(&nested("/batch/foreground"), 7),
        ("/batch".into(), None),
        "foreground work would yield, too"
    );
    let (level, line) = said(&packaged(DEBIAN), 8);
    assert!(level == "/system.slice" && line.is_some_and(|line| line.contains("boinc-client.service.d")));
    assert_eq!(level_of(&host(DEBIAN, vec![process(7, "render", 0, "/")]), &[7]), None);
    assert_eq!(level_of(&packaged(DEBIAN), &[99]), None, "it has ended");
    let mut idle_already = nested("/foreground");
    idle(&mut idle_already, "/batch");
    assert_eq!(level_of(&idle_already, &[7]), None);
}

#[test]
fn what_is_in_one_group_is_one_entry() {
    let spin = |pid, name: &str, nice| process(pid, name, nice, "/batch");
    let members = vec![spin(20, "pack", 12), spin(21, "render", 19), process(10, "bash", 0, "/foreground")];
    let mut snapshot = host(Manager::Other, members);
    snapshot.processes[1].ticks += 1;
    assert_eq!(only(&snapshot).what, "background work render (process 21) and another");
    assert_eq!(remedy_of(&snapshot), "echo 1 | sudo tee /sys/fs/cgroup/batch/cpu.idle");
    // With foreground work in the group, each is named.
    snapshot.processes.push(spin(23, "editor", 0));
    assert_eq!(remedy_of(&snapshot), "sudo crosstalk guard --pid 20 --pid 21");
    let mut snapshot = packaged(Manager::Systemd(249));
    snapshot.processes.push(process(24, "backup", 12, "/system.slice/boinc-client.service"));
    assert_eq!(only(&snapshot).what, "background work BOINC and another");
    assert_eq!(remedy_of(&snapshot), "sudo crosstalk guard boinc --pid 24");
}

#[test]
fn beside_everybody_nice_counts_and_light_work_is_not_mentioned() {
    let beside = host(DEBIAN, vec![process(7, "boinc", 10, "/"), process(10, "bash", 0, "/")]);
    assert!(only(&beside).need(None).is_found());
    let light = vec![Process { ticks: 5, ..process(7, "backup", 19, "/a") }, process(10, "bash", 0, "/")];
    assert_eq!(diagnose(&host(DEBIAN, light)), []);
    assert_eq!(diagnose(&Snapshot::default()), []);
}

proptest! {
    #[test]
    fn no_host_panics(groups in prop::collection::vec("(/[ab]{1,2}){0,3}|\\PC{0,6}", 0..8), version in 0..300_u32) {
        let processes = groups.iter().enumerate();
        let processes = processes.map(|(pid, group)| process(pid as u32, "boinc", (pid % 2) as i32 * 19, group));
        diagnose(&host(Manager::Systemd(version), processes.collect()));
    }
}
