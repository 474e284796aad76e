//! An experiment's `compare`: each other level against the base, at every
//! combination of the other factors.

use crosstalk_core::record::{Better, Metric, Origin};
use crosstalk_core::value::{Levels, Value};
use crosstalk_stats::family::Answer;
use crosstalk_stats::verdict::{Margin, Side};

use super::causes::Shares;
use super::change::{self, Change};
use super::claim::Contrast;
use super::datum::{Datum, log_ratio};
use super::family::Family;
use super::scaled::Scaled;
use super::select::View;
use super::words::counted;
use super::{attribution, causes, detectable, estimate, figures, level, network, noise, scaled};
use crate::catalogue::Catalogues;
use crate::findings::{Comparison, ComparisonVerdict, Estimate, Sides};
use crate::predicate::equivalence;

/// What an equality of numbers that a model made is evidence of.
const NOISE_ALONE: &str =
    "; that is of this machine's noise alone, since the model's parameters carry no ranges yet";

/// One comparison with its data.
pub struct Pair<'a> {
    /// The experiment.
    pub view: View<'a>,
    /// What is compared.
    pub metric: Metric,
    /// As the study asks for it (`latency p99`).
    pub asked: String,
    /// The factor that differs.
    pub factor: String,
    /// Its level in the base cell.
    pub base: Value,
    /// Its level in the other cell.
    pub other: Value,
    /// The levels both share.
    pub at: Levels,
    /// log (other / base), a number a block.
    pub datum: Datum,
}

/// Every comparison that the experiment asks for, in plan order.
pub fn pairs<'a>(view: &View<'a>) -> Vec<Pair<'a>> {
    let (Some(compare), Some(metric)) = (&view.written.compare, view.deciding_metric()) else {
        return Vec::new();
    };
    let base = Levels::from([(compare.factor.clone(), compare.base.clone())]);
    let mut pairs = Vec::new();
    for unit in view.units(&base) {
        let mut at = unit.levels.clone();
        at.remove(&compare.factor);
        for other in view.levels_of(&compare.factor, &at) {
            if level::same(&other, &compare.base) {
                continue;
            }
            let of = Levels::from([(compare.factor.clone(), other.clone())]);
            pairs.push(Pair {
                view: *view,
                metric: view.metric(metric),
                asked: metric.to_string(),
                factor: compare.factor.clone(),
                base: compare.base.clone(),
                other,
                datum: log_ratio(view, metric, &at, &of, &base),
                at: at.clone(),
            });
        }
    }
    pairs
}

impl Pair<'_> {
    /// What an answer about log (other / base) means, with the causes of a
    /// change. `None` where no block has both cells.
    pub fn finding(
        &self,
        answer: &Answer,
        family: &Family,
        blocks: &[usize],
        catalogues: &Catalogues,
    ) -> Option<Comparison> {
        let ratio = self.ratio(answer, blocks)?;
        let doubted = self.doubt(ratio.value, blocks, catalogues).is_some();
        // What is doubted is no direction, and no equality either.
        let side = answer.side.filter(|_| !doubted);
        let changed = matches!(side, Some(Side::Above | Side::Below));
        let verdict = verdict(side, self.metric.better);
        let contrast = self.contrast();
        let causes = if changed { causes::shares(&self.view, &contrast, blocks) } else { Shares::default() };
        let network = self.network_alone(catalogues);
        let sides = [&self.only(&self.other), &self.only(&self.base)];
        let change = Change { metric: &self.metric, asked: &self.asked, ratio };
        let base = level::called(&self.factor, &self.base);
        let mut change = match (doubted, answer.interval) {
            (true, _) => scaled::NO_VERDICT.to_string(),
            (false, None) => too_few(ratio.n, family),
            (false, Some(_)) => change.words(verdict, changed, &base),
        };
        if verdict == ComparisonVerdict::Equivalent && self.datum.modelled {
            change += NOISE_ALONE;
        }
        let largest = change::largest(&ratio);
        // A measured floor above the stated margin took its place.
        let tested = if side == Some(Side::Within) { answer.margin } else { self.margin().within };
        let ratio = if self.computed() { once(ratio) } else { ratio };
        Some(Comparison {
            experiment: self.view.data.experiments[self.view.index].planned.name.clone(),
            metric: self.asked.clone(),
            better: self.metric.better,
            factor: self.factor.clone(),
            base: self.base.to_string(),
            other: self.other.to_string(),
            at: self.at.clone(),
            ratio,
            gain: change::gain(ratio, self.metric.better),
            verdict,
            change,
            margin: tested.exp_m1(),
            largest,
            values: self.values(),
            detectable: detectable::of(self, family, blocks),
            attribution: attribution::of(&causes, ratio.value, sides, network),
            causes: causes.of,
            origin: self.datum.origins.last().copied().unwrap_or(Origin::Measured),
        })
    }

    /// Why there is no verdict on a ratio whatever the data say: links were scaled down, and latency was not.
    pub fn doubt(&self, ratio: f64, blocks: &[usize], catalogues: &Catalogues) -> Option<String> {
        self.scaled(ratio, blocks, catalogues)?.doubt()
    }

    /// What the missing latency means for it, where links were scaled down.
    pub fn scaled(&self, ratio: f64, blocks: &[usize], catalogues: &Catalogues) -> Option<Scaled> {
        scaled::of(&self.view, &self.contrast(), ratio, blocks, catalogues)
    }

    /// Whether this host can run its cells: what never has data is not asked.
    pub fn possible(&self) -> bool {
        let (contrast, cells) = (self.contrast(), &self.view.data.experiments[self.view.index].cells);
        contrast.of.union(&contrast.to).all(|cell| !cells[*cell].is_out())
    }

    fn ratio(&self, answer: &Answer, blocks: &[usize]) -> Option<Estimate> {
        match answer.interval {
            Some(interval) => estimate::sound(estimate::shown(interval.exp())),
            None => Some(Estimate { interval: None, ..estimate::of_logs(&self.datum.over(blocks))? }),
        }
    }

    /// Beyond which it is a difference, and within which it is none.
    pub fn margin(&self) -> Margin {
        let stated = self.view.written.compare.as_ref().and_then(|compare| compare.margin.as_deref());
        match stated.and_then(|text| equivalence(text).ok()) {
            Some(within) => noise::margins_within(within),
            None => noise::margins(),
        }
    }

    /// `time: kosmos-srio over microblade at slaves 6`.
    pub fn title(&self) -> String {
        let at =
            if self.at.is_empty() { String::new() } else { format!(" at {}", level::describe(&self.at)) };
        format!("{}: {} over {}{at}", self.asked, self.other, self.base)
    }

    /// The cells that it is about: the other level's over the base's.
    pub fn contrast(&self) -> Contrast {
        let (of, to) = (self.only(&self.other), self.only(&self.base));
        Contrast::new(&self.view, &self.asked, &self.at, &of, &to)
    }

    /// Whether nothing but the network differs between its cells.
    pub fn network_alone(&self, catalogues: &Catalogues) -> bool {
        self.contrast().cells().is_some_and(|cells| network::alone(&self.view, cells, catalogues))
    }

    /// Whether a formula gave every number: the same in each block, with no noise to have an interval of.
    pub fn computed(&self) -> bool {
        self.datum.origins.iter().all(|origin| *origin == Origin::Computed) && !self.datum.origins.is_empty()
    }

    /// What either side showed by itself.
    fn values(&self) -> Sides {
        let value = |level: &Value| {
            let at = level::with(&self.at, &self.only(level));
            figures::value(&self.view, &self.asked, &at, None).map(|(estimate, _)| estimate)
        };
        Sides { base: value(&self.base), other: value(&self.other), unit: self.metric.unit.clone() }
    }

    fn only(&self, level: &Value) -> Levels {
        Levels::from([(self.factor.clone(), level.clone())])
    }
}

/// Why nothing is said of a difference that was seen in `blocks`.
fn too_few(blocks: usize, family: &Family) -> String {
    match family.blocks_needed(family.questions) {
        needed if blocks < needed => format!("too few runs ({blocks}; {needed} or more decide)"),
        _ => format!("not analysed yet, after {}", counted(blocks, "run")),
    }
}

/// What a formula gives: no repetitions, no interval.
fn once(ratio: Estimate) -> Estimate {
    Estimate { interval: None, n: 1, ..ratio }
}

/// A part that explains (better neither way) is only ever equal or different:
/// its direction is shown by the ratio, and its verdict stays open.
fn verdict(side: Option<Side>, better: Better) -> ComparisonVerdict {
    match (side, better) {
        (Some(Side::Within), _) => ComparisonVerdict::Equivalent,
        (Some(Side::Above), Better::Higher) | (Some(Side::Below), Better::Lower) => ComparisonVerdict::Better,
        (Some(Side::Above), Better::Lower) | (Some(Side::Below), Better::Higher) => ComparisonVerdict::Worse,
        (None, _) | (_, Better::Neither) => ComparisonVerdict::Inconclusive,
    }
}
