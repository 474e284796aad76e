//! Which work is background: groups and processes that were named, those that a rule means, and all
//! that `crosstalk exec --background` has started.

use std::path::PathBuf;

use crosstalk_core::{Fault, FaultKind};

use super::grouping::{group_alone, guard_process};
use super::guarded_group::GuardedGroup;
use super::guarded_groups::GuardedGroups;
use super::named;
use super::rules::Rules;
use crosstalk_boinc::client::{ClientSelector, NAME, Pauser, RunningClient, is_running};
use crosstalk_cgroup::exec::USAGE;
use crosstalk_cgroup::group::{Group, Hierarchy};
use crosstalk_cgroup::process::{all, one};

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
    /// Those that could not be guarded when others were last searched for, which was reported, and this time.
    reported: Vec<String>,
    refused: Vec<String>,
    /// The process of BOINC's client that is guarded.
    client: Option<u32>,
    /// Its group cannot be set: it is asked to pause, and nothing else is guarded.
    asks: bool,
}

impl Targets {
    /// Those that are named and meant by rules; what `crosstalk exec --background` has started is
    /// always among them.
    pub fn new(named: Vec<Target>, rules: Rules) -> Self {
        Targets { named, rules, ..Targets::default() }
    }

    /// Adds those that were named to the groups that are guarded.
    ///
    /// # Errors
    /// Where one of them is not there, or cannot be guarded.
    pub(super) fn add_named(&mut self, groups: &mut GuardedGroups) -> Result<(), Fault> {
        for target in self.named.clone() {
            let group = match target {
                Target::Group(name) => {
                    let group = named::group(&name, &groups.hierarchy)?;
                    let name = name.display().to_string();
                    self.whole(&name, group, groups).map_err(|fault| match fault.place {
                        None => fault.at("--background"),
                        Some(_) => fault,
                    })?
                }
                Target::Process(pid) => self.process(pid, &format!("process {pid}"), groups)?,
                Target::Boinc(selector) => {
                    let client = selector.find()?;
                    self.client = Some(client.pid);
                    match self.process(client.pid, NAME, groups) {
                        Err(why) if why.kind == FaultKind::Environment => {
                            self.asks = true;
                            groups.notes.push(format!(
                                "BOINC's client is asked to pause, which protects foreground work less: its group cannot be set: {}",
                                why.sentence()
                            ));
                            Some(ask(&client, &selector).map_err(|fault| barred(fault, &why))?)
                        }
                        group => group?,
                    }
                }
            };
            group.into_iter().for_each(|group| groups.add(group));
        }
        if self.asks && groups.list.len() > 1 {
            return Err(Fault::usage("BOINC's client can only be asked here, and is then guarded alone")
                .remedy("have another guard for the rest"));
        }
        Ok(())
    }

    /// Takes out the groups that have ended. Whether there were any.
    pub(super) fn remove_ended(&mut self, groups: &mut GuardedGroups) -> bool {
        // A service that is started again has a new group at the old place.
        let client_ended = self.client.is_some_and(|pid| !is_running(pid));
        let before = groups.list.len();
        let has_ended = |group: &mut GuardedGroup| group.has_ended() || client_ended && group.name == NAME;
        for group in groups.list.extract_if(.., has_ended) {
            groups.notes.push(format!("{} has ended", group.name));
            if group.name == NAME {
                self.client = None;
            }
        }
        if client_ended {
            // A group that was named may have held it, under another name.
            self.client = None;
        }
        groups.list.len() < before
    }

    /// Adds those that have come since: started by `crosstalk exec --background`, meant by a rule, or
    /// BOINC's client or a group that was named, started again. Whether there were any. What cannot be guarded is
    /// reported once, and left.
    pub(super) fn add_new(&mut self, groups: &mut GuardedGroups) -> bool {
        let before = groups.list.len();
        // Those that have ended are forgotten.
        self.reported = std::mem::take(&mut self.refused);
        if !self.asks {
            for (name, group) in
                named::started(&groups.hierarchy).into_iter().chain(self.named_again(&groups.hierarchy))
            {
                let group = self.whole(&name, group, groups);
                self.keep(&name, group, groups);
            }
        }
        if self.client.is_none()
            && let Some((client, selector)) = self.running_client()
        {
            let group = match self.asks {
                true => ask(&client, &selector).map(Some),
                false => self.process(client.pid, NAME, groups),
            };
            self.client = matches!(group, Ok(Some(_))).then_some(client.pid);
            self.keep(NAME, group, groups);
        }
        if !self.asks && self.rules.name_background() {
            self.add_meant(groups);
        }
        groups.list.len() > before
    }

    /// Adds the processes that a rule means.
    fn add_meant(&mut self, groups: &mut GuardedGroups) {
        let processes = all();
        let guarded: Vec<u32> = groups.list.iter().flat_map(|group| group.group().processes()).collect();
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
            let group = self.process(process.pid, &name, groups);
            self.keep(&name, group, groups);
        }
    }

    fn keep(&mut self, name: &str, group: Result<Option<GuardedGroup>, Fault>, groups: &mut GuardedGroups) {
        match group {
            Ok(group) => group.into_iter().for_each(|group| groups.add(group)),
            Err(fault) => groups.notes.extend(self.refuse(name, &fault)),
        }
    }

    /// It cannot be guarded; what to report, where that is new.
    fn refuse(&mut self, name: &str, fault: &Fault) -> Option<String> {
        self.refused.push(name.into());
        let is_new = !self.reported.iter().any(|known| known == name);
        is_new.then(|| {
            format!("{name} is not guarded, and counts as foreground work here: {}", fault.sentence())
        })
    }

    /// The groups that were named, where they are there.
    fn named_again(&self, hierarchy: &Hierarchy) -> Vec<(String, Group)> {
        let named = |target: &Target| match target {
            Target::Group(name) => Some((name.display().to_string(), Group::named(name, hierarchy).ok()?)),
            _ => None,
        };
        self.named.iter().filter_map(named).collect()
    }

    /// BOINC's client, where it was named and runs, and how it is spoken to.
    fn running_client(&self) -> Option<(RunningClient, ClientSelector)> {
        self.named.iter().find_map(|target| match target {
            Target::Boinc(selector) => Some((selector.find().ok()?, selector.clone())),
            _ => None,
        })
    }

    /// A process and its descendants; none where one of the groups holds it.
    fn process(&self, pid: u32, name: &str, groups: &GuardedGroups) -> Result<Option<GuardedGroup>, Fault> {
        if groups.list.iter().any(|known| known.group().processes().contains(&pid)) {
            return Ok(None);
        }
        guard_process(pid, name, &self.rules, groups).map(Some)
    }

    /// A group with all that is in it; none where it is one of those that are guarded, or in one.
    ///
    /// # Errors
    /// Also where one of them is in it.
    fn whole(&self, name: &str, group: Group, groups: &GuardedGroups) -> Result<Option<GuardedGroup>, Fault> {
        if groups.list.iter().any(|known| known.group().holds(&group)) {
            return Ok(None);
        }
        if groups.list.iter().any(|known| group.holds(known.group())) {
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
        let read = if self.rules.name_foreground() { &inside[..] } else { &[] };
        let mut foreground = read.iter().filter_map(|pid| one(*pid));
        if let Some(process) = foreground.find(|process| self.rules.foreground(process)) {
            return Err(Fault::usage(format!(
                "the group {name} holds {} (process {}), which is foreground work by a rule",
                process.name, process.pid
            ))
            .remedy("move it to another group, or name the others by `--pid`"));
        }
        groups.guard(name, group, None).map(Some)
    }
}

/// BOINC's client, which is asked to pause.
fn ask(client: &RunningClient, selector: &ClientSelector) -> Result<GuardedGroup, Fault> {
    let group = group_alone(client.pid)?;
    GuardedGroup::asked(NAME, group, Pauser::new(client, selector)?)
}

/// BOINC's client can neither be set nor asked.
fn barred(fault: Fault, why: &Fault) -> Fault {
    let message = format!(
        "BOINC's group cannot be set ({}), and it cannot be asked to pause: {}",
        why.message, fault.message
    );
    Fault { message, ..fault }
}

/// That the group's CPU time is counted: on v1 that may be in another tree than the one in which processors
/// are shared out, and what is not counted would count as foreground work's.
fn can_be_counted(name: &str, group: &Group) -> Result<(), Fault> {
    if group.file(&USAGE).is_some() {
        return Ok(());
    }
    Err(Fault::environment(format!(
        "the CPU time of the group {name} would count as foreground work's: it has no group in the tree of cpuacct"
    ))
    .remedy("make it there, too, and move its processes; or name these by `--pid`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_cgroup::exec::{BACKGROUND, GUESTS, STUDY};
    use std::collections::BTreeMap;

    #[test]
    fn what_is_not_guarded_counts_as_foreground_work_which_is_reported_once() {
        let mut targets = Targets::default();
        // As where another guard has taken a client that was started again.
        let refused = Fault::usage("another guard has the group of BOINC");
        let note =
            "BOINC is not guarded, and counts as foreground work here: another guard has the group of BOINC";
        assert_eq!(targets.refuse(NAME, &refused).as_deref(), Some(note));
        targets.reported = std::mem::take(&mut targets.refused);
        assert_eq!(targets.refuse(NAME, &refused), None);
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
        assert!(!GUESTS.starts_with(BACKGROUND) && !STUDY.starts_with(BACKGROUND));
    }
}
