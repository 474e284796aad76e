//! The finding of a claim, from its answer.

use crosstalk_core::record::Origin;
use crosstalk_core::value::Levels;
use crosstalk_stats::family::{Answer, Conclusion};
use crosstalk_stats::peak;
use crosstalk_stats::verdict::Side;
use std::f64::consts::LN_2;

use super::family::{Family, JudgedClaim};
use super::implied::implied_above;
use super::over_ranges::NumbersByCluster;
use super::question::{ClaimQuestion, NumberQuestion, OpenClaim};
use super::ranged::Ranged;
use super::select::View;
use super::statement::Interpretation;
use super::without_ranges::WithoutRanges;
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

/// What all claims are judged by.
pub struct Evidence<'a> {
    /// The answers to all questions.
    pub family: &'a Family<'a>,
    /// The complete blocks that count.
    pub blocks: &'a [usize],
    /// Fabrics and systems.
    pub catalogues: &'a Catalogues,
    /// The claims' numbers over the ranges of the clusters' parameters, where they were replayed.
    pub over_ranges: Option<&'a NumbersByCluster<'a>>,
}

/// A claim with its verdict. `view` is that of its experiment, where it was planned.
pub fn finding(judged: &JudgedClaim, view: Option<&View>, evidence: &Evidence) -> ClaimFinding {
    let Evidence { family, blocks, catalogues, .. } = *evidence;
    let claim = &judged.claim;
    let ranged = judged.answer.as_ref().and_then(|(conclusion, interpretation)| {
        let spread = evidence.over_ranges?.claim(claim.name)?;
        Some(Ranged::new(spread.turned(interpretation.sign), conclusion.answer.interval?, *interpretation))
    });
    let ranged = ranged.as_ref();
    let (verdict, why, found) = match (&judged.answer, &claim.question, view) {
        (Some((conclusion, interpretation)), ClaimQuestion::Number(question), _) => {
            number_verdict(judged, evidence, (conclusion, interpretation), question, view, ranged)
        }
        (Some((conclusion, interpretation)), ClaimQuestion::Steps(_), Some(view)) => {
            steps_verdict(judged, family, (conclusion, interpretation), view, ranged)
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
    let (verdict, why) = unless_implied(claim, verdict, why, view, catalogues);
    let (verdict, why) = unless_no_evidence(claim, verdict, why, found.is_some());
    let view = view.filter(|_| !is_withheld);
    let attribution = view.and_then(|view| attributed(judged, found?, view, blocks, catalogues));
    let size = judged.answer.as_ref().and_then(|(conclusion, _)| conclusion.answer.size);
    let size_holds_over_ranges = ranged.is_none_or(|ranged| {
        let asked = judged.size();
        asked.is_none_or(|asked| ranged.size_agrees(asked) == size)
    });
    ClaimFinding {
        name: claim.name.to_string(),
        statement: statement(claim),
        verdict,
        why,
        found,
        published: claim.published,
        margin: claim.margin,
        size_agrees: size.filter(|_| !is_withheld && size_holds_over_ranges),
        over_ranges: ranged.map(Ranged::finding),
        origins: origins(&claim.question),
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

/// The origins of the numbers that a question is about.
fn origins(question: &ClaimQuestion) -> Vec<Origin> {
    match question {
        ClaimQuestion::Number(question) => question.datum.origins.iter().copied().collect(),
        ClaimQuestion::Steps(question) => question.origins.iter().copied().collect(),
        ClaimQuestion::NotAsked(_) => Vec::new(),
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

/// The verdict of a claim whose side was implied when the parameters were written: no evidence of it.
fn unless_implied(
    claim: &OpenClaim,
    verdict: ClaimVerdict,
    why: String,
    view: Option<&View>,
    catalogues: &Catalogues,
) -> (ClaimVerdict, String) {
    let holds = matches!(verdict, ClaimVerdict::Reproduced | ClaimVerdict::DirectionOnly);
    let implied = || {
        let view = view.filter(|_| holds)?;
        let above = implied_above(view, &claim.contrast(view)?, catalogues)?;
        let expects = claim.side_of_one()?;
        (above == expects).then_some(())
    };
    match implied() {
        Some(()) => (
            ClaimVerdict::Implied,
            format!(
                "{why}; but no work could have come out on the other side: one cluster is at least as costly as the other in \
                 every parameter"
            ),
        ),
        None => (verdict, why),
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
    } else if verdict == ClaimVerdict::NotReproduced
        && (written.calibration.is_some() || written.implied.is_some())
    {
        // What was set by a figure and does not give it is news.
        (verdict, why)
    } else if let Some(parameter) = &written.calibration {
        (ClaimVerdict::Calibration, format!("it follows from {parameter}, so that it is no evidence{also}"))
    } else if let Some(reason) = &written.implied {
        (ClaimVerdict::Implied, format!("no work could have shown the opposite: {reason}{also}"))
    } else if !written.primary {
        (verdict, format!("{why} (judged by itself, not corrected for the study's other claims)"))
    } else {
        (verdict, why)
    }
}

/// The verdict on a claim about one number.
fn number_verdict(
    judged: &JudgedClaim,
    evidence: &Evidence,
    (conclusion, interpretation): (&Conclusion, &Interpretation),
    question: &NumberQuestion,
    view: Option<&View>,
    ranged: Option<&Ranged>,
) -> Verdict {
    let claim = &judged.claim;
    let missing = question.datum.missing.first().map(|why| format!("; {why}")).unwrap_or_default();
    let Some(interval) = conclusion.answer.interval else {
        let values: Vec<f64> = question.datum.values.values().copied().collect();
        let found =
            estimate::estimate_of_values(&values).map(|e| question.interpretation.point(e.value, e.n));
        return (
            ClaimVerdict::Inconclusive,
            too_few(values.len(), judged, evidence.family) + &missing,
            found,
        );
    };
    let found = at_known_precision(interpretation.estimate(&interval), claim, question, view);
    let modelled = (question.datum.modelled && ranged.is_none()).then(|| {
        let stayed = evidence.over_ranges.is_some_and(|over| over.has_claim_unmoved(claim.name));
        WithoutRanges::of(stayed, !view.is_some_and(View::has_no_noise))
    });
    let (verdict, mut means) = meaning(claim, interpretation, &conclusion.answer, modelled);
    let verdict =
        match ranged.and_then(|ranged| ranged.changed(claim, verdict, &conclusion.answer, judged.size())) {
            Some((verdict, instead)) => {
                means = instead;
                verdict
            }
            None => verdict,
        };
    let both = ranged.map(|ranged| ranged.in_words(&claim.unit)).unwrap_or_default();
    let mut why = format!("found {}{}{both}{means}", number::format_estimate(&found, &claim.unit), claim.per);
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

/// The verdict that an answer gives, and its reason: about direction and size. `modelled`: a model made the
/// number, and its parameters' error is not known.
fn meaning(
    claim: &OpenClaim,
    interpretation: &Interpretation,
    answer: &Answer,
    modelled: Option<WithoutRanges>,
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
        (Some(true), _)
            if interpretation.holds_on == Side::Within
                && let Some(why) = modelled =>
        {
            (
                ClaimVerdict::DirectionOnly,
                format!(": as published, within {margin}; {}", why.is_no_evidence()),
            )
        }
        (Some(true), _) if interpretation.holds_on == Side::Within => {
            (ClaimVerdict::Reproduced, format!(": as published, within {margin}"))
        }
        (Some(true), Some(true)) if let Some(why) = modelled => (
            ClaimVerdict::DirectionOnly,
            format!(": on the published side, and within {margin} of its size; {}", why.is_no_evidence()),
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
            match &claim.written.size_not_comparable {
                Some(why) => format!(": on the published side; its size is not comparable: {why}"),
                None => ": on the published side; how near its size comes is not asked".into(),
            },
        ),
        (Some(true), None) if let Some(known) = modelled => (
            ClaimVerdict::Reproduced,
            format!(": as claimed ({}), on the cluster as it is; {}", expected(claim), known.in_words()),
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
        "{values} cannot decide: deciding {} takes at least {needed}",
        count_in_words(questions, "question")
    )
}

/// The verdict on an order or a peak: the smallest of several differences decides.
fn steps_verdict(
    judged: &JudgedClaim,
    family: &Family,
    (conclusion, interpretation): (&Conclusion, &Interpretation),
    view: &View,
    ranged: Option<&Ranged>,
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
    let changed = ranged.and_then(|ranged| ranged.changed(claim, verdict, &conclusion.answer, None));
    let (verdict, means) = changed.unwrap_or((verdict, means));
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
