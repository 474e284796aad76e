//! A run put in order: what each planned cell showed in each block.
//!
//! Of several tries at a cell in one block the last counts: a resumed run
//! repeats the block that was cut short, and what came before stays, unpaired.
//! A try counts when it finished and was faithful.

use crosstalk_core::record::{Better, Metric, Observation, Origin, Status};
use crosstalk_core::value::{Levels, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::causes;
use super::level::{number, same};
use super::summary::{self, Asked};
use crate::label;
use crate::plan::{Plan, PlannedExperiment};
use crate::samples::{Attempt, Run};

/// Blocks in a row in which a cell fails before the runner gives it up.
pub const GIVE_UP_AFTER: usize = 3;

/// Block → the number a cell showed in it.
pub type ByBlock = BTreeMap<usize, f64>;

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
    /// Attempts of cells that the plan does not have.
    pub strangers: usize,
    /// Where each experiment is: plans may have thousands.
    places: HashMap<&'a str, usize>,
    known: RefCell<HashMap<(usize, usize, String), Rc<ByBlock>>>,
}

/// A planned experiment with its attempts.
pub struct Experiment<'a> {
    /// What was planned.
    pub planned: &'a PlannedExperiment,
    /// By cell, in plan order.
    pub cells: Vec<Cell<'a>>,
}

/// A planned cell with its attempts.
pub struct Cell<'a> {
    /// Its levels.
    pub levels: &'a Levels,
    /// Whether this host cannot run it.
    lacks: bool,
    /// Every try at it.
    pub attempts: Vec<&'a Attempt>,
    /// Block → the last try in it.
    pub last: BTreeMap<usize, &'a Attempt>,
}

/// Whether an attempt's samples count.
pub fn counts(attempt: &Attempt) -> bool {
    attempt.status == Status::Finished && faithful(attempt)
}

/// Within the fidelity monitor's bounds, or not watched by it.
pub fn faithful(attempt: &Attempt) -> bool {
    attempt.fidelity.as_ref().is_none_or(|f| f.faithful())
}

fn ended(attempt: &Attempt) -> bool {
    matches!(attempt.status, Status::Finished | Status::Failed)
}

impl<'a> Data<'a> {
    /// Puts a run in order.
    pub fn new(plan: &'a Plan, run: &'a Run) -> Self {
        let mut experiments: Vec<_> = plan.experiments.iter().map(Experiment::new).collect();
        let names = plan.experiments.iter().map(|planned| planned.name.as_str());
        let names: HashMap<&str, usize> = names.zip(0..).collect();
        let mut strangers = 0;
        let mut places: HashMap<String, Option<(usize, usize)>> = HashMap::new();
        for attempt in &run.attempts {
            let key = format!("{}\n{:?}", attempt.experiment, attempt.levels);
            match places.entry(key).or_insert_with(|| place(&names, &experiments, attempt)) {
                Some((experiment, cell)) => experiments[*experiment].cells[*cell].add(attempt),
                None => strangers += 1,
            }
        }
        let complete = complete_blocks(&experiments);
        Data { plan, run, experiments, complete, strangers, places: names, known: RefCell::default() }
    }

    /// A run in which every cell that this host can run was tried, by this `attempt`, and nothing is known yet.
    pub fn tried(plan: &'a Plan, run: &'a Run, attempt: &'a Attempt) -> Self {
        let mut data = Data::new(plan, run);
        let cells = data.experiments.iter_mut().flat_map(|experiment| &mut experiment.cells);
        cells.filter(|cell| !cell.lacks).for_each(|cell| cell.add(attempt));
        data
    }

    /// The experiment of that name, with its place.
    pub fn experiment(&self, name: &str) -> Option<(usize, &Experiment<'a>)> {
        self.places.get(name).map(|&place| (place, &self.experiments[place]))
    }

    /// A metric's declaration: the plan's, else the journal's.
    pub fn metric(&self, experiment: usize, name: &str) -> Metric {
        let planned = self.experiments[experiment].planned.metrics.iter();
        planned
            .chain(&self.run.metrics)
            .find(|m| m.name == name)
            .cloned()
            .unwrap_or_else(|| Metric::new(name, "", Better::Neither))
    }

    /// What a cell showed of a metric, block by block.
    pub fn values(&self, experiment: usize, cell: usize, asked: &str) -> Rc<ByBlock> {
        let key = (experiment, cell, asked.to_string());
        if let Some(values) = self.known.borrow().get(&key) {
            return Rc::clone(values);
        }
        let values = Rc::new(self.asked(experiment, cell, &Asked::new(asked)));
        self.known.borrow_mut().insert(key, Rc::clone(&values));
        values
    }

    /// What it showed of those readings that have such labels, too.
    pub fn labelled(&self, experiment: usize, cell: usize, asked: &str, labels: &Levels) -> Rc<ByBlock> {
        match labels.is_empty() {
            true => self.values(experiment, cell, asked),
            false => Rc::new(self.asked(experiment, cell, &Asked::new(asked).at(labels))),
        }
    }

    fn asked(&self, experiment: usize, cell: usize, asked: &Asked) -> ByBlock {
        if asked.share {
            return causes::share(self, (experiment, cell), asked.metric);
        }
        let metric = self.metric(experiment, asked.metric);
        let counted = self.experiments[experiment].cells[cell].counted();
        counted
            .filter_map(|(block, a)| Some((block, summary::summary(&a.readings, asked, &metric)?)))
            .collect()
    }

    /// The values of a label in some cells, as levels: numbers ascending, others as they were told.
    pub fn levels_of_label(&self, experiment: usize, cells: &[usize], name: &str) -> Vec<Value> {
        let readings = cells
            .iter()
            .flat_map(|&cell| self.experiments[experiment].cells[cell].counted())
            .flat_map(|(_, attempt)| attempt.readings.iter());
        let mut seen = BTreeSet::new();
        let said = readings.filter_map(|reading| reading.labels.get(name)).filter(|said| seen.insert(*said));
        let mut levels: Vec<Value> = said.map(|said| label::level(name, said)).collect();
        if let Some(numbers) = levels.iter().map(|l| Some(number(l)?.0)).collect::<Option<Vec<f64>>>() {
            let mut order: Vec<(f64, Value)> = numbers.into_iter().zip(levels).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            levels = order.into_iter().map(|(_, level)| level).collect();
        }
        levels
    }

    /// Whether what was observed of a metric was counted in histograms.
    pub fn has_histograms(&self, experiment: usize, asked: &str) -> bool {
        let name = Asked::new(asked).metric;
        let counted = self.experiments[experiment].cells.iter().filter_map(|cell| cell.counted().next());
        counted
            .flat_map(|(_, attempt)| &attempt.readings)
            .any(|reading| reading.metric == name && matches!(reading.observation, Observation::Histogram(_)))
    }

    /// Where a metric's values in these cells come from; several where they are mixed.
    pub fn origins(&self, experiment: usize, cells: &[usize], asked: &str) -> BTreeSet<Origin> {
        let name = Asked::new(asked).metric;
        cells
            .iter()
            .flat_map(|&cell| self.experiments[experiment].cells[cell].counted())
            .flat_map(|(_, attempt)| attempt.readings.iter())
            .filter(|reading| reading.metric == name)
            .map(|reading| reading.origin)
            .collect()
    }
}

impl<'a> Experiment<'a> {
    fn new(planned: &'a PlannedExperiment) -> Self {
        let cells = planned.cells.iter().map(|cell| Cell {
            levels: &cell.levels,
            lacks: cell.lacks.is_some(),
            attempts: Vec::new(),
            last: BTreeMap::new(),
        });
        Experiment { planned, cells: cells.collect() }
    }
}

impl<'a> Cell<'a> {
    fn add(&mut self, attempt: &'a Attempt) {
        self.attempts.push(attempt);
        let later = self.last.get(&attempt.block).is_none_or(|known| attempt.turn >= known.turn);
        if later {
            self.last.insert(attempt.block, attempt);
        }
    }

    /// Whether it has no data and will have none here.
    pub fn is_out(&self) -> bool {
        self.lacks && self.attempts.is_empty()
    }

    /// Whether the runner has given it up, so that later blocks go without it.
    fn given_up(&self) -> bool {
        self.last.len() >= GIVE_UP_AFTER
            && self.last.values().rev().take(GIVE_UP_AFTER).all(|a| a.status == Status::Failed)
    }

    /// The tries that count, by block.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &'a Attempt)> + '_ {
        self.last.iter().filter(|(_, a)| counts(a)).map(|(block, a)| (*block, *a))
    }
}

fn place(
    places: &HashMap<&str, usize>,
    experiments: &[Experiment],
    attempt: &Attempt,
) -> Option<(usize, usize)> {
    let experiment = *places.get(attempt.experiment.as_str())?;
    let cell = experiments[experiment].cells.iter().position(|cell| {
        cell.levels.len() == attempt.levels.len()
            && cell.levels.iter().all(|(f, l)| attempt.levels.get(f).is_some_and(|a| same(a, l)))
    })?;
    Some((experiment, cell))
}

/// A block is complete when a later one has begun, or when every cell has ended
/// in it; cells that this host cannot run, that were given up, or that no earlier
/// block could try either, are not waited for.
fn complete_blocks(experiments: &[Experiment]) -> Vec<usize> {
    let cells = || experiments.iter().flat_map(|e| &e.cells);
    let seen: BTreeSet<usize> = cells().flat_map(|cell| cell.last.keys().copied()).collect();
    let Some(&newest) = seen.last() else { return Vec::new() };
    let gone_through = experiments.iter().filter(|e| e.planned.runs_in(newest)).flat_map(|e| &e.cells).all(
        |cell| match cell.last.get(&newest) {
            Some(attempt) => ended(attempt),
            None => cell.lacks || cell.given_up() || seen.len() > 1 && cell.last.is_empty(),
        },
    );
    seen.into_iter().filter(|block| *block < newest || gone_through).collect()
}
