//! Replays a run's work over the ranges of its clusters' parameters, once all blocks are done.

use std::path::PathBuf;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::record::Reading;
use crosstalk_core::units::Seconds;
use crosstalk_study::plan::{Cell, Place, Plan, PlannedExperiment};
use crosstalk_study::ranges::{Ranges, asked_of};
use crosstalk_study::uncertain::Uncertainty;

use crate::lab::RunInputs;
use crate::progress::{Event, Progress};

/// Whether a cell's work is replayed over ranges: it is the only work on an emulated cluster whose links are the system's own.
/// Other links are set, not uncertain.
pub fn is_replayed(cell: &Cell) -> bool {
    let own_links = matches!(&cell.scene.place, Place::Virtual { links, .. } if links.is_unchanged());
    own_links && cell.scene.work.len() == 1
}

/// What the cells of a stage show over the ranges, by the schedules in the nodes' `shared` folder; `None` where no parameter
/// has a range, or no schedule was kept.
///
/// # Errors
/// Those of the catalogue and of replays.
pub fn over_ranges(
    lab: &RunInputs,
    stage: &Plan,
    shared: Option<PathBuf>,
    progress: &mut dyn Progress,
) -> Result<Option<Ranges>, Fault> {
    let cells: Vec<(&PlannedExperiment, &Cell)> = stage
        .experiments
        .iter()
        .flat_map(|experiment| experiment.runnable().map(move |cell| (experiment, cell)))
        .filter(|(_, cell)| is_replayed(cell))
        .collect();
    let emulated = |(_, cell): &(&PlannedExperiment, &Cell)| {
        crosstalk_study::emulation(lab.catalogues, &cell.scene.place).transpose()
    };
    let clusters = cells.iter().filter_map(emulated).collect::<Result<Vec<Emulation>, Fault>>()?;
    let uncertainty = Uncertainty::of(lab.catalogues, &clusters)?;
    if uncertainty.parameters.is_empty() {
        return Ok(None);
    }
    let mut ranges = Ranges::of(&uncertainty, lab.plan.seed);
    let what = format!("replaying over the ranges of {} parameters", uncertainty.parameters.len());
    progress.event(Event::Preparing { what });
    let began = Instant::now();
    for ((experiment, cell), cluster) in cells.into_iter().zip(&clusters) {
        if lab.is_interrupted() {
            return Err(Fault::interrupted());
        }
        let asked = asked_of(lab.study, experiment);
        if asked.is_empty() {
            continue;
        }
        let system = &lab.catalogues.find_system(&cluster.system)?.0.name;
        let others: Vec<Emulation> =
            ranges.clusters.iter().map(|points| uncertainty.at(points, cluster, system)).collect();
        for work in cell.scene.work.values() {
            let part = Part {
                workload: work.kind.clone(),
                params: work.params.clone(),
                node: 0,
                nodes: work.nodes,
                addresses: Vec::new(),
                emulation: Some(cluster.clone()),
                deadline: Seconds(0.0),
                shared: shared.clone(),
                keep_schedule: true,
                scratch: PathBuf::new(),
                artifacts: None,
                seed: lab.plan.seed,
            };
            match lab.registry.workload(&work.kind)?.on_clusters(&part, &others) {
                Ok(Some(mut replayed)) => {
                    let keep = |readings: &mut Vec<Reading>| readings.retain(|one| asked.has(&one.metric));
                    replayed.iter_mut().for_each(keep);
                    ranges.add(cell.id.clone(), &replayed);
                }
                Ok(None) => {}
                // What was measured stands without it.
                Err(fault) => {
                    let text = format!("{} was not replayed over ranges: {}", cell.id, fault.sentence());
                    progress.event(Event::Warning { text });
                }
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let what = format!(
        "replayed {} cells on {} clusters in {seconds:.0} s",
        ranges.cells.len(),
        ranges.clusters.len()
    );
    progress.event(Event::Preparing { what });
    Ok((!ranges.cells.is_empty()).then_some(ranges))
}
