//! Which work is background: groups and processes that were named, those that a rule means, and all
//! that `crosstalk exec --background` has started.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::Ledger;

use super::guarded_group::GuardedGroup;
use super::named;
use super::rules::Rules;
use crosstalk_boinc::client::{ClientSelector, NAME, RunningClient, is_running};
use crosstalk_cgroup::exec::{BACKGROUND, GUESTS, USAGE};
use crosstalk_cgroup::group::{Group, Hierarchy, OwnGroup, anybodys, below};
use crosstalk_cgroup::process::{Process, all, descendants};
use crosstalk_diagnose::{Snapshot, level_of};

/// One that was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A control group.
    Group(PathBuf),
    /// A process, with all that it has started and will start.
    Process(u32),
    /// BOINC's client, with its tasks.
    Boinc(ClientSelector),
}

/// Everything that is background.
#[derive(Debug, Default)]
pub struct Targets {
    named: Vec<Target>,
    rules: Rules,
    /// Those that could not be guarded when others were last looked for, which was reported.
    refused: Vec<String>,
    /// The process of BOINC's client that is guarded.
    client: Option<u32>,
    /// That client, and why its group cannot be set.
    barred: Option<(RunningClient, Fault)>,
}

impl Targets {
    /// Those that are named and meant by rules; what `crosstalk exec --background` has started is
    /// always among them.
    pub fn new(named: Vec<Target>, rules: Rules) -> Self {
        Targets { named, rules, ..Targets::default() }
    }

    /// Takes those that were named in hand.
    ///
    /// # Errors
    /// Where one of them is not there, or cannot be.
    pub(super) fn named(
        &mut self,
        hierarchy: &Hierarchy,
        ledger: &Ledger,
    ) -> Result<Vec<GuardedGroup>, Fault> {
        let mut found: Vec<GuardedGroup> = Vec::new();
        for target in self.named.clone() {
            let known = groups(&[], &found);
            let group = match target {
                Target::Group(name) => {
                    let group = named::group(&name, &started(hierarchy), hierarchy)?;
                    self.whole(&name.display().to_string(), group, hierarchy, &known, ledger).map_err(
                        |fault| match fault.place {
                            None => fault.at("--background"),
                            Some(_) => fault,
                        },
                    )?
                }
                Target::Process(pid) => {
                    self.process(pid, &format!("process {pid}"), hierarchy, &known, ledger)?
                }
                Target::Boinc(way) => {
                    let client = way.find()?;
                    self.client = Some(client.pid);
                    match self.process(client.pid, NAME, hierarchy, &known, ledger) {
                        // It can still be asked.
                        Err(fault) if fault.kind == FaultKind::Environment => {
                            self.barred = Some((client, fault));
                            continue;
                        }
                        group => group?,
                    }
                }
            };
            found.extend(group);
        }
        Ok(found)
    }

    /// How BOINC's client is found and spoken to, where it was named.
    pub(super) fn way(&self) -> Option<&ClientSelector> {
        self.named.iter().find_map(|target| match target {
            Target::Boinc(way) => Some(way),
            _ => None,
        })
    }

    /// BOINC's client where it was named and its group cannot be set, and why.
    pub(super) fn barred(&mut self) -> Option<(RunningClient, Fault)> {
        self.barred.take()
    }

    /// Whether BOINC's client was guarded and has ended.
    pub(super) fn client_has_ended(&self) -> bool {
        self.client.is_some_and(|pid| !is_running(pid))
    }

    /// The group of BOINC's client is guarded no more: it may be started again.
    pub(super) fn leave_client(&mut self) {
        self.client = None;
    }

    /// The group of BOINC's client, where that was started again: one that is only watched.
    pub(super) fn client_again(&mut self) -> Option<Group> {
        if self.client.is_some() {
            return None;
        }
        let pid = self.way()?.find().ok()?.pid;
        let group = alone(pid).ok()?;
        self.client = Some(pid);
        Some(group)
    }

    /// Those that have come since: started by `crosstalk exec --background`, meant by a rule, or
    /// BOINC's client or a group that was named, started again.
    pub(super) fn come(
        &mut self,
        hierarchy: &Hierarchy,
        known: &[Group],
        ledger: &Ledger,
        notes: &mut Vec<String>,
    ) -> Vec<GuardedGroup> {
        let mut found = Vec::new();
        // Those that have ended are forgotten.
        let reported = std::mem::take(&mut self.refused);
        let named: Vec<(String, Group)> = self.named_again(hierarchy);
        for (name, group) in started(hierarchy).into_iter().chain(named) {
            let group = self.whole(&name, group, hierarchy, &groups(known, &found), ledger);
            self.keep(&name, group, &mut found, &reported, notes);
        }
        if self.client.is_none()
            && let Some(client) = self.way().and_then(|way| way.find().ok())
        {
            let before = found.len();
            let group = self.process(client.pid, NAME, hierarchy, &groups(known, &found), ledger);
            self.keep(NAME, group, &mut found, &reported, notes);
            self.client = (found.len() > before).then_some(client.pid);
        }
        if !self.rules.name_background() {
            return found;
        }
        let processes = all();
        let guarded: Vec<u32> = groups(known, &found).iter().flat_map(Group::processes).collect();
        for process in processes.iter().filter(|process| !guarded.contains(&process.pid)) {
            if process.pid == std::process::id() || !self.rules.background(process) {
                continue;
            }
            // A descendant comes with the one above it, if that is meant, too.
            let parent = processes.iter().find(|parent| parent.pid == process.parent);
            if parent.is_some_and(|parent| self.rules.background(parent)) {
                continue;
            }
            let name = format!("{} ({})", process.name, process.pid);
            let known = groups(known, &found);
            let group = self.process(process.pid, &name, hierarchy, &known, ledger);
            self.keep(&name, group, &mut found, &reported, notes);
        }
        found
    }

    /// What cannot be guarded is reported once, and left.
    fn keep(
        &mut self,
        name: &str,
        group: Result<Option<GuardedGroup>, Fault>,
        found: &mut Vec<GuardedGroup>,
        reported: &[String],
        notes: &mut Vec<String>,
    ) {
        match group {
            Ok(group) => found.extend(group),
            Err(fault) => {
                if !reported.iter().any(|known| known == name) {
                    let why = fault.sentence();
                    notes.push(format!("{name} is not guarded, and counts as foreground work here: {why}"));
                }
                self.refused.push(name.into());
            }
        }
    }

    /// The groups that were named, where they are there.
    fn named_again(&self, hierarchy: &Hierarchy) -> Vec<(String, Group)> {
        let names = self.named.iter().filter_map(|target| match target {
            Target::Group(name) => Some(name),
            _ => None,
        });
        names
            .filter_map(|name| Some((name.display().to_string(), Group::named(name, hierarchy).ok()?)))
            .collect()
    }

    /// A process and its descendants, but for those that rules say are foreground work: by the groups that
    /// they have to themselves, and where they have none by one that is made for them. None where one of
    /// the groups that are `known` holds it.
    fn process(
        &self,
        pid: u32,
        name: &str,
        hierarchy: &Hierarchy,
        known: &[Group],
        ledger: &Ledger,
    ) -> Result<Option<GuardedGroup>, Fault> {
        if known.iter().any(|group| group.processes().contains(&pid)) {
            return Ok(None);
        }
        let processes = all();
        let first = find(pid, &processes)?;
        let tree = self.background_tree(pid, &processes);
        if tree.contains(&std::process::id()) {
            return Err(Fault::usage(format!(
                "process {pid} has started this guard: it cannot be background"
            ))
            .at("--pid")
            .remedy("guard from another terminal, or as a service of its own"));
        }
        if tree.is_empty() {
            return Err(Fault::usage(format!("process {pid} is foreground work by a rule")));
        }
        let (foreground, shared) =
            Group::of_process(pid)?.parted(|controller| is_alone(first, controller, &tree, &processes));
        let (_, shared) = shared.parted(|controller| STAYS.contains(&controller));
        if shared.is_nowhere() {
            return GuardedGroup::new(name, foreground, None, hierarchy, ledger).map(Some);
        }
        let made = OwnGroup::for_guests(GUESTS, &shared, ledger)?;
        // Who comes to be while others are moved is found the next time. Those that it has put into
        // other groups stand there for a reason.
        for _ in 0..LOOKS {
            let processes = all();
            let tree = self.background_tree(pid, &processes);
            let left = processes.iter().filter(|one| tree.contains(&one.pid) && one.groups == first.groups);
            for one in left {
                made.group().take_in(one.pid)?;
            }
        }
        let group = foreground.with(made.group());
        GuardedGroup::new(name, group, Some(made), hierarchy, ledger).map(Some)
    }

    /// A process and its descendants, without those that rules say are foreground work, and theirs.
    fn background_tree(&self, pid: u32, all: &[Process]) -> Vec<u32> {
        let left: Vec<Process> =
            all.iter().filter(|process| !self.rules.foreground(process)).cloned().collect();
        if left.iter().any(|process| process.pid == pid) { descendants(pid, &left) } else { Vec::new() }
    }

    /// A group with all that is in it; none where it is one of those that are `known`, or stands in one.
    ///
    /// # Errors
    /// Also where one of them stands in it.
    fn whole(
        &self,
        name: &str,
        group: Group,
        hierarchy: &Hierarchy,
        known: &[Group],
        ledger: &Ledger,
    ) -> Result<Option<GuardedGroup>, Fault> {
        if known.iter().any(|known| known.holds(&group)) {
            return Ok(None);
        }
        if known.iter().any(|known| group.holds(known)) {
            return Err(Fault::usage(format!("the group {name} holds another that is guarded"))
                .remedy("name the outer one first: it is guarded with all that is in it"));
        }
        let inside = group.processes();
        if inside.contains(&std::process::id()) {
            return Err(Fault::usage(format!("the group {name} holds this guard: it cannot be background"))
                .remedy("guard from another terminal, or as a service of its own"));
        }
        can_be_counted(name, &group)?;
        // Most have no rules, and then no process is read.
        let foreground = if !self.rules.name_foreground() {
            None
        } else {
            let there = inside.iter().filter_map(|pid| crosstalk_cgroup::process::one(*pid));
            there.into_iter().find(|process| self.rules.foreground(process))
        };
        if let Some(process) = foreground {
            return Err(Fault::usage(format!(
                "the group {name} holds {} (process {}), which is foreground work by a rule",
                process.name, process.pid
            ))
            .remedy("move it to another group, or name the others by `--pid`"));
        }
        GuardedGroup::new(name, group, None, hierarchy, ledger).map(Some)
    }

    /// Why a group's idle class does not protect everybody, and what would.
    pub(super) fn why_not_idle(&self, group: &GuardedGroup) -> String {
        let (why, remedy) = match level_of(&Snapshot::take(), &group.group().processes()) {
            Some((level, line)) => (
                format!("{level}, in which it stands, would have to be in that class"),
                line.map_or_else(String::new, |line| format!(" (for good: {line})")),
            ),
            None => ("its kernel or a group above it keeps it from that".into(), String::new()),
        };
        format!(
            "{} cannot yield by the idle class: {why}; foreground work is protected by fewer processors and by a duty cycle, \
             which leaves background work less{remedy}",
            group.name
        )
    }
}

/// The groups that are known, with those of these found.
fn groups(known: &[Group], found: &[GuardedGroup]) -> Vec<Group> {
    known.iter().chain(found.iter().map(GuardedGroup::group)).cloned().collect()
}

/// Controllers of v1 in whose trees nobody is moved: memory's charges would not follow, and nothing is
/// done to numbers of processes.
const STAYS: [&str; 2] = ["memory", "pids"];

fn find(pid: u32, processes: &[Process]) -> Result<&Process, Fault> {
    processes.iter().find(|process| process.pid == pid).ok_or_else(|| {
        Fault::usage(format!("there is no process {pid}")).remedy("find its number: pgrep -l NAME")
    })
}

/// That the group's processors' time is counted: on v1 that may be in another tree than the one in which
/// they are shared out, and what is not counted would count as foreground work's.
fn can_be_counted(name: &str, group: &Group) -> Result<(), Fault> {
    if group.file(&USAGE).is_some() {
        return Ok(());
    }
    Err(Fault::environment(format!(
        "what the group {name} uses cannot be told apart from foreground work: it has no group in the tree of cpuacct"
    ))
    .remedy("make it there, too, and move its processes; or name these by `--pid`"))
}

/// The group of a process that it and its descendants have to themselves.
///
/// # Errors
/// Where it shares it with others, or is not there.
pub(super) fn alone(pid: u32) -> Result<Group, Fault> {
    let processes = all();
    let first = find(pid, &processes)?;
    let tree = descendants(pid, &processes);
    let (foreground, _) =
        Group::of_process(pid)?.parted(|controller| is_alone(first, controller, &tree, &processes));
    if foreground.file(&USAGE).is_some() {
        return Ok(foreground);
    }
    Err(Fault::environment(format!(
        "process {pid} shares its control group with others: what it uses cannot be told apart from foreground work"
    ))
    .remedy("start it as a service of its own, or guard as root"))
}

/// How often descendants are looked for: each time all that are there are moved.
const LOOKS: usize = 3;

/// What `crosstalk exec --background` has started, by whomever: names and groups.
fn started(hierarchy: &Hierarchy) -> Vec<(String, Group)> {
    let mut found = BTreeMap::new();
    for place in anybodys(hierarchy) {
        for name in below(&place).into_iter().filter(|name| name.starts_with(BACKGROUND)) {
            found.entry(name.clone()).or_insert(place.join(name));
        }
    }
    // In which trees it stands elsewhere, one that is in it says so; who has started an empty one is
    // about to start what goes into it.
    let groups = found.into_iter().filter_map(|(name, dir)| {
        let inside = Group::new(BTreeMap::from([(String::new(), dir)])).processes();
        let group = Group::around(*inside.first()?, &name);
        Some((name, group))
    });
    groups.filter(|(_, group)| !group.is_nowhere()).collect()
}

/// Whether a process and its descendants have their group in a tree to themselves.
fn is_alone(first: &Process, controller: &str, tree: &[u32], all: &[Process]) -> bool {
    let Some(group) = first.group(controller).filter(|group| *group != "/") else { return false };
    let inside = |other: &str| {
        other.strip_prefix(group).is_some_and(|below| below.is_empty() || below.starts_with('/'))
    };
    let there = all.iter().filter(|process| process.group(controller).is_some_and(inside));
    there.into_iter().all(|process| tree.contains(&process.pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, groups: &str) -> Process {
        Process { pid, parent, groups: groups.into(), ..Process::default() }
    }

    #[test]
    fn a_service_has_its_group_to_itself_and_a_login_has_not() {
        let service = "0::/system.slice/boinc-client.service";
        let all = [
            process(1, 0, "0::/init.scope"),
            process(7, 1, service),
            process(8, 7, service),
            process(9, 1, "0::/user.slice/session-1.scope"),
            process(10, 9, "0::/user.slice/session-1.scope"),
        ];
        assert!(is_alone(&all[1], "", &[7, 8], &all));
        assert!(!is_alone(&all[4], "", &[10], &all), "its shell is there, too");
        assert!(!is_alone(&process(7, 1, "0::/"), "", &[7], &all), "the top is everybody's");
    }

    #[test]
    fn each_tree_is_read_by_itself() {
        let all = [process(7, 1, "2:memory:/\n1:cpu:/batch"), process(9, 1, "2:memory:/\n1:cpu:/batch2")];
        assert!(is_alone(&all[0], "cpu", &[7], &all));
        assert!(!is_alone(&all[0], "memory", &[7], &all), "the top is everybody's");
        let below = [process(7, 1, "1:cpu:/batch"), process(9, 1, "1:cpu:/batch/other")];
        assert!(!is_alone(&below[0], "cpu", &[7], &below), "another stands below it");
    }

    #[test]
    fn who_is_own_by_a_rule_is_no_part_of_background_work() {
        let rules = Rules::parse("schema = \"crosstalk.guard/1\"\n[[foreground]]\ncommand = \"editor\"", "")
            .expect("reads");
        let named = |pid, parent, name: &str| Process { name: name.into(), ..process(pid, parent, "0::/") };
        let all = [named(7, 1, "batch"), named(8, 7, "editor"), named(9, 8, "sh"), named(10, 7, "sh")];
        let targets = Targets::new(Vec::new(), rules);
        assert_eq!(targets.background_tree(7, &all), [7, 10]);
        assert_eq!(targets.background_tree(8, &all), [0_u32; 0]);
    }

    #[test]
    fn what_is_not_guarded_counts_as_foreground_work_which_is_reported_once() {
        let (mut targets, mut notes) = (Targets::default(), Vec::new());
        let refused = || Err(Fault::usage("another guard has the group of batch"));
        targets.keep("batch", refused(), &mut Vec::new(), &[], &mut notes);
        assert_eq!(
            notes,
            [
                "batch is not guarded, and counts as foreground work here: another guard has the group of batch"
            ]
        );
        targets.keep("batch", refused(), &mut Vec::new(), &["batch".into()], &mut notes);
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn what_would_count_as_foreground_work_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |controller: &str| (controller.to_string(), folder.path().join(controller));
        for controller in ["cpu", "cpuacct"] {
            std::fs::create_dir(at(controller).1).expect("makes");
        }
        std::fs::write(at("cpuacct").1.join("cpuacct.usage"), "7\n").expect("writes");
        let both = Group::new(BTreeMap::from([at("cpu"), at("cpuacct")]));
        assert_eq!(can_be_counted("batch", &both), Ok(()));
        let fault = can_be_counted("batch", &Group::new(BTreeMap::from([at("cpu")]))).expect_err("refused");
        assert!(fault.message.contains("cpuacct") && fault.remedy.is_some(), "{fault}");
    }

    #[test]
    fn guests_of_another_guard_and_what_a_study_measures_are_theirs() {
        assert!(!GUESTS.starts_with(BACKGROUND) && !crosstalk_cgroup::exec::STUDY.starts_with(BACKGROUND));
    }
}
