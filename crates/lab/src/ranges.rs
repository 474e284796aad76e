//! Replays a run's work over the ranges of its clusters' parameters, once all blocks are done.

use std::path::PathBuf;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::record::Reading;
use crosstalk_core::units::Seconds;
use crosstalk_study::plan::{Cell, Plan, PlannedExperiment};
use crosstalk_study::ranges::{Ranges, requested_metrics};
use crosstalk_study::uncertain::Uncertainty;

use crate::lab::RunInputs;
use crate::progress::{Event, Progress};

/// A cell whose work is replayed, with the cluster that it runs on.
struct ReplayedCell<'a> {
    experiment: &'a PlannedExperiment,
    cell: &'a Cell,
    cluster: Emulation,
}

fn replayed_cells<'a>(lab: &RunInputs, plan: &'a Plan) -> Result<Vec<ReplayedCell<'a>>, Fault> {
    let mut cells = Vec::new();
    for experiment in &plan.experiments {
        for cell in experiment.runnable().filter(|cell| cell.can_be_replayed()) {
            if let Some(cluster) = crosstalk_study::emulation(lab.catalogues, &cell.scene.place)? {
                cells.push(ReplayedCell { experiment, cell, cluster });
            }
        }
    }
    Ok(cells)
}

/// What the cells of a stage show over the ranges, by the schedules in the nodes' `shared` folder; `None` where no parameter
/// has a range, or no schedule was kept. Clusters are drawn from the ranges of the whole plan, so that stages have the same.
///
/// # Errors
/// Those of the catalogue, and an interruption.
pub fn over_ranges(
    lab: &RunInputs,
    stage: &Plan,
    shared: Option<PathBuf>,
    progress: &mut dyn Progress,
) -> Result<Option<Ranges>, Fault> {
    let all = replayed_cells(lab, lab.plan)?;
    let uncertainty = Uncertainty::of(lab.catalogues, all.iter().map(|cell| &cell.cluster))?;
    if uncertainty.parameters.is_empty() {
        return Ok(None);
    }
    let mut ranges = Ranges::of(&uncertainty, lab.plan.seed);
    let what = format!("replaying over the ranges of {} parameters", uncertainty.parameters.len());
    progress.event(Event::Preparing { what });
    let began = Instant::now();
    for cell in replayed_cells(lab, stage)? {
        if lab.is_interrupted() {
            return Err(Fault::interrupted());
        }
        replay(lab, &cell, &uncertainty, shared.clone(), &mut ranges, progress)?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let (cells, clusters) = (ranges.cells.len(), ranges.clusters.len());
    let what = format!("replayed {cells} cells on {clusters} clusters in {seconds:.0} s");
    progress.event(Event::Preparing { what });
    Ok((!ranges.cells.is_empty()).then_some(ranges))
}

/// Adds what a cell shows on each cluster, as far as the study asks for it.
fn replay(
    lab: &RunInputs,
    of: &ReplayedCell,
    uncertainty: &Uncertainty,
    shared: Option<PathBuf>,
    ranges: &mut Ranges,
    progress: &mut dyn Progress,
) -> Result<(), Fault> {
    let requested = requested_metrics(lab.study, of.experiment);
    let Some(work) = of.cell.scene.work.values().next().filter(|_| !requested.is_empty()) else {
        return Ok(());
    };
    let system = &lab.catalogues.find_system(&of.cluster.system)?.0.name;
    let clusters: Vec<Emulation> =
        ranges.clusters.iter().map(|points| uncertainty.at(points, &of.cluster, system)).collect();
    let part = Part {
        workload: work.kind.clone(),
        params: work.params.clone(),
        node: 0,
        nodes: work.nodes,
        addresses: Vec::new(),
        emulation: Some(of.cluster.clone()),
        deadline: Seconds(0.0),
        shared,
        keep_schedule: true,
        scratch: PathBuf::new(),
        artifacts: None,
        seed: lab.plan.seed,
    };
    match lab.registry.workload(&work.kind)?.on_clusters(&part, &clusters) {
        Ok(Some(mut replayed)) => {
            let keep = |readings: &mut Vec<Reading>| readings.retain(|one| requested.has(&one.metric));
            replayed.iter_mut().for_each(keep);
            ranges.add(of.cell.id.clone(), &replayed);
        }
        Ok(None) => {}
        // What was measured stands without it.
        Err(fault) => {
            let text = format!("{} was not replayed over ranges: {}", of.cell.id, fault.sentence());
            progress.event(Event::Warning { text });
        }
    }
    Ok(())
}
