//! What follows for a claim, and why, in words.

use crosstalk_core::record::Origin;
use crosstalk_core::value::Levels;
use crosstalk_stats::family::{Answer, Conclusion};
use crosstalk_stats::peak;
use crosstalk_stats::verdict::Side;
use std::f64::consts::LN_2;

use super::family::{Family, Judged};
use super::question::{One, Put, Stated};
use super::select::View;
use super::statement::Reading;
use super::{attribution, causes, change, network, scaled, shape};
use crate::catalogue::Catalogues;
use crate::estimate;
use crate::file::Claim;
use crate::findings::{Attribution, ClaimFinding, ClaimVerdict, Estimate};
use crate::label;
use crate::number::{self, percent};
use crate::predicate::Predicate;
use crate::rules::{ALPHA, WITHIN};
use crate::words::{at, counted, list};

/// What follows, why, and what was found.
type Verdict = (ClaimVerdict, String, Option<Estimate>);

/// Why what a model made agrees in no size.
const NOISE_ALONE: &str = "that is no evidence of size, since the interval holds this machine's noise, not the \
    error of the model's parameters, which carry no ranges yet";

/// A claim with its verdict after `blocks`. `view` is that of its experiment, where it was planned.
pub fn finding(
    judged: &Judged,
    family: &Family,
    view: Option<&View>,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> ClaimFinding {
    let stated = &judged.stated;
    let (verdict, why, found) = match (&judged.answer, &stated.put, view) {
        (Some((conclusion, reading)), Put::One(one), _) => {
            about_one(judged, family, conclusion, reading, one, view)
        }
        (Some((conclusion, reading)), Put::Steps(_), Some(view)) => {
            about_steps(judged, family, conclusion, reading, view)
        }
        (_, Put::Not(why), _) => (ClaimVerdict::NotRun, why.clone(), None),
        _ => (ClaimVerdict::NotRun, "it was not asked".into(), None),
    };
    let doubt = view.and_then(|view| doubt(stated, found?, view, blocks, catalogues));
    let doubted = doubt.is_some();
    let (verdict, why) = match doubt {
        Some(doubt) => (ClaimVerdict::Inconclusive, format!("no verdict: {doubt}")),
        None => (verdict, why),
    };
    let (verdict, why) = set_apart(stated, verdict, why, found.is_some());
    let view = view.filter(|_| !doubted);
    let attribution = view.and_then(|view| attributed(judged, found?, view, blocks, catalogues));
    let size = judged.answer.as_ref().and_then(|(conclusion, _)| conclusion.answer.size);
    ClaimFinding {
        name: stated.name.to_string(),
        statement: statement(stated),
        verdict,
        why,
        found,
        published: stated.published,
        margin: stated.margin,
        size_agrees: size.filter(|_| !doubted),
        unit: stated.unit.clone(),
        quantity: quantity(stated.claim).into(),
        attribution,
    }
}

/// Why there is no verdict on a ratio whatever the data say: links were scaled down, and latency was not.
fn doubt(
    stated: &Stated,
    found: Estimate,
    view: &View,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Option<String> {
    scaled::of(view, &stated.contrast(view)?, found.value, blocks, catalogues)?.doubt()
}

/// Where the extra time goes: of a claim about a ratio that is decided and not one.
fn attributed(
    judged: &Judged,
    found: Estimate,
    view: &View,
    blocks: &[usize],
    catalogues: &Catalogues,
) -> Option<Attribution> {
    let ratio = judged.stated.claim.ratio.as_ref()?;
    let decided = matches!(judged.answer.as_ref()?.0.answer.side?, Side::Above | Side::Below);
    let apart = found.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
    let contrast = judged.stated.contrast(view)?;
    let cells = contrast.cells().filter(|_| decided && apart)?;
    let shares = causes::shares(view, &contrast, blocks);
    let network = network::alone(cells, catalogues);
    attribution::of(&shares, found.value, [&ratio.of, &ratio.to], network)
}

/// What the number of a claim is, where it is not the ratio or the value that the claim states.
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
fn statement(stated: &Stated) -> String {
    let words = stated.claim.statement.trim_end_matches('.');
    match stated.published {
        Some(value) => format!("{words} (published: {})", number::number(value, &stated.unit)),
        None => words.to_string(),
    }
}

/// Calibrations and stand-ins are no evidence, whatever was found; secondary claims say that they are.
fn set_apart(stated: &Stated, verdict: ClaimVerdict, why: String, found: bool) -> (ClaimVerdict, String) {
    let claim = stated.claim;
    let also = if found { format!("; {why}") } else { String::new() };
    if verdict == ClaimVerdict::NotRun {
        (verdict, why)
    } else if let Some(reason) = &claim.not_comparable {
        (ClaimVerdict::NotComparable, format!("{reason}{also}"))
    } else if let Some(parameter) = &claim.calibration {
        (ClaimVerdict::Calibration, format!("its figure set {parameter}, so that it is no evidence{also}"))
    } else if !claim.primary {
        (verdict, format!("{why} (judged by itself, not corrected for the study's other claims)"))
    } else {
        (verdict, why)
    }
}

/// A claim about one number.
fn about_one(
    judged: &Judged,
    family: &Family,
    conclusion: &Conclusion,
    reading: &Reading,
    one: &One,
    view: Option<&View>,
) -> Verdict {
    let stated = &judged.stated;
    let missing = one.datum.missing.first().map(|why| format!("; {why}")).unwrap_or_default();
    let Some(interval) = conclusion.answer.interval else {
        let values: Vec<f64> = one.datum.values.values().copied().collect();
        let found = estimate::of_plain(&values).map(|e| one.reading.point(e.value, e.n));
        return (ClaimVerdict::Inconclusive, too_few(values.len(), judged, family) + &missing, found);
    };
    let found = no_sharper(reading.found(&interval), stated, one, view);
    let (verdict, means) = meaning(stated, reading, &conclusion.answer, one.datum.modelled);
    let mut why = format!("found {}{}{means}", number::estimate(&found, &stated.unit), stated.per);
    if verdict == ClaimVerdict::Inconclusive {
        why += &format!(" after {}{missing}", counted(found.n, "block"));
    }
    (verdict, why, estimate::sound(found))
}

/// What was found, no sharper than it is known: what formulas and models give is the same in each block and has no
/// interval; what histograms counted, is known to a bucket.
fn no_sharper(found: Estimate, stated: &Stated, one: &One, view: Option<&View>) -> Estimate {
    let exact = |origin: &Origin| matches!(origin, Origin::Computed | Origin::Predicted);
    let flat = found.interval.is_some_and(change::flat);
    if flat && !one.datum.origins.is_empty() && one.datum.origins.iter().all(exact) {
        return Estimate { interval: None, n: 1, ..found };
    }
    let metric = stated.claim.threshold.as_ref().map(|threshold| threshold.metric.as_str());
    match (metric, view) {
        (Some(metric), Some(view)) if view.experiment.has_histograms(metric) => {
            estimate::as_counted(found, &stated.unit)
        }
        _ => found,
    }
}

/// What an answer says about direction and size.
fn meaning(stated: &Stated, reading: &Reading, answer: &Answer, modelled: bool) -> (ClaimVerdict, String) {
    let margin = percent(stated.margin.unwrap_or(WITHIN));
    match (reading.holds(answer), answer.size) {
        (None, Some(false)) => (
            ClaimVerdict::Inconclusive,
            format!(
                ": its size differs by more than {margin} from what was published; its direction is not decided"
            ),
        ),
        (None, _) => (ClaimVerdict::Inconclusive, ": not decided".into()),
        (Some(false), _) => (ClaimVerdict::NotReproduced, refuted(stated, reading, answer, &margin)),
        (Some(true), _) if reading.stands == Side::Within && modelled => {
            (ClaimVerdict::DirectionOnly, format!(": as published, within {margin}; {NOISE_ALONE}"))
        }
        (Some(true), _) if reading.stands == Side::Within => {
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
        (Some(true), None) if reading.sized => (
            ClaimVerdict::DirectionOnly,
            format!(": on the published side; whether its size is within {margin} is not decided"),
        ),
        (Some(true), None) if stated.published.is_some() => (
            ClaimVerdict::DirectionOnly,
            ": on the published side; how near its size comes is not asked".into(),
        ),
        (Some(true), None) => (ClaimVerdict::Reproduced, format!(": as claimed ({})", expected(stated))),
    }
}

/// The predicate as written, or the published side.
fn expected(stated: &Stated) -> String {
    let written = stated.claim.expect.as_deref().filter(|text| Predicate::parse(text).is_ok());
    written.map_or_else(|| "on the published side".into(), |text| text.trim().to_string())
}

fn refuted(stated: &Stated, reading: &Reading, answer: &Answer, margin: &str) -> String {
    match answer.side {
        Some(Side::Within) if reading.offset == 0.0 => {
            // A slope is in doublings.
            let log = if stated.claim.trend.is_some() { answer.margin * LN_2 } else { answer.margin };
            let within = log.exp_m1();
            format!(": no difference beyond {}", percent(within))
        }
        Some(Side::Within) => format!(": at its bound, not beyond it ({})", expected(stated)),
        _ if reading.stands == Side::Within => format!(": more than {margin} from what was published"),
        _ => format!(": not {}", expected(stated)),
    }
}

/// Why there is no interval.
fn too_few(values: usize, judged: &Judged, family: &Family) -> String {
    let questions = if judged.primary { family.questions } else { 1 };
    let needed = family.blocks_needed(questions);
    let values = counted(values, "block");
    format!("{values} decide nothing: deciding {} takes at least {needed}", counted(questions, "question"))
}

/// An order or a peak: several differences, of which the smallest speaks.
fn about_steps(
    judged: &Judged,
    family: &Family,
    conclusion: &Conclusion,
    reading: &Reading,
    view: &View,
) -> Verdict {
    let stated = &judged.stated;
    let Some(interval) = conclusion.answer.interval else {
        return (ClaimVerdict::Inconclusive, too_few(family.conclusions.blocks, judged, family), None);
    };
    let smallest = reading.found(&interval);
    let (verdict, means) = match conclusion.answer.side {
        Some(Side::Above) => (ClaimVerdict::Reproduced, String::new()),
        Some(Side::Below | Side::Within) => (ClaimVerdict::NotReproduced, ": that is none".into()),
        None => (ClaimVerdict::Inconclusive, format!(": not decided after {}", counted(smallest.n, "block"))),
    };
    let step = match smallest.interval {
        Some((low, high)) if high.is_infinite() => {
            format!("{} (at least {})", number::number(smallest.value, "ratio"), number::number(low, "ratio"))
        }
        _ => number::estimate(&smallest, "ratio"),
    };
    let text = match &stated.claim.peak {
        Some(peak) => format!(
            "{}; what is claimed leads the next best by {step}",
            place_of_peak(view, &peak.metric, &peak.along, &stated.claim.at)
        ),
        None => format!("the smallest step up is {step}"),
    };
    (verdict, text + &means, estimate::sound(smallest))
}

/// Which levels may be the peak.
fn place_of_peak(view: &View, metric: &str, along: &str, levels: &Levels) -> String {
    let (among, rows) = shape::by_level(view, metric, along, levels);
    let named: Vec<String> =
        peak::confidence_set(&rows, ALPHA).into_iter().map(|place| among[place].to_string()).collect();
    let verb = if named.len() == 1 { "is" } else { "may be" };
    format!("{metric} {verb} greatest at {} {}{}", label::called(along), list(&named), at(levels))
}
