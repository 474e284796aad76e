//! Everything a study asks, judged together.
//!
//! The family holds every comparison and every primary claim whose cells were
//! planned and can run on this host; it is known before the first run. Claims that are no evidence
//! (calibration, not comparable) and claims that are not primary are judged
//! one by one, at the full error, and are said to be.

use crosstalk_stats::family::{Conclusion, Conclusions, Question, conclude, level};
use crosstalk_stats::looks::Looks;
use crosstalk_stats::order::Order;
use crosstalk_stats::paired::blocks_needed;
use crosstalk_stats::question::Published;
use crosstalk_stats::verdict::Side;

use super::ask::Ask;
use super::claim::state;
use super::data::Data;
use super::lookup::Lookup;
use super::noise::{self, Noise};
use super::pair::{Pair, pairs};
use super::question::{Beside, One, Put, Stated};
use super::select::View;
use super::statement::Reading;
use crate::catalogue::Catalogues;
use crate::file::Study;
use crate::rules::ALPHA;

/// A claim with its answer.
pub struct Judged<'a> {
    /// The claim.
    pub stated: Stated<'a>,
    /// The answer and how it reads; `None` where it could not be asked.
    pub answer: Option<(Conclusion, Reading)>,
    /// Whether it was judged in the family.
    pub primary: bool,
}

/// Everything that was asked, with its answers.
pub struct Family<'a> {
    /// Comparisons with their answers.
    pub pairs: Vec<(Pair<'a>, Conclusion)>,
    /// Claims in the study's order.
    pub claims: Vec<Judged<'a>>,
    /// What equal cells showed.
    pub noise: Noise<'a>,
    /// The family's state.
    pub conclusions: Conclusions,
    /// The planned looks.
    pub looks: Looks,
    /// How many questions were judged together.
    pub questions: usize,
    /// In which stage each of those that were asked has its data.
    pub stages: Vec<usize>,
}

/// Judges everything after the first `blocks` complete blocks.
pub fn judge<'a>(study: &'a Study, catalogues: &Catalogues, data: &'a Data<'a>, blocks: usize) -> Family<'a> {
    let view = |name: &str| View::new(data, &study.experiment, name);
    let views: Vec<View> = data.experiments.iter().filter_map(|e| view(e.name())).collect();
    let noise = Noise::among(&views);

    let pairs: Vec<Pair> = views.iter().filter(|view| !noise::measures(view)).flat_map(pairs).collect();
    let mut asks: Vec<Ask> = Vec::new();
    let mut stages: Vec<usize> = Vec::new();
    let places: Vec<Option<usize>> = pairs
        .iter()
        .map(|pair| {
            pair.possible().then(|| {
                asks.push(Ask::Paired {
                    by_block: pair.datum.by_position(&data.complete),
                    margin: pair.margin(),
                    noise: noise.by_position(pair.view.experiment.name(), &pair.query, &data.complete),
                    size: None,
                });
                stages.push(pair.view.experiment.planned.stage);
                asks.len() - 1
            })
        })
        .collect();
    let asked: Vec<(&Pair, usize)> =
        pairs.iter().zip(&places).filter_map(|(pair, place)| Some((pair, (*place)?))).collect();

    let lookup = Lookup(catalogues);
    let claims: Vec<Stated> =
        study.claim.iter().map(|(name, claim)| state(name, claim, view, &lookup)).collect();
    let mut slots: Vec<Option<Slot>> = Vec::new();
    for stated in &claims {
        slots.push(place(stated, &asked, &mut asks, data, &noise));
        let of = data.experiment(&stated.claim.experiment);
        stages.resize(asks.len(), of.map_or(0, |experiment| experiment.planned.stage));
    }
    asks.extend((0..data.plan.to_come).map(|_| Ask::ToCome));

    let looks = planned(&data.plan.looks);
    let questions: Vec<&dyn Question> = asks.iter().map(|ask| ask as &dyn Question).collect();
    let conclusions = conclude(&looks, blocks, &questions);
    let alone = |ask: &Ask| conclude(&looks, blocks, &[ask as &dyn Question]).by_question[0];
    let answered = slots.into_iter().map(|slot| match slot? {
        Slot::Family(place, reading) => Some((conclusions.by_question[place], reading)),
        Slot::Alone(ask, reading) => Some((alone(&ask), reading)),
    });
    let claims = claims
        .into_iter()
        .zip(answered)
        .map(|(stated, answer)| Judged { primary: in_family(&stated), stated, answer })
        .collect();
    let concluded =
        places.iter().map(|place| place.map_or_else(Conclusion::default, |p| conclusions.by_question[p]));
    let pairs = pairs.into_iter().zip(concluded).collect();
    Family { pairs, claims, noise, looks, questions: asks.len(), stages, conclusions }
}

impl Family<'_> {
    /// The fewest blocks at which the last look could settle one of `questions`
    /// questions: all its blocks on one side.
    pub fn blocks_needed(&self, questions: usize) -> usize {
        let error = self.looks.all().last().map_or(ALPHA, |look| look.error);
        blocks_needed(level(error, questions, 0))
    }
}

/// Where a claim's answer comes from.
enum Slot {
    Family(usize, Reading),
    Alone(Ask, Reading),
}

fn in_family(stated: &Stated) -> bool {
    stated.claim.is_primary_evidence()
}

/// Finds the question that answers a claim, or asks it.
fn place(
    stated: &Stated,
    pairs: &[(&Pair, usize)],
    asks: &mut Vec<Ask>,
    data: &Data,
    noise: &Noise,
) -> Option<Slot> {
    let (ask, reading) = match &stated.put {
        Put::Not(_) => return None,
        Put::Steps(steps) => {
            let order = Order { noise: beside(&steps.noise, noise, data), ..steps.order.clone() };
            (Ask::Steps(order), steps.reading)
        }
        Put::One(one) => {
            if in_family(stated)
                && let Some(slot) = shared(one, pairs, asks)
            {
                return Some(slot);
            }
            (single(one, data, noise), one.reading)
        }
    };
    if !in_family(stated) {
        return Some(Slot::Alone(ask, reading));
    }
    asks.push(ask);
    Some(Slot::Family(asks.len() - 1, reading))
}

/// What equal cells showed, on the claim's scale.
fn beside(about: &Beside, noise: &Noise, data: &Data) -> Vec<Vec<Option<f64>>> {
    let mut pairs = noise.by_position(about.experiment, &about.metric, &data.complete);
    pairs.iter_mut().flatten().flatten().for_each(|log| *log *= about.scale);
    pairs
}

fn single(one: &One, data: &Data, noise: &Noise) -> Ask {
    let by_block = one.datum.by_position(&data.complete);
    let size = one.size.map(|(value, margin)| Published { value, margin });
    if one.lone {
        return Ask::Lone { by_block, margin: one.margin, size };
    }
    let noise = one.noise.iter().flat_map(|about| beside(about, noise, data)).collect();
    Ask::Paired { by_block, margin: one.margin, noise, size }
}

/// The comparison that asks the same of the same cells within the same margins, where
/// its size is not asked for by another claim.
fn shared(one: &One, pairs: &[(&Pair, usize)], asks: &mut [Ask]) -> Option<Slot> {
    let contrast = one.contrast.as_ref().filter(|_| one.reading.offset == 0.0)?;
    let (place, flip) = pairs.iter().find_map(|(pair, place)| {
        let Ask::Paired { margin, size, .. } = &asks[*place] else { return None };
        let free = *margin == one.margin && (one.size.is_none() || size.is_none());
        Some((*place, contrast.sign(&pair.contrast()).filter(|_| free)?))
    })?;
    // The comparison's number is `flip` times the claim's own, and the claim's question `sign` times that.
    let turn = flip * one.reading.sign;
    if let (Some((value, margin)), Ask::Paired { size, .. }) = (one.size, &mut asks[place]) {
        *size = Some(Published { value: turn * value, margin });
    }
    let stands = if turn > 0.0 { Side::Above } else { Side::Below };
    Some(Slot::Family(place, Reading { sign: flip, stands, ..one.reading }))
}

/// The planned looks; a plan without usable ones is looked at once, at its end.
fn planned(blocks: &[usize]) -> Looks {
    let last = blocks.iter().copied().max().unwrap_or(1).max(1);
    Looks::new(blocks, ALPHA).or_else(|| Looks::new(&[last], ALPHA)).expect("one look above zero is valid")
}
