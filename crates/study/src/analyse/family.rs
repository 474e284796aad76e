//! Everything a study asks, judged together.
//!
//! The family holds every comparison and every primary claim whose cells are planned and can run on this host. It is
//! known before the first run. Numbers that are computed from a model have no error to share: what is asked of them is
//! answered apart. Claims that are no evidence (calibration, not comparable) and claims that are not
//! primary are judged one by one, at the full error, and the findings say so.

use crosstalk_stats::family::{Answer, Conclusion, Conclusions, Question, conclude, level_per_question};
use crosstalk_stats::looks::Looks;
use crosstalk_stats::order::Order;
use crosstalk_stats::paired::blocks_needed;
use crosstalk_stats::question::Published;
use crosstalk_stats::verdict::Side;

use super::claim::open;
use super::data::Data;
use super::hypothesis::{Hypothesis, answer_of_number};
use super::lookup::PublishedNumbers;
use super::noise::{self, Noise};
use super::pair::{Pair, pairs};
use super::question::{ClaimQuestion, NoiseSource, NumberQuestion, OpenClaim};
use super::select::View;
use super::statement::Interpretation;
use crate::catalogue::Catalogues;
use crate::file::Study;
use crate::rules::ALPHA;

/// A claim with its answer.
pub struct JudgedClaim<'a> {
    /// The claim.
    pub claim: OpenClaim<'a>,
    /// The answer and how to read it; `None` where it could not be asked.
    pub answer: Option<(Conclusion, Interpretation)>,
    /// Whether it was judged in the family.
    pub primary: bool,
}

impl JudgedClaim<'_> {
    /// The published size and its margin, on the scale of the answer; `None` where none is asked.
    pub fn size(&self) -> Option<(f64, f64)> {
        let ClaimQuestion::Number(question) = &self.claim.question else { return None };
        let ((size, margin), (_, read)) = (question.size?, self.answer.as_ref()?);
        let compared = question.interpretation.offset + question.interpretation.sign * size;
        Some((read.sign * (compared - read.offset), margin))
    }
}

/// All questions of a study, which share one error rate, with their answers.
pub struct Family<'a> {
    /// Comparisons with their answers.
    pub pairs: Vec<(Pair<'a>, Conclusion)>,
    /// Claims in the study's order.
    pub claims: Vec<JudgedClaim<'a>>,
    /// What equal cells showed.
    pub noise: Noise<'a>,
    /// The answers to all hypotheses of the family.
    pub conclusions: Conclusions,
    /// The planned interim analyses.
    pub looks: Looks,
    /// How many questions were judged together.
    pub questions: usize,
    /// The stage of each hypothesis, by the experiment that has its data.
    pub stages: Vec<usize>,
}

/// Judges everything after the first `blocks` complete blocks.
pub fn judge<'a>(study: &'a Study, catalogues: &Catalogues, data: &'a Data<'a>, blocks: usize) -> Family<'a> {
    let view = |name: &str| View::new(data, &study.experiment, name);
    let views: Vec<View> = data.experiments.iter().filter_map(|e| view(e.name())).collect();
    let noise = Noise::of_views(&views);

    let pairs: Vec<Pair> = views.iter().filter(|view| !noise::is_aa(view)).flat_map(pairs).collect();
    let mut hypotheses: Vec<Hypothesis> = Vec::new();
    let mut stages: Vec<usize> = Vec::new();
    // Which hypothesis each pair has: none where this host cannot run it, or where it is computed.
    let indices: Vec<Option<usize>> = pairs
        .iter()
        .map(|pair| {
            (pair.can_run() && !pair.view.experiment.planned.computed).then(|| {
                hypotheses.push(Hypothesis::Paired {
                    by_block: pair.datum.values_or_none_in(&data.complete),
                    margin: pair.margin(),
                    noise: noise.log_ratios_by_block(
                        pair.view.experiment.name(),
                        &pair.query,
                        &data.complete,
                    ),
                    size: None,
                });
                stages.push(pair.view.experiment.planned.stage);
                hypotheses.len() - 1
            })
        })
        .collect();
    let tested: Vec<(&Pair, usize)> =
        pairs.iter().zip(&indices).filter_map(|(pair, index)| Some((pair, (*index)?))).collect();

    let published = PublishedNumbers(catalogues);
    let claims: Vec<OpenClaim> =
        study.claim.iter().map(|(name, claim)| open(name, claim, view, &published)).collect();
    let mut sources: Vec<Option<AnswerSource>> = Vec::new();
    for claim in &claims {
        sources.push(answer_source(claim, &tested, &mut hypotheses, data, &noise));
        let of = data.experiment(&claim.written.experiment);
        stages.resize(hypotheses.len(), of.map_or(0, |experiment| experiment.planned.stage));
    }
    hypotheses.extend((0..data.plan.pending_questions).map(|_| Hypothesis::Pending));

    let looks = planned_looks(&data.plan.looks);
    let questions: Vec<&dyn Question> = hypotheses.iter().map(|one| one as &dyn Question).collect();
    let conclusions = conclude(&looks, blocks, &questions);
    let alone = |one: &Hypothesis| conclude(&looks, blocks, &[one as &dyn Question]).by_question[0];
    let answers = sources.into_iter().map(|source| match source? {
        AnswerSource::Family(index, interpretation) => Some((conclusions.by_question[index], interpretation)),
        AnswerSource::Alone(hypothesis, interpretation) => Some((alone(&hypothesis), interpretation)),
        AnswerSource::Computed(answer, interpretation) => Some((at_once(answer), interpretation)),
    });
    let claims = claims
        .into_iter()
        .zip(answers)
        .map(|(claim, answer)| JudgedClaim { primary: in_family(&claim), claim, answer })
        .collect();
    let computed = |pair: &Pair| match pair.view.experiment.planned.computed {
        true => at_once(answer_of_number(pair.datum.first_value(), pair.margin(), None)),
        false => Conclusion::default(),
    };
    let concluded: Vec<Conclusion> = pairs
        .iter()
        .zip(&indices)
        .map(|(pair, index)| index.map_or_else(|| computed(pair), |index| conclusions.by_question[index]))
        .collect();
    let pairs = pairs.into_iter().zip(concluded).collect();
    Family { pairs, claims, noise, looks, questions: hypotheses.len(), stages, conclusions }
}

impl Family<'_> {
    /// The fewest blocks at which the last analysis could settle one of `questions` questions: with all of its
    /// blocks on one side.
    pub fn blocks_needed(&self, questions: usize) -> usize {
        let error = self.looks.planned().last().map_or(ALPHA, |look| look.error);
        blocks_needed(level_per_question(error, questions, 0))
    }
}

/// Where a claim's answer comes from.
enum AnswerSource {
    /// The hypothesis of the family with that index.
    Family(usize, Interpretation),
    /// A hypothesis that is judged by itself.
    Alone(Hypothesis, Interpretation),
    /// A number without an error.
    Computed(Answer, Interpretation),
}

/// The conclusion from a computed number: no analysis is awaited.
fn at_once(answer: Answer) -> Conclusion {
    Conclusion { answer, settled_at: answer.settled.then_some(1) }
}

fn in_family(claim: &OpenClaim) -> bool {
    claim.written.is_primary_evidence()
}

/// Finds the hypothesis that answers a claim, or adds one. `None` where the claim cannot be asked.
fn answer_source(
    claim: &OpenClaim,
    pairs: &[(&Pair, usize)],
    hypotheses: &mut Vec<Hypothesis>,
    data: &Data,
    noise: &Noise,
) -> Option<AnswerSource> {
    if is_computed(claim, data) {
        return computed_answer(&claim.question);
    }
    let (hypothesis, interpretation) = match &claim.question {
        ClaimQuestion::NotAsked(_) => return None,
        ClaimQuestion::Steps(steps) => {
            let noise = steps.noise.iter().flat_map(|source| noise_of(source, noise, data)).collect();
            let order = Order { noise, ..steps.order.clone() };
            (Hypothesis::Steps(order), steps.interpretation)
        }
        ClaimQuestion::Number(number) => {
            if in_family(claim)
                && let Some(source) = shared(number, pairs, hypotheses)
            {
                return Some(source);
            }
            (of_number(number, data, noise), number.interpretation)
        }
    };
    if !in_family(claim) {
        return Some(AnswerSource::Alone(hypothesis, interpretation));
    }
    hypotheses.push(hypothesis);
    Some(AnswerSource::Family(hypotheses.len() - 1, interpretation))
}

/// Whether all experiments that a claim is about are computed.
fn is_computed(claim: &OpenClaim, data: &Data) -> bool {
    let mut all = claim.written.experiments().map(|(_, name)| data.experiment(name));
    all.all(|experiment| experiment.is_some_and(|experiment| experiment.planned.computed))
}

fn computed_answer(question: &ClaimQuestion) -> Option<AnswerSource> {
    match question {
        ClaimQuestion::NotAsked(_) => None,
        ClaimQuestion::Number(number) => {
            let size = number.size.map(|(value, margin)| Published { value, margin });
            let answer = answer_of_number(number.datum.first_value(), number.margin, size);
            Some(AnswerSource::Computed(answer, number.interpretation))
        }
        ClaimQuestion::Steps(steps) => {
            let each = steps.order.steps.iter().map(|step| step.iter().flatten().next().copied());
            let least = each.collect::<Option<Vec<f64>>>()?.into_iter().min_by(f64::total_cmp);
            let answer = answer_of_number(least, steps.order.margin.into(), None);
            Some(AnswerSource::Computed(answer, steps.interpretation))
        }
    }
}

/// What equal cells showed, on the claim's scale.
fn noise_of(source: &NoiseSource, noise: &Noise, data: &Data) -> Vec<Vec<Option<f64>>> {
    let mut pairs = noise.log_ratios_by_block(source.experiment, &source.metric, &data.complete);
    pairs.iter_mut().flatten().flatten().for_each(|log| *log *= source.scale);
    pairs
}

fn of_number(question: &NumberQuestion, data: &Data, noise: &Noise) -> Hypothesis {
    let by_block = question.datum.values_or_none_in(&data.complete);
    let size = question.size.map(|(value, margin)| Published { value, margin });
    if !question.paired {
        return Hypothesis::Unpaired { by_block, margin: question.margin, size };
    }
    let noise = question.noise.iter().flat_map(|source| noise_of(source, noise, data)).collect();
    Hypothesis::Paired { by_block, margin: question.margin, noise, size }
}

/// The comparison that asks the same about the same cells within the same margins. It must not be asked about its
/// size by another claim.
fn shared(
    question: &NumberQuestion,
    pairs: &[(&Pair, usize)],
    hypotheses: &mut [Hypothesis],
) -> Option<AnswerSource> {
    let contrast = question.contrast.as_ref().filter(|_| question.interpretation.offset == 0.0)?;
    let (index, flip) = pairs.iter().find_map(|(pair, index)| {
        let Hypothesis::Paired { margin, size, .. } = &hypotheses[*index] else { return None };
        let free = *margin == question.margin && (question.size.is_none() || size.is_none());
        Some((*index, contrast.sign_against(&pair.contrast()).filter(|_| free)?))
    })?;
    // The comparison's number is `flip` times the claim's own. The claim's question is `sign` times that.
    let direction = flip * question.interpretation.sign;
    if let (Some((value, margin)), Hypothesis::Paired { size, .. }) = (question.size, &mut hypotheses[index])
    {
        *size = Some(Published { value: direction * value, margin });
    }
    let holds_on = if direction > 0.0 { Side::Above } else { Side::Below };
    Some(AnswerSource::Family(index, Interpretation { sign: flip, holds_on, ..question.interpretation }))
}

/// The planned interim analyses; of a plan without usable ones, a single analysis at its end.
fn planned_looks(blocks: &[usize]) -> Looks {
    let last = blocks.iter().copied().max().unwrap_or(1).max(1);
    Looks::new(blocks, ALPHA)
        .or_else(|| Looks::new(&[last], ALPHA))
        .expect("one analysis after a block is valid")
}
