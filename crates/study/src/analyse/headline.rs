//! The sentence to forward.

use crosstalk_core::record::Better;
use crosstalk_core::value::Levels;
use crosstalk_stats::family::Conclusion;
use crosstalk_stats::verdict::Side;
use std::collections::BTreeMap;

use super::causes::OTHER;
use super::comparison::Pair;
use super::family::Family;
use super::level;
use super::words::{at, counted};
use crate::file::Study;
use crate::findings::{Comparison, ComparisonVerdict, Estimate, Headline};
use crate::number::{self, percent};

/// The deciding sentence: about the comparison the study names, else its first.
pub fn headline(
    study: &Study,
    family: &Family,
    comparisons: &[Option<Comparison>],
    command: &str,
) -> Headline {
    let chosen = family.pairs.iter().zip(comparisons).find(|((pair, _), _)| named(study, pair));
    let (text, decided) = match chosen.or_else(|| family.pairs.iter().zip(comparisons).next()) {
        Some(((pair, conclusion), Some(found))) => about(study, pair, conclusion, found, family),
        Some(((pair, _), None)) => (nothing(pair), false),
        None => without_comparison(family),
    };
    Headline { text, decided, command: command.to_string() }
}

fn named(study: &Study, pair: &Pair) -> bool {
    study.headline.as_ref().is_some_and(|h| {
        pair.view.data.experiments[pair.view.index].planned.name == h.experiment
            && level::same(&pair.other, &h.level)
            && level::matches(&pair.at, &h.at)
    })
}

fn about(
    study: &Study,
    pair: &Pair,
    conclusion: &Conclusion,
    found: &Comparison,
    family: &Family,
) -> (String, bool) {
    let subject = subject(study, pair);
    let other = &found.other;
    let than = than(study, pair);
    match found.verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Worse => {
            let cause = cause(&found.causes, found.verdict);
            (format!("{other}: {}{subject}{}{cause}", change(found, &than), interval(found)), true)
        }
        ComparisonVerdict::Equivalent => {
            let margin = percent(conclusion.answer.margin.exp_m1());
            (
                format!(
                    "{other} and {}: no difference beyond {margin}{subject}{}",
                    found.base,
                    interval(found)
                ),
                true,
            )
        }
        ComparisonVerdict::Inconclusive => (
            format!(
                "{other} against {}: {}{subject}",
                found.base,
                undecided(pair, conclusion, found, family)
            ),
            false,
        ),
    }
}

/// ` on PageRank …`: what the study calls it, else the levels of what varies beside.
fn subject(study: &Study, pair: &Pair) -> String {
    match study.headline.as_ref().filter(|h| !h.subject.is_empty() && named(study, pair)) {
        Some(headline) => format!(" on {}", headline.subject),
        None => {
            let mut varied = pair.at.clone();
            varied.retain(|factor, _| pair.view.levels_of(factor, &Levels::new()).len() > 1);
            at(&varied)
        }
    }
}

/// ` than BASE`, where the reader cannot know it: with two levels and nothing said, it is the other one.
fn than(study: &Study, pair: &Pair) -> String {
    let told = study.headline.as_ref().is_some_and(|h| !h.subject.is_empty());
    let levels = pair.view.levels_of(&pair.factor, &pair.at).len();
    if told || levels > 2 { format!(" than {}", pair.base) } else { String::new() }
}

/// `1.26 × faster than microblade`, `3.15 × the bandwidth of microblade`.
fn change(found: &Comparison, than: &str) -> String {
    let grew = found.ratio.value >= 1.0;
    let times = number::value(&told(found), "ratio");
    match (found.better, grew) {
        (Better::Lower, false) => format!("{times} faster{than}"),
        (Better::Lower, true) => format!("{times} slower{than}"),
        (_, true) => format!("{times} more {}{than}", super::figures::words(&found.metric)),
        (_, false) => format!("{times} less {}{than}", super::figures::words(&found.metric)),
    }
}

/// The interval of the factor that is told.
fn interval(found: &Comparison) -> String {
    number::interval(&told(found), "ratio").map(|ends| format!(" ({ends})")).unwrap_or_default()
}

/// The factor that is told: base over other where that is what grew.
fn told(found: &Comparison) -> Estimate {
    let changed = matches!(found.verdict, ComparisonVerdict::Better | ComparisonVerdict::Worse);
    let ratio = found.ratio;
    if !changed || ratio.value >= 1.0 {
        return ratio;
    }
    let interval = ratio.interval.map(|(low, high)| (1.0 / high, 1.0 / low));
    Estimate { value: 1.0 / ratio.value, interval, ..ratio }
}

/// `; 92 % of the gain is network waiting`: the cause that bears most of the change.
fn cause(causes: &BTreeMap<String, f64>, verdict: ComparisonVerdict) -> String {
    let most = causes.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let gain = if verdict == ComparisonVerdict::Better { "gain" } else { "loss" };
    match most {
        // More than the whole, where something else took longer.
        Some((name, share)) if *share > 0.995 => format!("; all of the {gain} is {}", cause_words(name)),
        Some((name, share)) if *share > 0.0 => {
            format!("; {:.0} % of the {gain} is {}", share * 100.0, cause_words(name))
        }
        _ => String::new(),
    }
}

fn cause_words(cause: &str) -> String {
    match cause {
        "wait" => "network waiting".into(),
        "compute" => "computing".into(),
        "serialise" => "serialising".into(),
        OTHER => "time that is not accounted for".into(),
        named => super::figures::words(named),
    }
}

fn undecided(pair: &Pair, conclusion: &Conclusion, found: &Comparison, family: &Family) -> String {
    let seen = counted(found.ratio.n, "block");
    if conclusion.answer.interval.is_none() {
        let needed = family.blocks_needed(family.questions);
        let why = pair.datum.missing.first().map(|m| format!("; {m}")).unwrap_or_default();
        return format!(
            "no verdict after {seen}: deciding {} takes at least {needed}{why}",
            counted(family.questions, "question")
        );
    }
    if conclusion.answer.side.is_some_and(|side| side != Side::Within) {
        return format!("{} changes by {}, which is neither better nor worse", found.metric, ratio(found));
    }
    format!("not decided after {seen}: {}", ratio(found))
}

fn ratio(found: &Comparison) -> String {
    number::estimate(&found.ratio, "ratio")
}

fn nothing(pair: &Pair) -> String {
    let why = pair.datum.missing.first().cloned().unwrap_or_else(|| "no block has both".into());
    format!("{} against {}: nothing to compare: {why}", pair.other, pair.base)
}

/// A study that compares nothing is summed up by its claims.
fn without_comparison(family: &Family) -> (String, bool) {
    let settled =
        family.claims.iter().filter(|c| c.answer.as_ref().is_some_and(|(a, _)| a.settled_at.is_some()));
    let (settled, all) = (settled.count(), family.claims.len());
    if all == 0 {
        return ("nothing was asked: the study has neither comparisons nor claims".into(), false);
    }
    (format!("{settled} of {} decided", counted(all, "claim")), settled > 0)
}
