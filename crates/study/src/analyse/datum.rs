//! The datum of a statement: one number a block, with what is missing said.
//!
//! For a comparison it is a log ratio of per-run summaries. Where a statement
//! leaves factors open it speaks of all their combinations alike: the datum is
//! the mean over them, and a block counts only when it has them all.

use crosstalk_core::record::{Origin, Status};
use crosstalk_core::value::Levels;
use std::collections::{BTreeMap, BTreeSet};

use super::cell::{ByBlock, Cell, faithful, in_order};
use super::data::origins;
use super::select::{Unit, View};
use crate::level;
use crate::plan::Place;
use crate::words::{self, counted};

/// One number a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Datum {
    /// By block, ascending.
    pub values: ByBlock,
    /// Where the numbers come from.
    pub origins: BTreeSet<Origin>,
    /// Whether a model of the network made them: its parameters' error is not among what blocks differ by.
    pub modelled: bool,
    /// Why blocks or cells do not count, in words.
    pub missing: Vec<String>,
    /// False where the plan does not have the cells, or one was never tried.
    pub run: bool,
}

impl Datum {
    /// The numbers of those blocks among `blocks` that have one, in order.
    pub fn over(&self, blocks: &[usize]) -> Vec<f64> {
        self.by_position(blocks).into_iter().flatten().collect()
    }

    /// The number of each of `blocks`, where it has one.
    pub fn by_position(&self, blocks: &[usize]) -> Vec<Option<f64>> {
        blocks.iter().map(|block| self.values.get(block).copied()).collect()
    }
}

/// log (`metric` at `of` / `metric` at `to`), a number a block, over the cells that have all of `at`.
pub fn log_ratio(view: &View, metric: &str, at: &Levels, of: &Levels, to: &Levels) -> Datum {
    let named: BTreeSet<&String> = of.keys().chain(to.keys()).collect();
    let groups = |levels: &Levels| {
        let mut groups: BTreeMap<Levels, Vec<Unit>> = BTreeMap::new();
        for unit in view.units(&level::with(at, levels)) {
            let mut shared = unit.levels.clone();
            shared.retain(|factor, _| !named.contains(factor));
            groups.entry(shared).or_default().push(unit);
        }
        groups
    };
    let (above, below) = (groups(of), groups(to));
    let pairs: Vec<_> = above.iter().filter_map(|(key, of)| Some((of, below.get(key)?))).collect();
    if pairs.is_empty() {
        let lacking = if above.is_empty() { level::with(at, of) } else { level::with(at, to) };
        return Datum::not_planned(&lacking);
    }
    let units: Vec<&Unit> = pairs.iter().flat_map(|(of, to)| of.iter().chain(to.iter())).collect();
    let mut datum = gather(view, metric, &units);
    let logs = |units: &[Unit]| mean_of_logs(view, metric, units);
    let parts: Vec<_> =
        pairs.iter().map(|(of, to)| combine(&[logs(of), logs(to)], |v| v[0] - v[1])).collect();
    datum.values = combine(&parts, mean);
    datum.explain();
    datum
}

/// The mean of `metric` over the cells that have all of `at`, a number a block:
/// of logs where `logs`, else of the values themselves.
pub fn level_of(view: &View, metric: &str, at: &Levels, logs: bool) -> Datum {
    let units = view.units(at);
    if units.is_empty() {
        return Datum::not_planned(at);
    }
    let mut datum = gather(view, metric, &units.iter().collect::<Vec<_>>());
    datum.values = if logs {
        mean_of_logs(view, metric, &units)
    } else {
        combine(
            &units.iter().map(|unit| view.values(unit, metric).as_ref().clone()).collect::<Vec<_>>(),
            mean,
        )
    };
    datum.explain();
    datum
}

fn mean_of_logs(view: &View, metric: &str, units: &[Unit]) -> ByBlock {
    let logs: Vec<ByBlock> = units
        .iter()
        .map(|unit| {
            let values = view.values(unit, metric);
            values.iter().filter(|(_, v)| **v > 0.0).map(|(block, v)| (*block, v.ln())).collect()
        })
        .collect();
    combine(&logs, mean)
}

/// Block by block, where all of `parts` have a number, and together one that is finite.
pub fn combine(parts: &[ByBlock], join: impl Fn(&[f64]) -> f64) -> ByBlock {
    let Some(first) = parts.first() else { return ByBlock::new() };
    first
        .keys()
        .filter_map(|block| {
            let numbers: Option<Vec<f64>> = parts.iter().map(|p| p.get(block).copied()).collect();
            Some((*block, join(&numbers?))).filter(|(_, joined)| joined.is_finite())
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What is known of the cells before their numbers are: origins, and what is missing.
fn gather(view: &View, metric: &str, units: &[&Unit]) -> Datum {
    let cells = in_order(units.iter().flat_map(|unit| unit.cells.iter().copied()));
    let troubles = units.iter().flat_map(|unit| {
        unit.cells.iter().filter_map(|cell| Some((*cell, trouble(view, metric, &unit.labels, cell)?)))
    });
    let mut missing: Vec<(&Cell, String)> = troubles.collect();
    missing.sort();
    missing.dedup();
    let origins = origins(cells.iter().copied(), metric);
    Datum {
        modelled: origins.iter().any(|origin| modelled(view, metric, &cells, *origin)),
        origins,
        missing: missing.into_iter().map(|(_, why)| why).collect(),
        run: cells.iter().all(|cell| !cell.attempts.is_empty()),
        values: ByBlock::new(),
    }
}

/// Whether numbers of that origin rest on a model's parameters. What is computed does where it is of
/// virtual time: how much was sent, or how right an answer is, no network's parameter changes.
fn modelled(view: &View, metric: &str, cells: &[&Cell], origin: Origin) -> bool {
    let unit = || view.metric(metric).unit;
    match origin {
        Origin::Emulated | Origin::Simulated | Origin::Predicted => true,
        Origin::Computed => {
            cells.iter().any(|cell| matches!(cell.planned.scene.place, Place::Virtual { .. }))
                && (unit() == "s" || unit().ends_with("/s"))
        }
        Origin::Measured | Origin::Published => false,
    }
}

/// What keeps a cell's tries from counting, in words.
fn trouble(view: &View, metric: &str, labels: &Levels, cell: &Cell) -> Option<String> {
    let values = view.experiment.labelled(cell, metric, labels);
    let tries = cell.last.len();
    let count = cell.counted().count();
    let unfaithful = cell.last.values().filter(|a| !faithful(a)).count();
    let failed = cell.last.values().filter(|a| a.status == Status::Failed).count();
    let flat = values.values().filter(|v| **v <= 0.0).count();
    let why = match () {
        () if tries == 0 => match &cell.planned.lacks {
            Some(lacks) => format!("was not run: {lacks}"),
            None => "was not run".into(),
        },
        () if unfaithful > 0 => {
            format!("is not faithful in {unfaithful} of {}", counted(tries, "block"))
        }
        () if failed > 0 => {
            format!("did not finish in {failed} of {}", counted(tries, "block"))
        }
        () if count < tries => {
            format!("was interrupted in {} of {}", tries - count, counted(tries, "block"))
        }
        () if values.len() < count => {
            format!("has no usable `{metric}` in {} of {count} blocks", count - values.len())
        }
        () if flat > 0 => {
            format!("has `{metric}` at or below zero in {flat} of {count} blocks, of which there is no ratio")
        }
        () => return None,
    };
    Some(format!("the cell{} {why}", words::at(&level::with(cell.levels(), labels))))
}

impl Datum {
    /// Of cells that the plan does not have.
    pub fn not_planned(at: &Levels) -> Self {
        let missing = vec![format!("this run has no cell{}", words::at(at))];
        Datum { missing, ..Datum::default() }
    }

    /// Says so when nothing is left, whatever the reasons were.
    pub fn explain(&mut self) {
        if self.values.is_empty() && self.missing.is_empty() {
            self.missing.push("no block has all of its cells".into());
        }
    }
}
