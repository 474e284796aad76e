//! The datum of a comparison or claim: one number a block, and what is missing.
//!
//! For a comparison it is a log ratio of the attempts' summaries. A statement that leaves factors open is about all
//! their combinations: its datum is the mean over them, and a block counts only with all of them.

use crosstalk_core::record::{Origin, Status};
use crosstalk_core::value::Levels;
use std::collections::{BTreeMap, BTreeSet};

use super::cell::{ByBlock, Cell, in_plan_order, is_faithful};
use super::data::origins;
use super::select::{Combination, View};
use crate::level;
use crate::plan::Place;
use crate::words;

/// The number of a comparison or claim in each block, where it comes from, and what is missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Datum {
    /// By block, ascending.
    pub values: ByBlock,
    /// Where the numbers come from.
    pub origins: BTreeSet<Origin>,
    /// Whether a model of the network made them. Differences between blocks do not show its parameters' error.
    pub modelled: bool,
    /// Why blocks or cells do not count, one sentence each.
    pub missing: Vec<String>,
    /// Whether the plan has all of its cells and an attempt was made at each.
    pub was_run: bool,
}

impl Datum {
    /// The numbers of `blocks`, in their order; blocks without a number are left out.
    pub fn values_in(&self, blocks: &[usize]) -> Vec<f64> {
        self.values_or_none_in(blocks).into_iter().flatten().collect()
    }

    /// The number of its first block: of a computed one, the only number.
    pub fn first_value(&self) -> Option<f64> {
        self.values.values().next().copied()
    }

    /// The number of each of `blocks`; `None` where a block has none.
    pub fn values_or_none_in(&self, blocks: &[usize]) -> Vec<Option<f64>> {
        blocks.iter().map(|block| self.values.get(block).copied()).collect()
    }
}

/// log (`metric` at `of` / `metric` at `to`) of the cells that have all levels of `at`, one number a block.
pub fn log_ratio(view: &View, metric: &str, at: &Levels, of: &Levels, to: &Levels) -> Datum {
    let named: BTreeSet<&String> = of.keys().chain(to.keys()).collect();
    let groups = |levels: &Levels| {
        let mut groups: BTreeMap<Levels, Vec<Combination>> = BTreeMap::new();
        for combination in view.combinations(&level::overlaid(at, levels)) {
            let mut shared = combination.levels.clone();
            shared.retain(|factor, _| !named.contains(factor));
            groups.entry(shared).or_default().push(combination);
        }
        groups
    };
    let (above, below) = (groups(of), groups(to));
    let pairs: Vec<_> = above.iter().filter_map(|(key, of)| Some((of, below.get(key)?))).collect();
    if pairs.is_empty() {
        let lacking = if above.is_empty() { level::overlaid(at, of) } else { level::overlaid(at, to) };
        return Datum::not_planned(&lacking);
    }
    let combinations: Vec<&Combination> =
        pairs.iter().flat_map(|(of, to)| of.iter().chain(to.iter())).collect();
    let mut datum = without_values(view, metric, &combinations);
    let logs = |combinations: &[Combination]| mean_of_logs(view, metric, combinations);
    let parts: Vec<_> =
        pairs.iter().map(|(of, to)| combine_by_block(&[logs(of), logs(to)], |v| v[0] - v[1])).collect();
    datum.values = combine_by_block(&parts, mean);
    datum.ensure_reason();
    datum
}

/// The mean of `metric` over the cells that have all levels of `at`, one number a block; with `logs` the mean of its
/// logarithms.
pub fn mean_value(view: &View, metric: &str, at: &Levels, logs: bool) -> Datum {
    let combinations = view.combinations(at);
    if combinations.is_empty() {
        return Datum::not_planned(at);
    }
    let mut datum = without_values(view, metric, &combinations.iter().collect::<Vec<_>>());
    datum.values = if logs {
        mean_of_logs(view, metric, &combinations)
    } else {
        combine_by_block(
            &combinations
                .iter()
                .map(|combination| view.values(combination, metric).as_ref().clone())
                .collect::<Vec<_>>(),
            mean,
        )
    };
    datum.ensure_reason();
    datum
}

fn mean_of_logs(view: &View, metric: &str, combinations: &[Combination]) -> ByBlock {
    let logs: Vec<ByBlock> = combinations
        .iter()
        .map(|combination| {
            let values = view.values(combination, metric);
            values.iter().filter(|(_, v)| **v > 0.0).map(|(block, v)| (*block, v.ln())).collect()
        })
        .collect();
    combine_by_block(&logs, mean)
}

/// Joins `parts` block by block. A block needs a number in every part, and a finite joined one.
pub fn combine_by_block(parts: &[ByBlock], join: impl Fn(&[f64]) -> f64) -> ByBlock {
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

/// A datum without its numbers: origins, and what is missing.
fn without_values(view: &View, metric: &str, combinations: &[&Combination]) -> Datum {
    let cells = in_plan_order(combinations.iter().flat_map(|combination| combination.cells.iter().copied()));
    let reasons = combinations.iter().flat_map(|combination| {
        combination
            .cells
            .iter()
            .filter_map(|cell| Some((*cell, reason_missing(view, metric, &combination.labels, cell)?)))
    });
    let mut missing: Vec<(&Cell, String)> = reasons.collect();
    missing.sort();
    missing.dedup();
    let origins = origins(cells.iter().copied(), metric);
    Datum {
        modelled: origins.iter().any(|origin| modelled(view, metric, &cells, *origin)),
        origins,
        missing: missing.into_iter().map(|(_, why)| why).collect(),
        was_run: cells.iter().all(|cell| !cell.attempts.is_empty()),
        values: ByBlock::new(),
    }
}

/// Whether numbers of that origin depend on a model's parameters. Of computed numbers only times and rates in virtual
/// time do: the bytes sent and the answer do not.
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

/// Why some of a cell's tries do not count; `None` where all do.
fn reason_missing(view: &View, metric: &str, labels: &Levels, cell: &Cell) -> Option<String> {
    let values = view.experiment.labelled(cell, metric, labels);
    let tries = cell.last_try.len();
    let count = cell.counted_attempts().count();
    let unfaithful = cell.last_try.values().filter(|a| !is_faithful(a)).count();
    let failed = cell.last_try.values().filter(|a| a.status == Status::Failed).count();
    let not_positive = values.values().filter(|v| **v <= 0.0).count();
    let why = match () {
        () if tries == 0 => match &cell.planned.unmet_need {
            Some(lacks) => format!("was not run: {lacks}"),
            None => "was not run".into(),
        },
        () if unfaithful > 0 => {
            format!("is not faithful {}", words::in_some(unfaithful, tries, "block"))
        }
        () if failed > 0 => {
            format!("did not finish {}", words::in_some(failed, tries, "block"))
        }
        () if count < tries => {
            format!("was interrupted {}", words::in_some(tries - count, tries, "block"))
        }
        () if values.len() < count => {
            format!("has no usable `{metric}` {}", words::in_some(count - values.len(), count, "block"))
        }
        () if not_positive > 0 => {
            format!(
                "has `{metric}` at or below zero {}, of which there is no ratio",
                words::in_some(not_positive, count, "block")
            )
        }
        () => return None,
    };
    Some(format!("the cell{} {why}", words::at_levels(&level::overlaid(cell.levels(), labels))))
}

impl Datum {
    /// The datum of cells that the plan does not have.
    pub fn not_planned(at: &Levels) -> Self {
        let missing = vec![format!("this run has no cell{}", words::at_levels(at))];
        Datum { missing, ..Datum::default() }
    }

    /// Adds a reason where there are neither values nor reasons.
    pub fn ensure_reason(&mut self) {
        if self.values.is_empty() && self.missing.is_empty() {
            self.missing.push("no block has all of its cells".into());
        }
    }
}
