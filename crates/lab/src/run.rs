//! A run: how it begins, and how it ends in every case.

use crosstalk_core::Fault;
use crosstalk_core::record::{AttemptId, Status};
use crosstalk_core::testbed::Link;
use crosstalk_study::plan::{Place, Plan};
use crosstalk_study::samples::Run;

use crate::journal::Journal;
use crate::lab::{Ending, Lab};
use crate::progress::{Event, Progress};
use crate::runner::Runner;
use crate::troupe::{Seat, Troupe};

/// Runs the stage of the plan that is to be run now, going on with the journal of a run that was cut short; without one it begins.
///
/// From the first line on, the journal is closed with how the run ended,
/// whatever ends it; and the cluster is gone when this returns.
pub fn run(lab: &Lab, before: Option<Journal>, progress: &mut dyn Progress) -> Result<Ending, Fault> {
    let resuming = before.is_some();
    let journal = before.map_or_else(|| Journal::create(&lab.dir.journal()), Ok)?;
    let next = next_attempt(journal.run(), lab)?;
    let stage = lab.plan.of_current_stage();
    let mut runner = Runner::new(lab, &stage, journal, next, progress);
    runner.open()?;

    let mut raised = None;
    let ended = raise(lab, &mut runner, resuming).and_then(|troupe| runner.blocks(raised.insert(troupe)));
    let ending = match ended {
        Ok(ending) => ending,
        // What fails once the user has interrupted most likely fails for that:
        // a terminal's Ctrl-C reaches whatever was being started.
        Err(_) if lab.is_interrupted() => Ending::interrupted(),
        Err(fault) => {
            // The journal may be what failed; then this line is lost with it.
            let _ = runner.close(&Ending { status: Status::Failed, why: fault.to_string() });
            return Err(fault);
        }
    };
    runner.close(&ending)?;
    match raised {
        Some(mut troupe) if ending.status == Status::Finished => last_facts(lab, &mut troupe)?,
        _ => {}
    }
    Ok(ending)
}

/// Raises the nodes, and notes what they are.
fn raise<'a>(lab: &'a Lab, runner: &mut Runner, resuming: bool) -> Result<Troupe<'a>, Fault> {
    let what = format!("raising the {} testbed", lab.testbed.name());
    runner.progress.event(Event::Preparing { what });
    if lab.is_interrupted() {
        return Err(Fault::interrupted());
    }
    let mut troupe = Troupe::new(lab.testbed.raise(lab.plan.nodes())?, lab.interrupted);
    let facts = troupe.facts(&seats(lab.plan))?;
    // What cannot be is told now, not after hours of attempts.
    links(lab).into_iter().try_for_each(|place| troupe.link(place))?;
    lab.dir.record_before(&facts, &absences(lab, &troupe), resuming)?;
    Ok(troupe)
}

/// What virtual time does not have of a real cluster: it has no use for the testbed's links.
const VIRTUAL: [&str; 2] = [
    "in virtual time computing takes what it takes on this machine's cores, caches and memory, over the node's speed",
    "in virtual time a network is what its parameters say: no loss, no congestion control, no interrupts",
];

/// What of a real cluster the nodes do not have; nothing where none of it is measured.
fn absences(lab: &Lab, troupe: &Troupe) -> Vec<String> {
    let any = |place: fn(&Place) -> bool| lab.plan.runnable().any(|cell| place(&cell.scene.place));
    let mut absences = Vec::new();
    if any(|place| matches!(place, Place::Virtual { .. })) {
        absences.extend(VIRTUAL.map(String::from));
    }
    // One node by itself has no links.
    if any(|place| matches!(place, Place::Real { .. }) && place.nodes() > 1) {
        absences.extend(troupe.absences());
    }
    absences
}

/// Places in real time, those with the fastest links first: a scale at which these are held does for the rest.
fn links<'a>(lab: &'a Lab) -> Vec<&'a Place> {
    let rate = |place: &Place| match place {
        Place::Real { link: Link::Rate(rate), .. } => rate.0,
        _ => 0.0,
    };
    let places = lab.plan.runnable().map(|cell| &cell.scene.place);
    let mut places: Vec<&Place> = places.filter(|place| matches!(place, Place::Real { .. })).collect();
    places.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    places
}

/// Notes what the nodes are at the end of a run that is complete without it:
/// who interrupts now has all the samples.
fn last_facts(lab: &Lab, troupe: &mut Troupe) -> Result<(), Fault> {
    match troupe.facts(&seats(lab.plan)) {
        Ok(facts) => lab.dir.record_after(&facts, &absences(lab, troupe)),
        Err(_) if lab.is_interrupted() => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// An agent on each node that any cell uses.
fn seats(plan: &Plan) -> Vec<Seat> {
    (0..plan.nodes()).map(|node| (0, node)).collect()
}

/// The first number that no attempt has.
fn next_attempt(before: &Run, lab: &Lab) -> Result<AttemptId, Fault> {
    let last = before.attempts.iter().map(|a| a.id).max();
    match last {
        None => Ok(0),
        Some(id) if id < AttemptId::from(u32::MAX) => Ok(id + 1),
        Some(id) => Err(Fault::usage(format!("it is damaged: it has an attempt number {id}"))
            .at(lab.dir.journal().display().to_string())
            .remedy("take that attempt's lines out, or begin a new run")),
    }
}
