//! The sentence to forward.

use crosstalk_core::value::Levels;
use crosstalk_stats::family::Conclusion;
use crosstalk_stats::verdict::Side;
use std::cmp::Ordering;

use super::change::Change;
use super::data::Data;
use super::family::Family;
use super::pair::Pair;
use super::select::View;
use super::{comparison, context, failures};
use crate::catalogue::Catalogues;
use crate::file::{Headline as Spec, Study};
use crate::findings::{Comparison, ComparisonVerdict, Headline};
use crate::level;
use crate::number::{self, percent};
use crate::words::{at, counted};
use crate::{estimate, words};

/// The deciding sentence: about the comparison the study names, else its first, or where that
/// one is open the largest effect that is decided.
pub fn headline(
    study: &Study,
    catalogues: &Catalogues,
    family: &Family,
    comparisons: &[Option<Comparison>],
    data: &Data,
) -> Headline {
    let mut all = family.pairs.iter().zip(comparisons);
    let compared = |(_, found): &Found| found.is_some();
    let named = all.clone().filter(compared).find(|((pair, _), _)| named(study, pair));
    // Where the named level is not run, another of the same experiment answers the study's question.
    let near = all.clone().filter(compared).find(|((pair, _), _)| asked(study, pair));
    let first = all.clone().next().filter(|(_, found)| decided(found));
    // All are judged together, and each verdict holds whichever is told. That it is the largest is said: of many,
    // the largest is by chance a little larger than it is.
    let other = study.headline.is_none() && first.is_none();
    let largest = || all.clone().filter(|(_, found)| other && decided(found)).max_by(larger);
    let any = || all.clone().find(compared);
    let told = named.or(near).or(first).or_else(largest).or_else(any).or_else(|| all.next());
    let (mut text, decided) = match told {
        Some(((pair, conclusion), Some(found))) => match doubt(pair, found, family, data, catalogues) {
            Some(doubt) => {
                let other = level::called(&pair.factor, &pair.other);
                let base = base(study, pair);
                (format!("{other} against {base}: no verdict{}: {doubt}", subject(study, pair)), false)
            }
            None => about(study, pair, conclusion, found, family),
        },
        Some(((pair, _), None)) => (nothing(study, pair, data), false),
        None => lone(study, data).unwrap_or_else(|| without_comparison(family)),
    };
    if other && decided && told.is_some() {
        text += &beside(comparisons);
    }
    let found = told.and_then(|((pair, _), found)| Some((pair, found.as_ref()?)));
    if found.is_some() || told.is_none() {
        text += &failures::told(data);
    }
    let (context, bars) = match found {
        Some((pair, found)) => (context::of(pair, found), context::bars(pair, found)),
        None => (String::new(), Vec::new()),
    };
    let unit = found.map_or(String::new(), |(_, found)| found.values.unit.clone());
    Headline { text, context, bars, unit, decided, command: data.run.command.clone() }
}

/// Why there is no verdict on an effect that the data show.
fn doubt(
    pair: &Pair,
    found: &Comparison,
    family: &Family,
    data: &Data,
    catalogues: &Catalogues,
) -> Option<String> {
    let seen = &data.complete[..family.conclusions.blocks.min(data.complete.len())];
    let open = found.verdict == ComparisonVerdict::Inconclusive;
    comparison::doubt(pair, found.ratio.value, seen, catalogues).filter(|_| open)
}

type Found<'a, 'b> = (&'a (Pair<'b>, Conclusion), &'a Option<Comparison>);

fn decided(found: &Option<Comparison>) -> bool {
    found.as_ref().is_some_and(|found| found.verdict != ComparisonVerdict::Inconclusive)
}

/// Half as much is as large an effect as twice as much; that there is none is no effect.
fn larger((_, a): &Found, (_, b): &Found) -> Ordering {
    let differs = |found: &&Comparison| found.verdict != ComparisonVerdict::Equivalent;
    let effect = |found: &Option<Comparison>| {
        found.as_ref().filter(differs).map_or(0.0, |found| found.ratio.value.ln().abs())
    };
    effect(a).total_cmp(&effect(b))
}

/// `; the largest of 3 that are decided, of 12 comparisons`.
fn beside(comparisons: &[Option<Comparison>]) -> String {
    let all = counted(comparisons.len(), "comparison");
    match comparisons.iter().filter(|found| decided(found)).count() {
        1 => format!("; the only one that is decided, of {all}"),
        sure => format!("; the largest of {sure} that are decided, of {all}"),
    }
}

/// Whether a pair is of the experiment that the study's headline speaks of.
fn asked(study: &Study, pair: &Pair) -> bool {
    study.headline.as_ref().is_some_and(|headline| headline.experiment == pair.view.experiment.name())
}

fn named(study: &Study, pair: &Pair) -> bool {
    study.headline.as_ref().is_some_and(|h| stands(h, pair) && pair.other == h.level)
}

/// Whether a pair stands where the study's headline speaks of.
fn stands(headline: &Spec, pair: &Pair) -> bool {
    pair.view.experiment.name() == headline.experiment && level::matches(&pair.at, &headline.at)
}

fn about(
    study: &Study,
    pair: &Pair,
    conclusion: &Conclusion,
    found: &Comparison,
    family: &Family,
) -> (String, bool) {
    let what = format!("{}{}", subject(study, pair), context::conditions(pair, found));
    let other = level::called(&pair.factor, &pair.other);
    let base = base(study, pair);
    let change = Change { metric: &pair.metric, query: &pair.query, ratio: found.ratio };
    match found.verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Worse => {
            let most = found.attribution.as_ref().map(|of| of.most.as_str()).filter(|most| !most.is_empty());
            let cause = most.map(|most| format!("; {most}")).unwrap_or_default();
            (format!("{other}: {}{what}{cause}", change.than(&base)), true)
        }
        ComparisonVerdict::Equivalent => {
            let margin = percent(conclusion.answer.margin.exp_m1());
            (format!("{other} and {base}: equivalent within {margin}{what}; {}", found.change), true)
        }
        ComparisonVerdict::Inconclusive => {
            (format!("{other} against {base}: {}", undecided(pair, conclusion, found, family, &what)), false)
        }
    }
}

/// ` on PageRank …`: what the study calls it, else the levels of what varies beside.
fn subject(study: &Study, pair: &Pair) -> String {
    // It is about the place, and holds for every level that is compared there.
    match study.headline.as_ref().filter(|h| !h.subject.is_empty() && stands(h, pair)) {
        Some(headline) => format!(" on {}", headline.subject),
        None => {
            let mut varied = pair.at.clone();
            varied.retain(|factor, _| pair.view.levels_of(factor, &Levels::new()).len() > 1);
            at(&varied)
        }
    }
}

/// What is compared with: as the study calls it, else its level.
fn base(study: &Study, pair: &Pair) -> String {
    match study.headline.as_ref().filter(|h| !h.base.is_empty() && stands(h, pair)) {
        Some(headline) => headline.base.clone(),
        None => level::called(&pair.factor, &pair.base),
    }
}

fn undecided(
    pair: &Pair,
    conclusion: &Conclusion,
    found: &Comparison,
    family: &Family,
    what: &str,
) -> String {
    let seen = counted(pair.datum.values.len(), "block");
    if conclusion.answer.interval.is_none() {
        let needed = family.blocks_needed(family.questions);
        let why = pair.datum.missing.first().map(|m| format!("; {m}")).unwrap_or_default();
        return format!(
            "no verdict after {seen}{what}: deciding {} takes at least {needed}{why}",
            counted(family.questions, "question")
        );
    }
    if conclusion.answer.side.is_some_and(|side| side != Side::Within) {
        return format!("{}{what}, which is neither better nor worse", found.change);
    }
    let seen = counted(found.ratio.n, "block");
    format!("undecided after {seen}{what}; {}", found.change)
}

fn nothing(study: &Study, pair: &Pair, data: &Data) -> String {
    let why = match failures::told(data) {
        failed if !failed.is_empty() => failed,
        _ => format!(": {}", pair.datum.missing.first().map_or("no block has both", String::as_str)),
    };
    let other = level::called(&pair.factor, &pair.other);
    format!("{other} against {}: nothing to compare{why}", base(study, pair))
}

/// One cell of which nothing is asked: what was measured in it.
fn lone(study: &Study, data: &Data) -> Option<(String, bool)> {
    let [experiment] = &data.experiments[..] else { return None };
    let [cell] = &experiment.cells[..] else { return None };
    if !study.claim.is_empty() {
        return None;
    }
    let view = View::new(data, &study.experiment, experiment.name())?;
    let metric = view.deciding_metric()?;
    let found = estimate::of(experiment.values(cell, metric).values())?;
    let told = number::estimate(&found, &experiment.metric(metric).unit);
    let sure = if found.interval.is_some() { " with 95 % confidence," } else { "" };
    let (metric, blocks) = (words::named(metric), counted(found.n, "block"));
    Some((format!("{}: {metric} {told}{sure} over {blocks}", study.name), found.interval.is_some()))
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
