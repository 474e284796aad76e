//! All groups of background work that are guarded here.

use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::Ledger;

use super::guarded_group::GuardedGroup;
use crosstalk_cgroup::group::{Group, Hierarchy, OwnGroup};
use crosstalk_diagnose::{Snapshot, level_of};
use crosstalk_policy::Offers;

/// The groups, and what people should know of them.
#[derive(Debug)]
pub(super) struct GuardedGroups {
    pub(super) list: Vec<GuardedGroup>,
    pub(super) hierarchy: Hierarchy,
    pub(super) ledger: Ledger,
    /// What was not reported yet, each once.
    pub(super) notes: Vec<String>,
}

impl GuardedGroups {
    /// None yet.
    pub(super) fn new(hierarchy: Hierarchy, ledger: &Ledger) -> Self {
        GuardedGroups { list: Vec::new(), hierarchy, ledger: ledger.clone(), notes: Vec::new() }
    }

    /// See [`GuardedGroup::new`].
    pub(super) fn guard(
        &self,
        name: &str,
        group: Group,
        made: Option<OwnGroup>,
    ) -> Result<GuardedGroup, Fault> {
        GuardedGroup::new(name, group, made, &self.hierarchy, &self.ledger)
    }

    /// It is guarded from now on, which is reported, with what protects foreground work less there.
    pub(super) fn add(&mut self, group: GuardedGroup) {
        self.notes.push(format!("{} is guarded from now on", group.name));
        if !group.is_asked() && !group.offers().idle {
            self.notes.push(why_not_idle(&group));
        }
        self.list.push(group);
    }

    /// Checks each; see [`GuardedGroup::renew`].
    pub(super) fn renew(&mut self) {
        self.list.iter_mut().for_each(|group| group.renew(&self.hierarchy));
        self.collect_complaints();
    }

    /// Takes over what the groups have to report.
    pub(super) fn collect_complaints(&mut self) {
        for group in &mut self.list {
            let complaints = group.complaints().into_iter();
            self.notes.extend(complaints.map(|complaint| format!("{}: {complaint}", group.name)));
        }
    }

    /// The processes of each.
    pub(super) fn processes_of_each(&self) -> Vec<Vec<u32>> {
        self.list.iter().map(|group| group.group().processes()).collect()
    }

    /// CPU time so far of the group that a process is in; none where it is in none any more.
    pub(super) fn cpu_of(&self, pid: u32) -> Duration {
        let mut groups = self.list.iter();
        let its = groups.find(|group| group.group().processes().contains(&pid));
        its.map_or(Duration::ZERO, |group| group.usage.last_cpu())
    }

    /// All processes, in order.
    pub(super) fn processes(&self) -> Vec<u32> {
        let mut all = self.processes_of_each().concat();
        all.sort_unstable();
        all
    }

    /// See [`all_offers`].
    pub(super) fn offers(&self) -> Offers {
        all_offers(self.list.iter().map(GuardedGroup::offers))
    }
}

/// Why a group's idle class does not protect everybody, and what would.
fn why_not_idle(group: &GuardedGroup) -> String {
    let (why, remedy) = match level_of(&Snapshot::take(), &group.group().processes()) {
        Some((level, line)) => (
            format!("{level}, in which it is, would have to be in that class"),
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

/// What can be done to several groups together: whatever can be done to one of them. What cannot be done to another is
/// left out there. Only where all are in the idle class does background work take no processor from foreground work.
fn all_offers(groups: impl Iterator<Item = Offers>) -> Offers {
    let none = Offers { idle: true, duty_cycle: false, pause: false, cores: false };
    groups.fold(none, |all, one| Offers {
        idle: all.idle && one.idle,
        duty_cycle: all.duty_cycle || one.duty_cycle,
        pause: all.pause || one.pause,
        cores: all.cores || one.cores,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_group_that_cannot_be_paused_leaves_the_others_paused() {
        let service = Offers { idle: true, duty_cycle: true, pause: true, cores: true };
        let file_server = Offers { duty_cycle: false, pause: false, ..service };
        assert_eq!(all_offers([service, file_server].into_iter()), service);
        let competes = Offers { idle: false, ..service };
        assert_eq!(all_offers([service, competes].into_iter()), competes);
    }
}
