//! The finding of a claim, from its answer.

use crosstalk_core::record::Origin;
use crosstalk_core::value::Levels;
use crosstalk_stats::family::{Answer, Conclusion};
use crosstalk_stats::peak;
use crosstalk_stats::verdict::Side;
use std::f64::consts::LN_2;

use super::family::{Family, JudgedClaim};
use super::question::{ClaimQuestion, NumberQuestion, OpenClaim};
use super::select::View;
use super::statement::Interpretation;
use super::{attribution, causes, change, latency_effect, network, patterns};
use crate::catalogue::Catalogues;
use crate::estimate;
use crate::file::Claim;
use crate::findings::{Attribution, ClaimFinding, ClaimVerdict, Estimate};
use crate::label;
use crate::number::{self, format_percent};
use crate::rules::{ALPHA, WITHIN};
use crate::words::{at_levels, count_in_words, join_in_words};

/// The verdict, the reason for it, and the number that was found.
type Verdict = (ClaimVerdict, String, Option<Estimate>);

/// Why an agreement in size of a number that a model made does not count.
const NOISE_ALONE: &str = "that is no evidence of size, since the interval holds this machine's noise, not the \
    error of the model's parameters, which carry no ranges yet";

/// A claim with its verdict after `blocks`. `view` is that of its experiment, where it was planned.
pub fn finding(
    judged: &JudgedClaim,
    family: &Family,
    view: Option<&View>,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> ClaimFinding {
    let claim = &judged.claim;
    let (verdict, why, found) = match (&judged.answer, &claim.question, view) {
        (Some((conclusion, interpretation)), ClaimQuestion::Number(question), _) => {
            number_verdict(judged, family, conclusion, interpretation, question, view)
        }
        (Some((conclusion, interpretation)), ClaimQuestion::Steps(_), Some(view)) => {
            steps_verdict(judged, family, conclusion, interpretation, view)
        }
        (_, ClaimQuestion::NotAsked(why), _) => (ClaimVerdict::NotRun, why.clone(), None),
        _ => (ClaimVerdict::NotRun, "it was not asked".into(), None),
    };
    let reason = view.and_then(|view| reason_withheld(claim, found?, view, blocks, catalogues));
    let is_withheld = reason.is_some();
    let (verdict, why) = match reason {
        Some(reason) => (ClaimVerdict::Inconclusive, format!("no verdict: {reason}")),
        None => (verdict, why),
    };
    let (verdict, why) = unless_no_evidence(claim, verdict, why, found.is_some());
    let view = view.filter(|_| !is_withheld);
    let attribution = view.and_then(|view| attributed(judged, found?, view, blocks, catalogues));
    let size = judged.answer.as_ref().and_then(|(conclusion, _)| conclusion.answer.size);
    ClaimFinding {
        name: claim.name.to_string(),
        statement: statement(claim),
        verdict,
        why,
        found,
        published: claim.published,
        margin: claim.margin,
        size_agrees: size.filter(|_| !is_withheld),
        unit: claim.unit.clone(),
        quantity: quantity(claim.written).into(),
        attribution,
    }
}

/// Why the verdict on a ratio is withheld: links were scaled down, and latency was not. `None` where it is not.
fn reason_withheld(
    claim: &OpenClaim,
    found: Estimate,
    view: &View,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Option<String> {
    latency_effect::latency_effect(view, &claim.contrast(view)?, found.value, blocks, catalogues)?
        .reason_withheld()
}

/// Where the extra time goes, for a claim about a ratio that is decided and not 1.
fn attributed(
    judged: &JudgedClaim,
    found: Estimate,
    view: &View,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Option<Attribution> {
    let ratio = judged.claim.written.ratio.as_ref()?;
    let decided = matches!(judged.answer.as_ref()?.0.answer.side?, Side::Above | Side::Below);
    let not_one = found.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let contrast = judged.claim.contrast(view)?;
    let cells = contrast.cells().filter(|_| decided && not_one)?;
    let shares = causes::shares(view, &contrast, blocks);
    let network = network::only_network_differs(cells, catalogues);
    attribution::attribute(&shares, found.value, [&ratio.of, &ratio.to], network)
}

/// What the number of a claim is, where it is not what the claim states; else empty.
fn quantity(claim: &Claim) -> &'static str {
    match claim {
        Claim { trend: Some(_), .. } => "exponent",
        Claim { order: Some(_), .. } => "least step",
        Claim { peak: Some(_), .. } => "lead over the next",
        Claim { correlation: Some(_), .. } => "rank correlation",
        _ => "",
    }
}

/// The claim in words, with what was published.
fn statement(claim: &OpenClaim) -> String {
    let words = claim.written.statement.trim_end_matches('.');
    match claim.published {
        Some(value) => format!("{words} (published: {})", number::format_number(value, &claim.unit)),
        None => words.to_string(),
    }
}

/// The verdict of a claim that is no evidence, whatever was found: a calibration, or a stand-in. Others keep theirs;
/// a secondary claim says that it is one.
fn unless_no_evidence(
    claim: &OpenClaim,
    verdict: ClaimVerdict,
    why: String,
    found: bool,
) -> (ClaimVerdict, String) {
    let written = claim.written;
    let also = if found { format!("; {why}") } else { String::new() };
    if verdict == ClaimVerdict::NotRun {
        (verdict, why)
    } else if let Some(reason) = &written.not_comparable {
        (ClaimVerdict::NotComparable, format!("{reason}{also}"))
    } else if let Some(parameter) = &written.calibration {
        (ClaimVerdict::Calibration, format!("it follows from {parameter}, so that it is no evidence{also}"))
    } else if !written.primary {
        (verdict, format!("{why} (judged by itself, not corrected for the study's other claims)"))
    } else {
        (verdict, why)
    }
}

/// The verdict on a claim about one number.
fn number_verdict(
    judged: &JudgedClaim,
    family: &Family,
    conclusion: &Conclusion,
    interpretation: &Interpretation,
    question: &NumberQuestion,
    view: Option<&View>,
) -> Verdict {
    let claim = &judged.claim;
    let missing = question.datum.missing.first().map(|why| format!("; {why}")).unwrap_or_default();
    let Some(interval) = conclusion.answer.interval else {
        let values: Vec<f64> = question.datum.values.values().copied().collect();
        let found =
            estimate::estimate_of_values(&values).map(|e| question.interpretation.point(e.value, e.n));
        return (ClaimVerdict::Inconclusive, too_few(values.len(), judged, family) + &missing, found);
    };
    let found = at_known_precision(interpretation.estimate(&interval), claim, question, view);
    let (verdict, means) = meaning(claim, interpretation, &conclusion.answer, question.datum.modelled);
    let mut why = format!("found {}{}{means}", number::format_estimate(&found, &claim.unit), claim.per);
    if verdict == ClaimVerdict::Inconclusive {
        why += &format!(" after {}{missing}", count_in_words(found.n, "block"));
    }
    (verdict, why, estimate::if_finite(found))
}

/// A number no more precise than it is known. What formulas and models give is the same in each block and has no
/// interval. What histograms counted is known to the width of a bucket.
fn at_known_precision(
    found: Estimate,
    claim: &OpenClaim,
    question: &NumberQuestion,
    view: Option<&View>,
) -> Estimate {
    let exact = |origin: &Origin| origin.is_same_in_each_block() || *origin == Origin::Predicted;
    let no_width = found.interval.is_some_and(change::has_no_width);
    if no_width && !question.datum.origins.is_empty() && question.datum.origins.iter().all(exact) {
        return Estimate { interval: None, n: 1, ..found };
    }
    let metric = claim.written.threshold.as_ref().map(|threshold| threshold.metric.as_str());
    match (metric, view) {
        (Some(metric), Some(view)) if view.experiment.has_histograms(metric) => {
            estimate::at_bucket_precision(found, &claim.unit)
        }
        _ => found,
    }
}

/// The verdict that an answer gives, and its reason: about direction and size.
fn meaning(
    claim: &OpenClaim,
    interpretation: &Interpretation,
    answer: &Answer,
    modelled: bool,
) -> (ClaimVerdict, String) {
    let margin = format_percent(claim.margin.unwrap_or(WITHIN));
    match (interpretation.holds(answer), answer.size) {
        (None, Some(false)) => (
            ClaimVerdict::Inconclusive,
            format!(
                ": its size differs by more than {margin} from what was published; its direction is not decided"
            ),
        ),
        (None, _) => (ClaimVerdict::Inconclusive, ": not decided".into()),
        (Some(false), _) => {
            (ClaimVerdict::NotReproduced, why_refuted(claim, interpretation, answer, &margin))
        }
        (Some(true), _) if interpretation.holds_on == Side::Within && modelled => {
            (ClaimVerdict::DirectionOnly, format!(": as published, within {margin}; {NOISE_ALONE}"))
        }
        (Some(true), _) if interpretation.holds_on == Side::Within => {
            (ClaimVerdict::Reproduced, format!(": as published, within {margin}"))
        }
        (Some(true), Some(true)) if modelled => (
            ClaimVerdict::DirectionOnly,
            format!(": on the published side, and within {margin} of its size; {NOISE_ALONE}"),
        ),
        (Some(true), Some(true)) => {
            (ClaimVerdict::Reproduced, format!(": on the published side, and within {margin} of its size"))
        }
        (Some(true), Some(false)) => (
            ClaimVerdict::DirectionOnly,
            format!(": on the published side, but its size differs by more than {margin}"),
        ),
        (Some(true), None) if interpretation.size_asked => (
            ClaimVerdict::DirectionOnly,
            format!(": on the published side; whether its size is within {margin} is not decided"),
        ),
        (Some(true), None) if claim.published.is_some() => (
            ClaimVerdict::DirectionOnly,
            ": on the published side; how near its size comes is not asked".into(),
        ),
        (Some(true), None) => (ClaimVerdict::Reproduced, format!(": as claimed ({})", expected(claim))),
    }
}

/// The predicate as written, or the published side.
fn expected(claim: &OpenClaim) -> String {
    let written = claim.written.expect.as_ref().map(|expect| expect.text().trim());
    written.unwrap_or("on the published side").to_string()
}

fn why_refuted(claim: &OpenClaim, interpretation: &Interpretation, answer: &Answer, margin: &str) -> String {
    match answer.side {
        Some(Side::Within) if interpretation.offset == 0.0 => {
            // A slope is in doublings.
            let log = if claim.written.trend.is_some() { answer.margin * LN_2 } else { answer.margin };
            let within = log.exp_m1();
            format!(": no difference beyond {}", format_percent(within))
        }
        Some(Side::Within) => format!(": at its bound, not beyond it ({})", expected(claim)),
        _ if interpretation.holds_on == Side::Within => {
            format!(": more than {margin} from what was published")
        }
        _ => format!(": not {}", expected(claim)),
    }
}

/// Why there is no interval.
fn too_few(values: usize, judged: &JudgedClaim, family: &Family) -> String {
    let questions = if judged.primary { family.questions } else { 1 };
    let needed = family.blocks_needed(questions);
    let values = count_in_words(values, "block");
    format!(
        "{values} decide nothing: deciding {} takes at least {needed}",
        count_in_words(questions, "question")
    )
}

/// The verdict on an order or a peak: the smallest of several differences decides.
fn steps_verdict(
    judged: &JudgedClaim,
    family: &Family,
    conclusion: &Conclusion,
    interpretation: &Interpretation,
    view: &View,
) -> Verdict {
    let claim = &judged.claim;
    let Some(interval) = conclusion.answer.interval else {
        return (ClaimVerdict::Inconclusive, too_few(family.conclusions.blocks, judged, family), None);
    };
    let smallest = interpretation.estimate(&interval);
    let (verdict, means) = match conclusion.answer.side {
        Some(Side::Above) => (ClaimVerdict::Reproduced, String::new()),
        Some(Side::Below | Side::Within) => (ClaimVerdict::NotReproduced, ": no step at all".into()),
        None => (
            ClaimVerdict::Inconclusive,
            format!(": not decided after {}", count_in_words(smallest.n, "block")),
        ),
    };
    let step = match smallest.interval {
        Some((low, high)) if high.is_infinite() => {
            format!(
                "{} (at least {})",
                number::format_number(smallest.value, "ratio"),
                number::format_number(low, "ratio")
            )
        }
        _ => number::format_estimate(&smallest, "ratio"),
    };
    let text = match &claim.written.peak {
        Some(peak) => format!(
            "{}; what is claimed leads the next best by {step}",
            peak_sentence(view, &peak.metric, &peak.along, &claim.written.at)
        ),
        None => format!("the smallest step up is {step}"),
    };
    (verdict, text + &means, estimate::if_finite(smallest))
}

/// The levels that may be the peak, in a sentence.
fn peak_sentence(view: &View, metric: &str, along: &str, levels: &Levels) -> String {
    let (among, rows) = patterns::logs_by_level(view, metric, along, levels);
    let levels_in_words: Vec<String> =
        peak::confidence_set(&rows, ALPHA).into_iter().map(|index| among[index].to_string()).collect();
    let verb = if levels_in_words.len() == 1 { "is" } else { "may be" };
    format!(
        "{metric} {verb} greatest at {} {}{}",
        label::display_name(along),
        join_in_words(&levels_in_words),
        at_levels(levels)
    )
}
