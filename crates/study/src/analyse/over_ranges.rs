//! Numbers of claims and comparisons on clusters whose parameters are drawn from their ranges.
//!
//! The cells of a run were replayed on each of these clusters. Everything is computed there as it is from blocks. What counts
//! is by how much a number differs from the same replay on the clusters as they are: it is added to what was measured.

use crosstalk_core::record::{Origin, Reading, Status};
use crosstalk_stats::Interval;
use std::collections::HashMap;

use super::claim::open;
use super::data::Data;
use super::lookup::PublishedNumbers;
use super::noise;
use super::pair::{Pair, pairs};
use super::question::{ClaimQuestion, OpenClaim};
use super::select::View;
use crate::catalogue::Catalogues;
use crate::file::Study;
use crate::plan::Plan;
use crate::ranged_parameter::RangedParameter;
use crate::ranges::{RangedCell, RangedReading, Ranges};
use crate::samples::{Attempt, Run};

/// The shares of the drawn clusters below the ends of an interval.
const ENDS: [f64; 2] = [0.025, 0.975];

/// Numbers by cluster.
pub struct NumbersByCluster<'a> {
    ranges: &'a Ranges,
    /// Claim → its number, as compared.
    claims: HashMap<String, Vec<f64>>,
    /// Comparison → the logarithm of its ratio.
    pairs: HashMap<String, Vec<f64>>,
}

impl<'a> NumbersByCluster<'a> {
    /// Of a run's claims and comparisons; `None` where it has not been replayed.
    pub fn of(study: &Study, catalogues: &Catalogues, plan: &Plan, run: &'a Run) -> Option<Self> {
        let ranges = run.ranges.as_ref()?;
        let replayed = Run { metrics: run.metrics.clone(), ..as_run(ranges) };
        let mut data = Data::new(plan, &replayed);
        data.is_replayed = true;
        let data = data;
        let view = |name: &str| View::new(&data, &study.experiment, name);
        let published = PublishedNumbers(catalogues);
        let clusters = ranges.clusters.len();
        let claims = study.claim.iter().filter_map(|(name, written)| {
            Some((name.clone(), of_claim(&open(name, written, view, &published), clusters)?))
        });
        let views = data.experiments.iter().filter_map(|experiment| view(experiment.name()));
        let pairs = views.filter(|view| !noise::is_aa(view)).flat_map(|view| pairs(&view));
        let pairs = pairs.filter_map(|pair| {
            let numbers = (0..clusters).map(|cluster| pair.datum.values.get(&cluster).copied());
            Some((key(&pair), numbers.collect::<Option<Vec<f64>>>()?))
        });
        Some(NumbersByCluster { ranges, claims: claims.collect(), pairs: pairs.collect() })
    }

    /// Of a claim; `None` where a cluster lacks its number.
    pub fn claim(&self, name: &str) -> Option<Spread<'a>> {
        Spread::of(self.ranges, self.claims.get(name)?)
    }

    /// Whether a claim was replayed.
    pub fn has_claim(&self, name: &str) -> bool {
        self.claims.contains_key(name)
    }

    /// Whether a comparison was replayed.
    pub fn has_pair(&self, pair: &Pair) -> bool {
        self.pairs.contains_key(&key(pair))
    }

    /// Whether a claim was replayed, and no parameter that has a range changes its number.
    pub fn has_claim_unmoved(&self, name: &str) -> bool {
        self.has_claim(name) && self.claim(name).is_none()
    }

    /// Whether a comparison was replayed, and no parameter that has a range changes it.
    pub fn has_pair_unmoved(&self, pair: &Pair) -> bool {
        self.has_pair(pair) && self.pair(pair).is_none()
    }

    /// Of a comparison.
    pub fn pair(&self, pair: &Pair) -> Option<Spread<'a>> {
        Spread::of(self.ranges, self.pairs.get(&key(pair))?)
    }
}

/// The replays as a run whose blocks are the clusters.
fn as_run(ranges: &Ranges) -> Run {
    let attempt = |cell: &RangedCell, cluster: usize| Attempt {
        id: 0,
        cell: cell.id.clone(),
        block: cluster,
        try_number: 1,
        status: Status::Finished,
        failure: None,
        fidelity: None,
        at: 0.0,
        readings: cell.readings.iter().filter_map(|reading| on_cluster(reading, cluster)).collect(),
    };
    let clusters = 0..ranges.clusters.len();
    let attempts =
        ranges.cells.iter().flat_map(|cell| clusters.clone().map(move |cluster| attempt(cell, cluster)));
    Run { attempts: attempts.collect(), ..Run::default() }
}

fn on_cluster(reading: &RangedReading, cluster: usize) -> Option<Reading> {
    let mut on = Reading::value(&reading.metric, *reading.values.get(cluster)?, Origin::Simulated);
    on.labels = reading.labels.clone();
    Some(on)
}

fn key(pair: &Pair) -> String {
    format!("{}: {}", pair.view.experiment.name(), pair.title())
}

/// A claim's number on each cluster, as compared.
fn of_claim(claim: &OpenClaim, clusters: usize) -> Option<Vec<f64>> {
    match &claim.question {
        ClaimQuestion::Number(question) => {
            let read = question.interpretation;
            let number = |cluster| Some(read.offset + read.sign * question.datum.values.get(&cluster)?);
            (0..clusters).map(number).collect()
        }
        ClaimQuestion::Steps(steps) => {
            let least = |cluster: usize| {
                let all = steps.order.steps.iter().map(|step| step.get(cluster).copied().flatten());
                let all: Vec<f64> = all.collect::<Option<_>>()?;
                all.into_iter().min_by(f64::total_cmp)
            };
            (0..clusters).map(least).collect()
        }
        ClaimQuestion::NotAsked(_) => None,
    }
}

/// By how much a number differs on each cluster, as compared.
#[derive(Debug, Clone)]
pub struct Spread<'a> {
    ranges: &'a Ranges,
    shifts: Vec<f64>,
}

/// What a parameter alone does to a number.
pub struct Effect<'a> {
    /// The parameter.
    pub parameter: &'a RangedParameter,
    /// Where it stands in its range, ascending, and the shift there.
    pub shifts: Vec<(f64, f64)>,
}

impl<'a> Spread<'a> {
    /// `None` where no parameter changes the number: those that it depends on have no ranges.
    fn of(ranges: &'a Ranges, numbers: &[f64]) -> Option<Self> {
        let own = *numbers.first()?;
        let shifts: Vec<f64> = numbers.iter().map(|number| number - own).collect();
        shifts.iter().any(|shift| *shift != 0.0).then_some(Spread { ranges, shifts })
    }

    /// The same of the number times `sign`, 1 or −1.
    pub fn turned(mut self, sign: f64) -> Self {
        self.shifts.iter_mut().for_each(|shift| *shift *= sign);
        self
    }

    /// The shifts between which 95 % of the drawn clusters lie, and all those where one parameter alone is anywhere in its
    /// range: the lower one is at most 0, the upper one at least.
    fn ends(&self) -> [f64; 2] {
        let mut drawn = self.ranges.drawn(&self.shifts).to_vec();
        drawn.sort_unstable_by(f64::total_cmp);
        let last = drawn.len().saturating_sub(1) as f64;
        let at = |share: f64| drawn.get((last * share).round() as usize).copied().unwrap_or_default();
        let alone = self.effects().into_iter().flat_map(|effect| effect.shifts);
        alone.fold([at(ENDS[0]).min(0.0), at(ENDS[1]).max(0.0)], |[low, high], (_, shift)| {
            [low.min(shift), high.max(shift)]
        })
    }

    /// Whether some cluster decides otherwise than the one as it is, about a number with that point.
    pub fn any_differs(&self, point: f64, holds: impl Fn(f64) -> bool) -> bool {
        self.shifts.iter().any(|shift| holds(point + shift) != holds(point))
    }

    /// Where a number of that point lies over the ranges alone.
    pub fn around(&self, point: f64) -> (f64, f64) {
        let [low, high] = self.ends();
        (point + low, point + high)
    }

    /// An interval with the ranges added to the noise of the machine. Both are added whole, as if they were at their ends
    /// together: a little wider than need be.
    pub fn widened(&self, interval: &Interval) -> Interval {
        let [low, high] = self.ends();
        Interval { low: interval.low + low, high: interval.high + high, ..*interval }
    }

    /// What each parameter alone does, the greatest effect first. Those without any are left out.
    pub fn effects(&self) -> Vec<Effect<'a>> {
        let effect = |(index, parameter)| {
            let shifts = self.ranges.alone(index, &self.shifts).collect();
            Effect { parameter, shifts }
        };
        let mut effects: Vec<Effect> = self.ranges.parameters.iter().enumerate().map(effect).collect();
        effects.retain(|effect| effect.largest() > 0.0);
        effects.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
        effects
    }

    /// What decides whether `holds` of a number with that point, in words: the parameter that changes it alone, with its
    /// value there, or the two with the greatest effects.
    pub fn deciding(&self, point: f64, holds: impl Fn(f64) -> bool) -> String {
        let effects = self.effects();
        let here = holds(point);
        let alone = effects.iter().find_map(|effect| {
            let differs = |(_, shift): &&(f64, f64)| holds(point + shift) != here;
            let own = effect.parameter.own_point();
            let (at, _) = effect
                .shifts
                .iter()
                .filter(differs)
                .min_by(|a, b| (a.0 - own).abs().total_cmp(&(b.0 - own).abs()))?;
            let side = if *at > own { "up" } else { "down" };
            let parameter = effect.parameter;
            Some(format!(
                "{} (it changes from about {} {side}; {})",
                parameter.name,
                parameter.value_at(*at),
                parameter.taken()
            ))
        });
        alone.unwrap_or_else(|| match &effects[..] {
            [] => "its parameters".into(),
            [only] => only.parameter.name.clone(),
            [first, second, ..] => format!("{} and {} together", first.parameter.name, second.parameter.name),
        })
    }
}

impl Effect<'_> {
    /// The shifts at the lower and at the upper end of the range.
    pub fn at_ends(&self) -> (f64, f64) {
        let shift = |of: Option<&(f64, f64)>| of.map_or(0.0, |(_, shift)| *shift);
        (shift(self.shifts.first()), shift(self.shifts.last()))
    }

    fn largest(&self) -> f64 {
        self.shifts.iter().map(|(_, shift)| shift.abs()).fold(0.0, f64::max)
    }
}
