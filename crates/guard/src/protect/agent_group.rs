//! Agents of background work in a group of ours, with all that they start. What holds in the group holds from when the
//! work is steady until it is to end: in the idle class, on a machine that others load, it would do neither in time.

use crosstalk_core::Fault;
use crosstalk_core::scene::AppliedCondition;
use crosstalk_host::Ledger;
use crosstalk_host::cpu::allowed;

use crosstalk_cgroup::exec::{STUDY, leave_idle_class, set_idle_class};
use crosstalk_cgroup::group::{Group, OwnGroup, Setting, tighten};

/// What holds in the group while foreground work runs.
pub(super) enum Limit {
    /// It runs only where nothing beside it wants to.
    CpuIdle,
    /// It gets this share of the time of all processors at most.
    Quota(f64),
    /// It yields processors and devices to all that runs beside it.
    IdleClass,
}

impl Limit {
    fn set(&self, group: &Group) -> Result<(), Fault> {
        match self {
            Limit::CpuIdle => group.set(&Setting::Idle(true)),
            Limit::Quota(share) => tighten(group, &Setting::Quota(Some(share * allowed().len() as f64))),
            Limit::IdleClass => set_idle_class(group),
        }
    }

    fn lift(&self, group: &Group) -> Result<(), Fault> {
        match self {
            Limit::CpuIdle => group.set(&Setting::Idle(false)),
            Limit::Quota(_) => group.set(&Setting::Quota(None)),
            Limit::IdleClass => leave_idle_class(group),
        }
    }
}

/// The agents go back to where they were with the drop; what else is in the group then ends with it.
pub(super) struct AgentGroup {
    homes: Vec<(u32, Group)>,
    limit: Limit,
    // Dropped when the agents are out of it.
    made: OwnGroup,
}

impl AgentGroup {
    /// Makes a group and moves the `background` processes there; `limit` holds in it from
    /// [`AppliedCondition::begin`] to [`AppliedCondition::end`].
    ///
    /// # Errors
    /// Where no group can be made; all is as before then.
    pub(super) fn new(background: &[u32], limit: Limit, ledger: &Ledger) -> Result<AgentGroup, Fault> {
        let made = OwnGroup::new(STUDY, ledger)?;
        let mut group = AgentGroup { homes: Vec::new(), limit, made };
        for pid in background {
            let home = Group::of_process(*pid)?.parted(|tree| group.group().dir(tree).is_some()).0;
            group.homes.push((*pid, home));
            group.made.group().take_in(*pid)?;
        }
        Ok(group)
    }

    /// The group.
    pub(super) fn group(&self) -> &Group {
        self.made.group()
    }
}

impl AppliedCondition for AgentGroup {
    fn begin(&mut self) -> Result<(), Fault> {
        self.limit.set(self.group())
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.limit.lift(self.group())
    }
}

impl Drop for AgentGroup {
    fn drop(&mut self) {
        for (pid, home) in &self.homes {
            // An agent that cannot go back ends with the group, and another is started in its place.
            let _ = home.take_in(*pid);
        }
    }
}
