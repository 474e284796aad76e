//! The one line that mends it, which works as this host is: by systemd where it owns the group, by the
//! group's file where nobody does, by the guard elsewhere.

use std::path::Path;

use crosstalk_core::quote::shell_word;

use super::snapshot::{Manager, Snapshot};
use crosstalk_boinc::client::is_client;
use crosstalk_cgroup::process::Process;

/// The first version of systemd that takes `CPUWeight=idle`, on v2's tree.
const IDLE_WEIGHT: u32 = 252;

/// The line for these processes in `group`, which compete at `level`: at that group or one above it.
pub(super) fn remedy(snapshot: &Snapshot, group: &str, level: &str, members: &[&Process]) -> String {
    lasting(snapshot, group, level, members).unwrap_or_else(|| by_guard(members))
}

/// The same without the guard, where there is such a line.
pub(super) fn lasting(snapshot: &Snapshot, group: &str, level: &str, members: &[&Process]) -> Option<String> {
    let alone = only(snapshot, level, members);
    match snapshot.manager {
        Manager::Systemd(version) if is_unit(level) => {
            (snapshot.v2 && version >= IDLE_WEIGHT).then(|| by_systemd(group, level, alone)).flatten()
        }
        _ => alone.then(|| by_file(snapshot, level)).flatten(),
    }
}

/// Whether systemd makes groups of this name, and would put back what others set there.
fn is_unit(group: &str) -> bool {
    [".slice", ".service", ".scope"].iter().any(|kind| group.ends_with(kind))
}

fn by_systemd(group: &str, level: &str, alone: bool) -> Option<String> {
    // A user's manager is not the host's.
    if level.contains("/user@") {
        return None;
    }
    if alone && !level.ends_with("system.slice") {
        return Some(format!("sudo systemctl set-property {} CPUWeight=idle", shell_word(name(level))));
    }
    let unit = name(group);
    let theirs = group.starts_with("/system.slice/") && unit.ends_with(".service");
    // Its slice holds own services, too, and cannot be idle: it needs one of its own.
    (theirs && is_plain(unit)).then(|| {
        format!(
            "sudo sh -c 'd=/etc/systemd/system/{unit}.d; mkdir -p $d; printf \"[Service]\\nSlice=background.slice\\n\" \
             > $d/background.conf; systemctl daemon-reload; systemctl set-property background.slice CPUWeight=idle; \
             systemctl restart {unit}'"
        )
    })
}

fn by_file(snapshot: &Snapshot, level: &str) -> Option<String> {
    let share = snapshot.shares.get(level)?;
    let (value, file) = match (share.idle, snapshot.v2) {
        (Some(_), _) => ("1", "cpu.idle"),
        (None, true) => ("1", "cpu.weight"),
        (None, false) => ("2", "cpu.shares"),
    };
    Some(format!("echo {value} | sudo tee {}", shell_word(&share.at.join(file).display().to_string())))
}

fn by_guard(members: &[&Process]) -> String {
    // Who was started by one of them comes with that.
    let comes = |process: &Process| members.iter().any(|one| one.pid == process.parent);
    let roots = members.iter().filter(|process| !comes(process));
    let named = roots.map(|process| match is_client(process) {
        true => "boinc".to_string(),
        false => format!("--pid {}", process.pid),
    });
    let mut named: Vec<String> = named.collect();
    named.dedup();
    format!("sudo crosstalk guard {}", named.join(" "))
}

/// Whether nobody else's processes are in a group or below it. What is in a service with them is
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

fn name(group: &str) -> &str {
    group.rsplit('/').next().unwrap_or_default()
}

/// Whoever makes a group chooses its name.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:@".contains(c))
}
