//! Which cells a statement is about, and what they showed.
//!
//! A factor that is optimised away (`best`) counts at its best level. The level for every second block is chosen on the
//! blocks between, and the other way round: never on the data that are compared.

use crosstalk_core::record::{Better, Metric};
use crosstalk_core::value::{Levels, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::cell::{ByBlock, Cell};
use super::data::{Data, Experiment, levels_of_label};
use crate::file::{self, Factor};
use crate::label;
use crate::level::has_levels;
use crate::query::MetricQuery;

/// One combination of factor levels with its cells: several only where a factor is optimised away.
#[derive(Clone, PartialEq)]
pub struct Combination<'a> {
    /// Its levels, without factors that are optimised away. Labels in the place of factors are in brackets.
    pub levels: Levels,
    /// In plan order.
    pub cells: Vec<&'a Cell<'a>>,
    /// The labels that a reading must have to count.
    pub labels: Levels,
}

/// One experiment's data, with what the study file says of its factors.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The run.
    pub data: &'a Data<'a>,
    /// The experiment as written.
    pub written: &'a file::Experiment,
    /// The experiment as planned, with its attempts.
    pub experiment: &'a Experiment<'a>,
}

impl<'a> View<'a> {
    /// The view of a planned experiment.
    pub fn new(
        data: &'a Data<'a>,
        experiments: &'a BTreeMap<String, file::Experiment>,
        name: &str,
    ) -> Option<Self> {
        let written = experiments.get(name)?;
        Some(View { data, written, experiment: data.experiment(name)? })
    }

    /// The metric that the experiment decides on.
    pub fn deciding_metric(&self) -> Option<&'a str> {
        let compared = self.written.compare.as_ref().and_then(|c| c.metric.as_deref());
        let planned = &self.experiment.planned.metrics;
        compared.or_else(|| planned.first().map(|m| m.name.as_str()))
    }

    /// The combinations that have all levels of `at`, in plan order.
    pub fn combinations(&self, at: &Levels) -> Vec<Combination<'a>> {
        let (factors, labels) = label::split(at);
        let mut combinations: Vec<Combination<'a>> = Vec::new();
        for cell in &self.experiment.cells {
            if !has_levels(cell.levels(), &factors) {
                continue;
            }
            let mut levels = cell.levels().clone();
            levels.retain(|factor, _| at.contains_key(factor) || !self.optimised(factor));
            levels.extend(at.iter().filter(|(name, _)| label::label(name).is_some()).map(cloned));
            match combinations.iter_mut().find(|combination| combination.levels == levels) {
                Some(combination) => combination.cells.push(cell),
                None => combinations.push(Combination { levels, cells: vec![cell], labels: labels.clone() }),
            }
        }
        combinations
    }

    /// The levels of a factor in the cells that have all levels of `at`, in the order of their first appearance; or
    /// those of a label in its place.
    pub fn levels_of(&self, factor: &str, at: &Levels) -> Vec<Value> {
        let at = &label::split(at).0;
        if let Some(label) = label::label(factor) {
            return levels_of_label(
                self.combinations(at).into_iter().flat_map(|combination| combination.cells),
                label,
            );
        }
        let mut levels: Vec<Value> = Vec::new();
        for cell in &self.experiment.cells {
            match cell.levels().get(factor) {
                Some(level) if has_levels(cell.levels(), at) && !levels.contains(level) => {
                    levels.push(level.clone());
                }
                _ => {}
            }
        }
        levels
    }

    /// The declaration of a queried metric: `latency p99` is a latency, `share time_wait` a number without unit.
    pub fn metric(&self, query: &str) -> Metric {
        let query = MetricQuery::new(query);
        match query.share {
            true => Metric::new(query.metric, "", Better::Neither),
            false => self.experiment.metric(query.metric),
        }
    }

    /// Whether its numbers are without noise: replayed on other clusters, or computed from a model.
    pub fn has_no_noise(&self) -> bool {
        self.data.is_replayed || self.experiment.planned.computed
    }

    fn optimised(&self, factor: &str) -> bool {
        matches!(self.written.factors.get(factor), Some(Factor::Detailed(spec)) if spec.best)
    }

    /// What a combination showed of a metric, block by block.
    pub fn values(&self, combination: &Combination, metric: &str) -> Rc<ByBlock> {
        let of_cell = |cell: &&Cell| self.experiment.labelled(cell, metric, &combination.labels);
        if let [only] = combination.cells.as_slice() {
            return of_cell(only);
        }
        let lower = self.metric(metric).better != Better::Higher;
        let variants: Vec<_> = combination.cells.iter().map(of_cell).collect();
        Rc::new(self.best(&variants, lower))
    }

    /// The best of several variants, block by block. It is chosen on other blocks, unless there is no noise.
    pub fn best(&self, variants: &[Rc<ByBlock>], lower: bool) -> ByBlock {
        match self.has_no_noise() {
            true => best_of_each(variants, lower),
            false => best_by_halves(variants, lower),
        }
    }
}

/// In each block the value of its own best variant: where there is no noise, none is chosen by luck.
fn best_of_each(variants: &[Rc<ByBlock>], lower: bool) -> ByBlock {
    let mut best = ByBlock::new();
    for (block, value) in variants.iter().flat_map(|variant| variant.iter()) {
        let known = best.entry(*block).or_insert(*value);
        *known = if lower { known.min(*value) } else { known.max(*value) };
    }
    best
}

fn cloned((name, level): (&String, &Value)) -> (String, Value) {
    (name.clone(), level.clone())
}

/// In each block the value of the variant that is best in the blocks of the other half.
fn best_by_halves(variants: &[Rc<ByBlock>], lower: bool) -> ByBlock {
    let blocks: BTreeSet<usize> = variants.iter().flat_map(|v| v.keys().copied()).collect();
    let half = |parity: usize| blocks.iter().copied().skip(parity).step_by(2).collect::<Vec<_>>();
    let mut chosen = ByBlock::new();
    for parity in [0, 1] {
        let apart = half(1 - parity);
        let score = |variant: &ByBlock| {
            let seen: Vec<f64> = apart.iter().filter_map(|b| variant.get(b).copied()).collect();
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            (!seen.is_empty()).then_some(if lower { mean } else { -mean })
        };
        let best =
            variants.iter().filter_map(|v| Some((score(v)?, v))).min_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some((_, variant)) = best {
            chosen.extend(half(parity).iter().filter_map(|b| Some((*b, *variant.get(b)?))));
        }
    }
    chosen
}
