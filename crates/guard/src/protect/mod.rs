//! The condition `protect`: what keeps background work from costing foreground work, while both run.
//!
//! | level | background work |
//! |---|---|
//! | `none` | as it is |
//! | `nice` | at nice 19 |
//! | `sched-idle` | under the policy SCHED_IDLE |
//! | `cpu-idle` | in a control group with `cpu.idle` |
//! | `quota N%` | in a control group that gets N % of the time of all processors at most |
//! | `guard`, `guard N%` | in a control group as `crosstalk exec --background` makes it, under `crosstalk guard --slowdown N%` (1 %) |
//!
//! Background work is work that lasts. Its agents are lowered, or put into a group, before they start
//! anything, so that all they start is, too. When the attempt has ended they are as they were. The settings of a group,
//! and the guard, begin once that work is steady, and all ends before that work does: on a machine that others load it
//! would not become steady, or not end. An agent's memory stays charged where it was; what it starts is charged in the
//! group.

mod agent_group;
mod guarded;
mod level;

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::scene::{AppliedCondition, Condition, Scope};
use crosstalk_core::value::Value;
use crosstalk_host::process::{Lower, LoweredPriority};
use crosstalk_host::{Launcher, Ledger};

use agent_group::{AgentGroup, Limit};
use crosstalk_cgroup::exec::groups;
use crosstalk_cgroup::group::Hierarchy;
use guarded::Guarded;
use level::Level;

/// See the module.
pub struct Protect;

impl Condition for Protect {
    fn name(&self) -> &'static str {
        "protect"
    }

    fn needs(&self) -> Vec<Need> {
        vec![groups(&Hierarchy::here())]
    }

    fn scope(&self) -> Scope {
        Scope::Background
    }

    fn check(&self, value: &Value, lasting: bool) -> Result<(), Fault> {
        if Level::parse(value)? != Level::None && !lasting {
            return Err(Fault::usage(
                "no work here lasts: there is no background work to protect foreground work from",
            )
            .remedy("add background work: work.background = { kind = \"burner\" }"));
        }
        Ok(())
    }

    fn apply(
        &self,
        value: &Value,
        background: &dyn Fn() -> Result<Vec<u32>, Fault>,
    ) -> Result<Box<dyn AppliedCondition>, Fault> {
        let ledger = || Ledger::open(&Launcher::current());
        Ok(match Level::parse(value)? {
            Level::None => Box::new(Lowered { processes: Vec::new() }),
            Level::Nice => Box::new(lower(&background()?, Lower::Nice)?),
            Level::SchedIdle => Box::new(lower(&background()?, Lower::Idle)?),
            Level::CpuIdle => Box::new(AgentGroup::new(&background()?, Limit::CpuIdle, &ledger()?)?),
            Level::Quota(share) => {
                Box::new(AgentGroup::new(&background()?, Limit::Quota(share), &ledger()?)?)
            }
            Level::Guard(slowdown) => {
                let group = AgentGroup::new(&background()?, Limit::IdleClass, &ledger()?)?;
                Box::new(Guarded::new(group, slowdown))
            }
        })
    }
}

/// Processes that yield by how they are scheduled, until foreground work has ended.
struct Lowered {
    processes: Vec<LoweredPriority>,
}

impl AppliedCondition for Lowered {
    fn end(&mut self) -> Result<(), Fault> {
        self.processes.clear();
        Ok(())
    }
}

fn lower(background: &[u32], how: Lower) -> Result<Lowered, Fault> {
    let lowered = background.iter().map(|pid| LoweredPriority::begin(*pid, how)).collect::<Result<_, _>>();
    lowered.map(|processes| Lowered { processes }).map_err(|e| {
        Fault::environment(format!("background work cannot be lowered and put back: {e}"))
            .remedy("run it as root, or allow nice values down to 0: ulimit -e 20")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protection_takes_background_work() {
        let check = |level: &str, lasting| Protect.check(&level.into(), lasting);
        assert_eq!(check("none", false), Ok(()));
        assert_eq!(check("guard 5%", true), Ok(()));
        assert!(check("nice", false).expect_err("from what?").message.contains("lasts"));
        assert!(check("nicer", true).is_err());
    }

    #[test]
    fn none_leaves_everything_as_it_is() {
        let process = || crosstalk_cgroup::process::one(std::process::id()).expect("is there");
        let before = process();
        // Not even their processes are asked for: they may be seen nowhere.
        let background = || -> Result<Vec<u32>, Fault> { Err(Fault::environment("they are not seen here")) };
        let mut holding = Protect.apply(&"none".into(), &background).expect("does nothing");
        let now = process();
        assert_eq!((now.nice, now.idle_class, now.groups), (before.nice, before.idle_class, before.groups));
        assert_eq!(holding.end(), Ok(()));
    }
}
