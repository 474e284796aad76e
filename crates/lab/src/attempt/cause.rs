//! Why an attempt failed: the first cause, not what followed from it.

use std::time::Duration;

use crosstalk_core::fault::Member;
use crosstalk_core::message::Outcome;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::load;
use crosstalk_study::plan::Scene;

use crate::troupe::{GLANCE, Seat};

/// The node that a fault is about, where another one reports it.
fn blamed(fault: &Fault, reporter: Seat) -> Option<usize> {
    fault.node().filter(|node| *node != reporter.1)
}

/// Whether one fault is the cause of another: that one is about its reporter, or about somebody who went away,
/// and this one is its reporter's own.
pub fn explains((cause, reporter): (&Fault, Seat), (first, seat): (&Fault, Seat)) -> bool {
    let is_own = blamed(cause, reporter).is_none() && cause.kind != FaultKind::Gone;
    let follows = match blamed(first, seat) {
        Some(node) => node == reporter.1,
        None => first.kind == FaultKind::Gone,
    };
    is_own && follows
}

/// The fault of a part that has not ended well.
pub fn failed(scene: &Scene, seat: Seat, outcome: Outcome) -> Fault {
    let fault = match outcome {
        Outcome::Failed { fault } if fault.kind == FaultKind::Interrupted => Fault::attempt("cancelled"),
        Outcome::Failed { fault } => fault,
        Outcome::Finished { .. } => Fault::attempt("ended before it was told to go"),
    };
    // Some say themselves which node it is about, perhaps another than their own.
    let role = scene.work.keys().nth(seat.0).filter(|_| scene.work.len() > 1);
    let member = || Box::new(Member { node: seat.1, role: role.cloned() });
    Fault { about: Some(fault.about.unwrap_or_else(member)), ..fault }
}

/// The deadline has passed. Where the machine is busy that may be why.
pub fn too_late(deadline: Duration, awaits: &str) -> Fault {
    let waited = format!("not finished after {:.0} s: it waited {awaits}", deadline.as_secs_f64());
    let more = "give it more time with --deadline, such as --deadline '5 min'";
    match load::busy(GLANCE).filter(|busy| busy.share() > load::TOO_BUSY) {
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
    fn a_node_that_others_miss_knows_why() {
        let (first, second, third) = ((0, 0), (0, 1), (0, 2));
        let burns = Fault::attempt("the disk is on fire").on(1);
        let misses = |node| Fault::gone("the node is gone").on(node);
        let elsewhere = Fault::gone("the other end went away").on(0);
        assert!(explains((&burns, second), (&misses(1), first)), "it was named");
        assert!(explains((&burns, second), (&elsewhere, first)), "somebody was");
        assert!(!explains((&burns, second), (&misses(2), first)), "another was named");
        assert!(!explains((&misses(1), third), (&misses(1), first)), "it misses it, too");
        assert!(!explains((&burns, second), (&Fault::attempt("broken").on(0), first)), "both have their own");
    }
}
