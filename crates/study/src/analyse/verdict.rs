//! What follows for a claim, and why, in words.

use crosstalk_core::value::Levels;
use crosstalk_stats::family::Answer;
use crosstalk_stats::paired::blocks_needed;
use crosstalk_stats::peak;
use crosstalk_stats::verdict::Side;

use super::claim::{Put, Stated};
use super::estimate;
use super::family::{Family, Judged};
use super::noise::WITHIN;
use super::select::View;
use super::shape;
use super::statement::Reading;
use super::words::{self, amount, at, counted, list, percent};
use crate::findings::{ClaimFinding, ClaimVerdict, Estimate};
use crate::predicate::Predicate;

/// A claim with its verdict.
pub fn finding(judged: &Judged, family: &Family, view: Option<&View>) -> ClaimFinding {
    let stated = &judged.stated;
    let (verdict, why, found) = match (&judged.answer, &stated.put) {
        (Some(_), Put::One(_)) => one(judged, family),
        (Some(_), Put::Steps(..)) => steps(judged, family, view),
        (_, Put::Not(why)) => (ClaimVerdict::NotRun, why.clone(), None),
        (None, _) => (ClaimVerdict::NotRun, "it was not asked".into(), None),
    };
    let (verdict, why) = set_apart(stated, verdict, why, found.is_some());
    ClaimFinding {
        name: stated.name.to_string(),
        statement: statement(stated),
        verdict,
        why,
        found,
        published: stated.published,
        margin: stated.margin,
        unit: stated.unit.clone(),
    }
}

/// The claim in words, with what was published.
fn statement(stated: &Stated) -> String {
    let words = stated.claim.statement.trim_end_matches('.');
    match stated.published {
        Some(value) => format!("{words} (published: {})", amount(value, &stated.unit)),
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

fn one(judged: &Judged, family: &Family) -> (ClaimVerdict, String, Option<Estimate>) {
    let stated = &judged.stated;
    let (Some((conclusion, reading)), Put::One(one)) = (&judged.answer, &stated.put) else {
        return (ClaimVerdict::NotRun, String::new(), None);
    };
    let Some(interval) = conclusion.answer.interval else {
        let values = one.datum.values.len();
        return (ClaimVerdict::Inconclusive, too_few(values, &one.datum.missing, judged, family), None);
    };
    let found = reading.found(&interval);
    let text = format!("found {}{}", words::estimate(&found, &stated.unit), per(stated));
    let (verdict, means) = match (reading.holds(&conclusion.answer), conclusion.answer.size) {
        (None, _) => {
            (ClaimVerdict::Inconclusive, format!(" after {}: that does not decide", blocks(found.n)))
        }
        (Some(false), _) => (ClaimVerdict::NotReproduced, refuted(stated, reading, &conclusion.answer)),
        (Some(true), _) if reading.stands == Side::Within => {
            (ClaimVerdict::Reproduced, format!(": as published, within {}", margin_text(stated)))
        }
        (Some(true), Some(true)) => (
            ClaimVerdict::Reproduced,
            format!(": on the published side, and within {} of its size", margin_text(stated)),
        ),
        (Some(true), Some(false)) => (
            ClaimVerdict::DirectionOnly,
            format!(": on the published side, but its size differs by more than {}", margin_text(stated)),
        ),
        (Some(true), None) if reading.sized => (
            ClaimVerdict::DirectionOnly,
            format!(
                ": on the published side; whether its size is within {} is not decided",
                margin_text(stated)
            ),
        ),
        (Some(true), None) if stated.published.is_some() => (
            ClaimVerdict::DirectionOnly,
            ": on the published side; no margin says how near its size must come".into(),
        ),
        (Some(true), None) => (ClaimVerdict::Reproduced, format!(": {}, as claimed", expected(stated))),
    };
    (verdict, text + &means, estimate::sound(found))
}

/// ` per doubling of slaves`, for trends.
fn per(stated: &Stated) -> String {
    match &stated.claim.trend {
        Some(trend) => format!(" as the exponent along {}", trend.along),
        None => String::new(),
    }
}

fn margin_text(stated: &Stated) -> String {
    percent(stated.margin.unwrap_or(WITHIN))
}

/// The predicate as written, or the published side.
fn expected(stated: &Stated) -> String {
    let written = stated.claim.expect.as_deref().filter(|text| Predicate::parse(text).is_ok());
    written.map_or_else(|| "on the published side".into(), |text| text.trim().to_string())
}

fn refuted(stated: &Stated, reading: &Reading, answer: &Answer) -> String {
    match answer.side {
        Some(Side::Within) if reading.offset == 0.0 => {
            let within = if stated.claim.trend.is_some() { WITHIN } else { answer.margin.exp_m1() };
            format!(": no difference beyond {}", percent(within))
        }
        Some(Side::Within) => format!(": at its bound, not beyond it ({})", expected(stated)),
        _ if reading.stands == Side::Within => {
            format!(": more than {} from what was published", margin_text(stated))
        }
        _ => format!(": not {}", expected(stated)),
    }
}

/// Why there is no interval.
fn too_few(values: usize, missing: &[String], judged: &Judged, family: &Family) -> String {
    let (questions, who) = match judged.primary {
        true => (family.questions, format!("among {}", counted(family.questions, "question"))),
        false => (1, "by itself".to_string()),
    };
    let error = family.looks.all().last().map_or(0.0, |look| look.error);
    let needed = blocks_needed(crosstalk_stats::family::level(error, questions, 0));
    let mut why = format!("{} are too few: deciding this {who} takes at least {needed}", blocks(values));
    if let Some(first) = missing.first() {
        why.push_str(&format!("; {first}"));
    }
    why
}

fn blocks(n: usize) -> String {
    counted(n, "block")
}

/// Orders and peaks.
fn steps(judged: &Judged, family: &Family, view: Option<&View>) -> (ClaimVerdict, String, Option<Estimate>) {
    let stated = &judged.stated;
    let (Some((conclusion, reading)), Some(view)) = (&judged.answer, view) else {
        return (ClaimVerdict::NotRun, "it was not asked".into(), None);
    };
    let Some(interval) = conclusion.answer.interval else {
        return (ClaimVerdict::Inconclusive, too_few(0, &[], judged, family), None);
    };
    let verdict = match conclusion.answer.side {
        Some(Side::Above) => ClaimVerdict::Reproduced,
        Some(Side::Below | Side::Within) => ClaimVerdict::NotReproduced,
        None => ClaimVerdict::Inconclusive,
    };
    let smallest = reading.found(&interval);
    let step = match smallest.interval {
        Some((low, high)) if high.is_infinite() => {
            format!("{} (at least {})", amount(smallest.value, "ratio"), amount(low, "ratio"))
        }
        _ => words::estimate(&smallest, "ratio"),
    };
    let text = match (&stated.claim.order, &stated.claim.peak) {
        (Some(_), _) => format!("the smallest step up is {step}"),
        (_, Some(claimed)) => format!(
            "{}; the claimed level leads the next best by {step}",
            place_of_peak(view, &claimed.metric, &claimed.along, &stated.claim.at)
        ),
        _ => format!("found {step}"),
    };
    let means = match verdict {
        ClaimVerdict::Reproduced => "",
        ClaimVerdict::NotReproduced => ": that is none",
        _ => ": that does not decide",
    };
    (verdict, text + means, estimate::sound(smallest))
}

/// Which levels may be the peak.
fn place_of_peak(view: &View, metric: &str, along: &str, levels: &Levels) -> String {
    let among = view.levels_of(along, levels);
    let rows: Vec<Vec<Option<f64>>> = among
        .iter()
        .map(|l| shape::at_level(view, metric, levels, along, l).by_position(&view.data.complete))
        .collect();
    let named: Vec<String> =
        peak::confidence_set(&rows, super::family::ALPHA).into_iter().map(|i| among[i].to_string()).collect();
    match named.as_slice() {
        [only] => format!("{metric} is greatest at {along} {only}{}", at(levels)),
        _ => format!("{metric} may be greatest at {along} {}{}", list(&named), at(levels)),
    }
}
