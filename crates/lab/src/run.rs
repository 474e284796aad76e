//! A run, from the cluster's creation to the journal's last line.

use crosstalk_core::Fault;
use crosstalk_core::record::{AttemptId, Status};
use crosstalk_core::testbed::Link;
use crosstalk_study::plan::{Place, Plan};
use crosstalk_study::samples::Run;

use crate::agent_pool::{AgentId, AgentPool};
use crate::journal::Journal;
use crate::lab::{Ending, RunInputs};
use crate::progress::{Event, Progress};
use crate::ranges;
use crate::runner::Runner;

/// Runs the plan's current stage. `before` is the journal of a run to resume; without one a new run begins.
///
/// However the run ends, the journal's last line says how. The cluster is removed
/// when this returns.
///
/// # Errors
/// Faults of the testbed, the journal or the folder of results. Failed attempts are no errors.
pub fn run(lab: &RunInputs, before: Option<Journal>, progress: &mut dyn Progress) -> Result<Ending, Fault> {
    let resuming = before.is_some();
    let journal = before.map_or_else(|| Journal::create(&lab.dir.journal_path()), Ok)?;
    let next = next_attempt(journal.run(), lab)?;
    let stage = lab.plan.of_current_stage();
    let mut runner = Runner::new(lab, &stage, journal, next, progress);
    runner.write_first_lines()?;

    let mut created = None;
    let outcome =
        create_cluster(lab, &mut runner, resuming).and_then(|pool| runner.run_blocks(created.insert(pool)));
    let ending = match outcome {
        Ok(ending) => ending,
        // A failure after an interruption is most likely its consequence: a terminal's
        // Ctrl-C also reaches processes that are being started.
        Err(_) if lab.is_interrupted() => Ending::interrupted(),
        Err(fault) => {
            // If the journal has failed, this line is lost too.
            let _ = runner.write_last_line(&Ending { status: Status::Failed, why: fault.to_string() });
            return Err(fault);
        }
    };
    let replayed = match &created {
        Some(pool) if ending.status == Status::Finished => {
            record_over_ranges(lab, &stage, pool, runner.progress)
        }
        _ => Ok(()),
    };
    let ending = match replayed {
        Ok(()) => ending,
        // It is resumed with the schedules that were kept.
        Err(_) if lab.is_interrupted() => Ending::interrupted(),
        Err(fault) => {
            let _ = runner.write_last_line(&Ending { status: Status::Failed, why: fault.to_string() });
            return Err(fault);
        }
    };
    runner.write_last_line(&ending)?;
    if ending.status == Status::Finished {
        lab.dir.discard_schedules();
    }
    match created {
        Some(mut pool) if ending.status == Status::Finished => record_final_facts(lab, &mut pool)?,
        _ => {}
    }
    Ok(ending)
}

/// Records what the cells show over the ranges of the clusters' parameters.
fn record_over_ranges(
    lab: &RunInputs,
    stage: &Plan,
    pool: &AgentPool,
    progress: &mut dyn Progress,
) -> Result<(), Fault> {
    match ranges::over_ranges(lab, stage, pool.shared_folder(), progress)? {
        Some(ranges) => lab.dir.record_ranges(ranges),
        None => Ok(()),
    }
}

/// Creates the nodes, and records their facts.
fn create_cluster<'a>(
    lab: &'a RunInputs,
    runner: &mut Runner,
    resuming: bool,
) -> Result<AgentPool<'a>, Fault> {
    let what = format!("raising the {} testbed", lab.testbed.name());
    runner.progress.event(Event::Preparing { what });
    if lab.is_interrupted() {
        return Err(Fault::interrupted());
    }
    let mut pool = AgentPool::new(lab.testbed.create(lab.plan.nodes())?, lab.interrupted);
    let facts = pool.request_facts(&first_agents(lab.plan))?;
    // Links that cannot be set are reported now, not after hours of attempts.
    real_places(lab).into_iter().try_for_each(|place| pool.set_links(place))?;
    lab.dir.record_facts_at_start(&facts, &absences(lab, &pool), resuming)?;
    lab.dir.restore_schedules(pool.shared_folder().as_deref())?;
    Ok(pool)
}

/// Properties of a real cluster that virtual time does not have.
const VIRTUAL: [&str; 2] = [
    "in virtual time computing takes what it takes on this machine's cores, caches and memory, over the node's speed",
    "in virtual time a network is what its parameters say: no loss, no congestion control, no interrupts",
];

/// Properties of a real cluster that the nodes do not have, as far as they matter to a measurement.
fn absences(lab: &RunInputs, pool: &AgentPool) -> Vec<String> {
    let any = |place: fn(&Place) -> bool| lab.plan.runnable().any(|cell| place(&cell.scene.place));
    let mut absences = Vec::new();
    if any(|place| matches!(place, Place::Virtual { .. })) {
        absences.extend(VIRTUAL.map(String::from));
    }
    // A single node has no links.
    if any(|place| matches!(place, Place::Real { .. }) && place.nodes() > 1) {
        absences.extend(pool.absences());
    }
    absences
}

/// Places in real time, in descending order of their links' rate. A scale that suits the first suits all.
fn real_places<'a>(lab: &'a RunInputs) -> Vec<&'a Place> {
    let rate = |place: &Place| match place {
        Place::Real { link: Link::Rate(rate), .. } => rate.0,
        _ => 0.0,
    };
    let places = lab.plan.runnable().map(|cell| &cell.scene.place);
    let mut places: Vec<&Place> = places.filter(|place| matches!(place, Place::Real { .. })).collect();
    places.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    places
}

/// Records the nodes' facts at the end of a run. The run is complete without them, so that
/// an interruption here is no fault.
fn record_final_facts(lab: &RunInputs, pool: &mut AgentPool) -> Result<(), Fault> {
    match pool.request_facts(&first_agents(lab.plan)) {
        Ok(facts) => lab.dir.record_facts_at_end(&facts, &absences(lab, pool)),
        Err(_) if lab.is_interrupted() => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// The first agent of each node that any cell uses.
fn first_agents(plan: &Plan) -> Vec<AgentId> {
    (0..plan.nodes()).map(|node| AgentId::new(0, node)).collect()
}

/// The smallest number that is larger than all attempts' numbers.
fn next_attempt(before: &Run, lab: &RunInputs) -> Result<AttemptId, Fault> {
    let last = before.attempts.iter().map(|a| a.id).max();
    match last {
        None => Ok(0),
        Some(id) if id < AttemptId::from(u32::MAX) => Ok(id + 1),
        Some(id) => Err(Fault::usage(format!("the journal is damaged: it has an attempt number {id}"))
            .at(lab.dir.journal_path().display().to_string())
            .remedy("remove that attempt's lines, or begin a new run")),
    }
}
