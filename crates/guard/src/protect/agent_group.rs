//! Agents of background work in a group of ours, with all that they start. What holds in the group is set once the
//! work is steady: in the idle class it would never become so on a machine that others load.

use crosstalk_core::Fault;
use crosstalk_core::scene::AppliedCondition;
use crosstalk_host::Ledger;

use crosstalk_cgroup::exec::STUDY;
use crosstalk_cgroup::group::{Group, OwnGroup};

/// Sets what holds in a group.
pub(super) type Settle = Box<dyn Fn(&Group) -> Result<(), Fault> + Send>;

/// The agents go back to where they were with the drop; what else is in the group then ends with it.
pub(super) struct AgentGroup {
    homes: Vec<(u32, Group)>,
    settle: Settle,
    // Dropped when the agents are out of it.
    made: OwnGroup,
}

impl AgentGroup {
    /// Makes a group and moves the `background` processes there; `settle` sets what holds in it from
    /// [`AppliedCondition::begin`] on.
    ///
    /// # Errors
    /// Where no group can be made; all is as before then.
    pub(super) fn new(background: &[u32], settle: Settle, ledger: &Ledger) -> Result<AgentGroup, Fault> {
        let made = OwnGroup::new(STUDY, ledger)?;
        let mut group = AgentGroup { homes: Vec::new(), settle, made };
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
        (self.settle)(self.group())
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
