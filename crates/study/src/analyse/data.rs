//! A run put in order: what each planned cell showed in each block.

use crosstalk_core::cell::CellId;
use crosstalk_core::record::{Better, Metric, Observation, Origin, Status};
use crosstalk_core::value::{Levels, Value};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::cell::{ByBlock, Cell};
use super::split;
use super::summary::attempt_value;
use crate::label;
use crate::plan::{Plan, PlannedExperiment};
use crate::query::MetricQuery;
use crate::samples::{Attempt, Run};

/// A run's attempts by experiment, cell and block.
pub struct Data<'a> {
    /// What was planned.
    pub plan: &'a Plan,
    /// What was run.
    pub run: &'a Run,
    /// The planned experiments, in plan order.
    pub experiments: Vec<Experiment<'a>>,
    /// The numbers of the complete blocks, ascending.
    pub complete: Vec<usize>,
    /// How many attempts are of cells that the plan does not have.
    pub unplanned: usize,
    /// Whether its blocks are clusters on which one recording was replayed: without noise, and each by itself.
    pub is_replayed: bool,
    /// Index of each experiment, by name: plans may have thousands.
    indices: HashMap<&'a str, usize>,
}

/// A planned experiment with its attempts.
pub struct Experiment<'a> {
    /// What was planned.
    pub planned: &'a PlannedExperiment,
    /// In plan order.
    pub cells: Vec<Cell<'a>>,
    /// The metrics that the journal declares.
    declared: &'a [Metric],
}

impl<'a> Data<'a> {
    /// Sorts the attempts of a run by experiment, cell and block.
    pub fn new(plan: &'a Plan, run: &'a Run) -> Self {
        let mut index = 0..;
        let mut cells = |planned: &'a PlannedExperiment| -> Vec<Cell<'a>> {
            planned.cells.iter().zip(&mut index).map(|(cell, index)| Cell::new(cell, index)).collect()
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
                Some(cell) => cell.add_attempt(attempt),
                None => unplanned += 1,
            }
        }
        let names = plan.experiments.iter().map(|planned| planned.name.as_str());
        let complete = complete_blocks(&mut experiments);
        let indices = names.zip(0..).collect();
        Data { plan, run, experiments, complete, unplanned, is_replayed: false, indices }
    }

    /// A run with this one `attempt` at every cell that this host can run.
    pub fn with_attempts(plan: &'a Plan, run: &'a Run, attempt: &'a Attempt) -> Self {
        let mut data = Data::new(plan, run);
        let cells = data.experiments.iter_mut().flat_map(|experiment| &mut experiment.cells);
        cells.filter(|cell| !cell.cannot_run()).for_each(|cell| cell.add_attempt(attempt));
        data
    }

    /// The experiment of that name.
    pub fn experiment(&self, name: &str) -> Option<&Experiment<'a>> {
        self.indices.get(name).map(|&index| &self.experiments[index])
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

    /// A cell's numbers of a metric query, by block.
    pub fn values(&self, cell: &Cell, metric: &str) -> Rc<ByBlock> {
        if let Some(values) = cell.cache.borrow().get(metric) {
            return Rc::clone(values);
        }
        let values = Rc::new(self.by_block(cell, &MetricQuery::new(metric)));
        cell.cache.borrow_mut().insert(metric.to_string(), Rc::clone(&values));
        values
    }

    /// As [`Experiment::values`], of the readings that have these `labels`.
    pub fn labelled(&self, cell: &Cell, metric: &str, labels: &Levels) -> Rc<ByBlock> {
        match labels.is_empty() {
            true => self.values(cell, metric),
            false => Rc::new(self.by_block(cell, &MetricQuery::new(metric).at(labels))),
        }
    }

    fn by_block(&self, cell: &Cell, query: &MetricQuery) -> ByBlock {
        if query.share {
            return split::share_of_time(cell, query.metric);
        }
        let metric = self.metric(query.metric);
        let of = |attempt: &Attempt| attempt_value(&attempt.readings, query, &metric);
        cell.counted_attempts().filter_map(|(block, attempt)| Some((block, of(attempt)?))).collect()
    }

    /// Whether any reading of a metric is a histogram.
    pub fn has_histograms(&self, metric: &str) -> bool {
        let name = MetricQuery::new(metric).metric;
        let counted = self.cells.iter().filter_map(|cell| cell.counted_attempts().next());
        counted
            .flat_map(|(_, attempt)| &attempt.readings)
            .any(|reading| reading.metric == name && matches!(reading.observation, Observation::Histogram(_)))
    }
}

/// The values of a label in some cells, as levels: numbers ascending, others in the order of their first appearance.
pub fn levels_of_label<'a>(cells: impl IntoIterator<Item = &'a Cell<'a>>, name: &str) -> Vec<Value> {
    let readings =
        cells.into_iter().flat_map(Cell::counted_attempts).flat_map(|(_, attempt)| attempt.readings.iter());
    let mut seen = BTreeSet::new();
    let value = readings.filter_map(|reading| reading.labels.get(name)).filter(|value| seen.insert(*value));
    let mut levels: Vec<Value> = value.map(|value| label::level(name, value)).collect();
    let numbers: Option<Vec<f64>> = levels.iter().map(|level| Some(level.in_base_unit()?.0)).collect();
    if let Some(numbers) = numbers {
        let mut order: Vec<(f64, Value)> = numbers.into_iter().zip(levels).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        levels = order.into_iter().map(|(_, level)| level).collect();
    }
    levels
}

/// The origins of a metric's readings in these cells.
pub fn origins<'a>(cells: impl IntoIterator<Item = &'a Cell<'a>>, metric: &str) -> BTreeSet<Origin> {
    let name = MetricQuery::new(metric).metric;
    let readings =
        cells.into_iter().flat_map(Cell::counted_attempts).flat_map(|(_, attempt)| attempt.readings.iter());
    readings.filter(|reading| reading.metric == name).map(|reading| reading.origin).collect()
}

/// The blocks that are complete in any stage. Each stage counts its own blocks: with several stages, the tries in a
/// block that is not complete in a stage are left out of that stage's cells.
fn complete_blocks(experiments: &mut [Experiment]) -> Vec<usize> {
    let stages: BTreeSet<usize> = experiments.iter().map(|experiment| experiment.planned.stage).collect();
    let mut all = BTreeSet::new();
    for &stage in &stages {
        let here = |experiment: &&Experiment| experiment.planned.stage == stage;
        let complete = complete_in_stage(&experiments.iter().filter(here).collect::<Vec<_>>());
        if stages.len() > 1 {
            let cells = experiments.iter_mut().filter(|experiment| experiment.planned.stage == stage);
            cells.flat_map(|experiment| &mut experiment.cells).for_each(|cell| cell.keep_blocks(&complete));
        }
        all.extend(complete);
    }
    all.into_iter().collect()
}

/// A block is complete when a later one has begun, or when an attempt at every cell has ended in it. The latter does
/// without cells that this host cannot run, that were given up, or that earlier blocks do not have either.
fn complete_in_stage(experiments: &[&Experiment]) -> BTreeSet<usize> {
    let cells = || experiments.iter().flat_map(|e| &e.cells);
    let seen: BTreeSet<usize> = cells().flat_map(|cell| cell.last_try.keys().copied()).collect();
    let Some(&newest) = seen.last() else { return BTreeSet::new() };
    let ended = |attempt: &Attempt| matches!(attempt.status, Status::Finished | Status::Failed);
    let newest_is_complete =
        experiments.iter().filter(|e| e.planned.runs_in(newest)).flat_map(|e| &e.cells).all(
            |cell| match cell.last_try.get(&newest) {
                Some(attempt) => ended(attempt),
                None => cell.cannot_run() || cell.is_given_up() || seen.len() > 1 && cell.last_try.is_empty(),
            },
        );
    seen.into_iter().filter(|block| *block < newest || newest_is_complete).collect()
}
