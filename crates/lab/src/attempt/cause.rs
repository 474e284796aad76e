//! The cause of an attempt's failure, among the faults that its nodes report.

use std::time::Duration;

use crosstalk_core::fault::Member;
use crosstalk_core::message::Outcome;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::load;
use crosstalk_study::plan::Scene;

use crate::agent_pool::{AgentId, POLL_INTERVAL};

/// The node that a fault is about, if that is another one than its reporter's.
fn blamed_node(fault: &Fault, reporter: AgentId) -> Option<usize> {
    fault.node().filter(|node| *node != reporter.node)
}

/// Whether the fault `cause` of its reporter is the cause of another agent's fault. It is if `cause` is about
/// its reporter itself, and the other fault says that this node, or some node, is gone.
pub fn explains((cause, reporter): (&Fault, AgentId), (other, agent): (&Fault, AgentId)) -> bool {
    let is_about_itself = blamed_node(cause, reporter).is_none() && cause.kind != FaultKind::Gone;
    let follows = match blamed_node(other, agent) {
        Some(node) => node == reporter.node,
        None => other.kind == FaultKind::Gone,
    };
    is_about_itself && follows
}

/// The fault of a part that has not finished, with its node and role.
pub fn part_fault(scene: &Scene, agent: AgentId, outcome: Outcome) -> Fault {
    let fault = match outcome {
        Outcome::Failed { fault } if fault.kind == FaultKind::Interrupted => Fault::attempt("cancelled"),
        Outcome::Failed { fault } => fault,
        Outcome::Finished { .. } => Fault::attempt("ended before it was started"),
    };
    // The fault may name another node already.
    let role = scene.work.keys().nth(agent.slot).filter(|_| scene.work.len() > 1);
    let member = || Box::new(Member { node: agent.node, role: role.cloned() });
    Fault { about: Some(fault.about.unwrap_or_else(member)), ..fault }
}

/// The fault of an attempt whose deadline has passed. It mentions the machine's load if that is high.
pub fn deadline_fault(deadline: Duration, awaits: &str) -> Fault {
    let waited = format!("not finished after {:.0} s: it waited {awaits}", deadline.as_secs_f64());
    let more = "give it more time with --deadline, such as --deadline '5 min'";
    match load::busy(POLL_INTERVAL).filter(|busy| busy.share() > load::TOO_BUSY) {
        Some(busy) => Fault::attempt(format!(
            "{waited}, while {:.0} % of the time of {} processors was in use",
            busy.share() * 100.0,
            busy.processors
        ))
        .remedy(format!("stop what else uses them (see `top`), or {more}")),
        None => Fault::attempt(waited).remedy(format!("{more}, or look for what hangs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fault_of_a_node_explains_that_others_miss_it() {
        let [first, second, third] = [0, 1, 2].map(|node| AgentId::new(0, node));
        let on_fire = Fault::attempt("the disk is on fire").on(1);
        let misses = |node| Fault::gone("the node is gone").on(node);
        let misses_some = Fault::gone("the connection ended").on(0);
        assert!(explains((&on_fire, second), (&misses(1), first)), "it was named");
        assert!(explains((&on_fire, second), (&misses_some, first)), "some node was missed");
        assert!(!explains((&on_fire, second), (&misses(2), first)), "another was named");
        assert!(!explains((&misses(1), third), (&misses(1), first)), "both miss the same node");
        assert!(!explains((&on_fire, second), (&Fault::attempt("broken").on(0), first)), "two faults");
    }
}
