//! A run put in order: what each planned cell showed in each block.

use crosstalk_core::cell::CellId;
use crosstalk_core::record::{Better, Metric, Observation, Origin, Status};
use crosstalk_core::value::{Levels, Value};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::cell::{ByBlock, Cell};
use super::split;
use super::summary::summary;
use crate::label;
use crate::plan::{Plan, PlannedExperiment};
use crate::query::MetricQuery;
use crate::samples::{Attempt, Run};

/// A run by experiment, cell and block.
pub struct Data<'a> {
    /// What was planned.
    pub plan: &'a Plan,
    /// What was run.
    pub run: &'a Run,
    /// The planned experiments, in plan order.
    pub experiments: Vec<Experiment<'a>>,
    /// Numbers of the blocks that were gone through, ascending.
    pub complete: Vec<usize>,
    /// How many attempts are of cells that the plan does not have.
    pub unplanned: usize,
    /// Where each experiment is: plans may have thousands.
    places: HashMap<&'a str, usize>,
}

/// A planned experiment with its attempts.
pub struct Experiment<'a> {
    /// What was planned.
    pub planned: &'a PlannedExperiment,
    /// In plan order.
    pub cells: Vec<Cell<'a>>,
    /// What the journal declares.
    declared: &'a [Metric],
}

impl<'a> Data<'a> {
    /// Puts a run in order.
    pub fn new(plan: &'a Plan, run: &'a Run) -> Self {
        let mut place = 0..;
        let mut cells = |planned: &'a PlannedExperiment| -> Vec<Cell<'a>> {
            planned.cells.iter().zip(&mut place).map(|(cell, place)| Cell::new(cell, place)).collect()
        };
        let mut experiments: Vec<Experiment<'a>> = Vec::new();
        for planned in &plan.experiments {
            experiments.push(Experiment { planned, cells: cells(planned), declared: &run.metrics });
        }
        let all = experiments.iter_mut().flat_map(|experiment| &mut experiment.cells);
        let mut by_id: HashMap<&CellId, &mut Cell<'a>> = all.map(|cell| (cell.id(), cell)).collect();
        let mut unplanned = 0;
        for attempt in &run.attempts {
            match by_id.get_mut(&attempt.cell) {
                Some(cell) => cell.add(attempt),
                None => unplanned += 1,
            }
        }
        let names = plan.experiments.iter().map(|planned| planned.name.as_str());
        let complete = complete_blocks(&mut experiments);
        Data { plan, run, experiments, complete, unplanned, places: names.zip(0..).collect() }
    }

    /// A run in which every cell that this host can run was tried, by this `attempt`, and nothing is known yet.
    pub fn tried(plan: &'a Plan, run: &'a Run, attempt: &'a Attempt) -> Self {
        let mut data = Data::new(plan, run);
        let cells = data.experiments.iter_mut().flat_map(|experiment| &mut experiment.cells);
        cells.filter(|cell| !cell.lacks()).for_each(|cell| cell.add(attempt));
        data
    }

    /// The experiment of that name.
    pub fn experiment(&self, name: &str) -> Option<&Experiment<'a>> {
        self.places.get(name).map(|&place| &self.experiments[place])
    }

    /// Every cell, in plan order.
    pub fn cells(&self) -> impl Iterator<Item = &Cell<'a>> {
        self.experiments.iter().flat_map(|experiment| &experiment.cells)
    }
}

impl<'a> Experiment<'a> {
    /// Its name in the study.
    pub fn name(&self) -> &'a str {
        &self.planned.name
    }

    /// A metric's declaration: the plan's, else the journal's.
    pub fn metric(&self, name: &str) -> Metric {
        let known = self.planned.metrics.iter().chain(self.declared).find(|metric| metric.name == name);
        known.cloned().unwrap_or_else(|| Metric::new(name, "", Better::Neither))
    }

    /// What a cell showed of a metric, block by block.
    pub fn values(&self, cell: &Cell, metric: &str) -> Rc<ByBlock> {
        if let Some(values) = cell.known.borrow().get(metric) {
            return Rc::clone(values);
        }
        let values = Rc::new(self.queried(cell, &MetricQuery::new(metric)));
        cell.known.borrow_mut().insert(metric.to_string(), Rc::clone(&values));
        values
    }

    /// What it showed of those readings that have such labels, too.
    pub fn labelled(&self, cell: &Cell, metric: &str, labels: &Levels) -> Rc<ByBlock> {
        match labels.is_empty() {
            true => self.values(cell, metric),
            false => Rc::new(self.queried(cell, &MetricQuery::new(metric).at(labels))),
        }
    }

    fn queried(&self, cell: &Cell, query: &MetricQuery) -> ByBlock {
        if query.share {
            return split::share(cell, query.metric);
        }
        let metric = self.metric(query.metric);
        let of = |attempt: &Attempt| summary(&attempt.readings, query, &metric);
        cell.counted().filter_map(|(block, attempt)| Some((block, of(attempt)?))).collect()
    }

    /// Whether what was observed of a metric was counted in histograms.
    pub fn has_histograms(&self, metric: &str) -> bool {
        let name = MetricQuery::new(metric).metric;
        let counted = self.cells.iter().filter_map(|cell| cell.counted().next());
        counted
            .flat_map(|(_, attempt)| &attempt.readings)
            .any(|reading| reading.metric == name && matches!(reading.observation, Observation::Histogram(_)))
    }
}

/// The values of a label in some cells, as levels: numbers ascending, others as they were told.
pub fn levels_of_label<'a>(cells: impl IntoIterator<Item = &'a Cell<'a>>, name: &str) -> Vec<Value> {
    let readings = cells.into_iter().flat_map(Cell::counted).flat_map(|(_, attempt)| attempt.readings.iter());
    let mut seen = BTreeSet::new();
    let said = readings.filter_map(|reading| reading.labels.get(name)).filter(|said| seen.insert(*said));
    let mut levels: Vec<Value> = said.map(|said| label::level(name, said)).collect();
    let numbers: Option<Vec<f64>> = levels.iter().map(|level| Some(level.in_base_unit()?.0)).collect();
    if let Some(numbers) = numbers {
        let mut order: Vec<(f64, Value)> = numbers.into_iter().zip(levels).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        levels = order.into_iter().map(|(_, level)| level).collect();
    }
    levels
}

/// Where a metric's values in these cells come from; several where they are mixed.
pub fn origins<'a>(cells: impl IntoIterator<Item = &'a Cell<'a>>, metric: &str) -> BTreeSet<Origin> {
    let name = MetricQuery::new(metric).metric;
    let readings = cells.into_iter().flat_map(Cell::counted).flat_map(|(_, attempt)| attempt.readings.iter());
    readings.filter(|reading| reading.metric == name).map(|reading| reading.origin).collect()
}

/// The blocks that were gone through, of whichever stage. Each stage has its own first, second … block; what a stage
/// of several has not gone through counts for nothing in it.
fn complete_blocks(experiments: &mut [Experiment]) -> Vec<usize> {
    let stages: BTreeSet<usize> = experiments.iter().map(|experiment| experiment.planned.stage).collect();
    let mut all = BTreeSet::new();
    for &stage in &stages {
        let here = |experiment: &&Experiment| experiment.planned.stage == stage;
        let complete = of_stage(&experiments.iter().filter(here).collect::<Vec<_>>());
        if stages.len() > 1 {
            let cells = experiments.iter_mut().filter(|experiment| experiment.planned.stage == stage);
            cells.flat_map(|experiment| &mut experiment.cells).for_each(|cell| cell.only_of(&complete));
        }
        all.extend(complete);
    }
    all.into_iter().collect()
}

/// A block is complete when a later one has begun, or when every cell has ended
/// in it; cells that this host cannot run, that were given up, or that no earlier
/// block could try either, are not waited for.
fn of_stage(experiments: &[&Experiment]) -> BTreeSet<usize> {
    let cells = || experiments.iter().flat_map(|e| &e.cells);
    let seen: BTreeSet<usize> = cells().flat_map(|cell| cell.last.keys().copied()).collect();
    let Some(&newest) = seen.last() else { return BTreeSet::new() };
    let ended = |attempt: &Attempt| matches!(attempt.status, Status::Finished | Status::Failed);
    let gone_through = experiments.iter().filter(|e| e.planned.runs_in(newest)).flat_map(|e| &e.cells).all(
        |cell| match cell.last.get(&newest) {
            Some(attempt) => ended(attempt),
            None => cell.lacks() || cell.given_up() || seen.len() > 1 && cell.last.is_empty(),
        },
    );
    seen.into_iter().filter(|block| *block < newest || gone_through).collect()
}
