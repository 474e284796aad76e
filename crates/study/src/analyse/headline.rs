//! The deciding sentence.

use crosstalk_core::record::Better;
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
use crate::findings::{ClaimVerdict, Comparison, ComparisonVerdict, Headline};
use crate::host_speed::HostSpeed;
use crate::level;
use crate::number::{self, format_percent};
use crate::plan::base::missing_base;
use crate::words::{at_levels, count_in_words};
use crate::{estimate, words};

/// The deciding sentence. `verdicts` are those of the family's claims. It is about the comparison that the study names, else about the first one. Where that is
/// undecided, it is about the largest effect that is decided.
pub fn headline(
    study: &Study,
    catalogues: &Catalogues,
    family: &Family,
    comparisons: &[Option<Comparison>],
    verdicts: &[ClaimVerdict],
    data: &Data,
) -> Headline {
    let mut all = family.pairs.iter().zip(comparisons);
    let compared = |(_, found): &JudgedPair| found.is_some();
    let named = all.clone().filter(compared).find(|((pair, _), _)| is_headline_pair(study, pair));
    // Where the named level is not run, another comparison of the same experiment answers the study's question.
    let near = all.clone().filter(compared).find(|((pair, _), _)| in_headline_experiment(study, pair));
    let first = all.clone().next().filter(|(_, found)| decided(found));
    // All are judged together, so that each verdict holds whichever is chosen. The sentence says that it is the largest:
    // by chance the largest of many is overestimated a little.
    let other = study.headline.is_none() && first.is_none();
    let largest = || all.clone().filter(|(_, found)| other && decided(found)).max_by(by_effect);
    let any = || all.clone().find(compared);
    let chosen = named.or(near).or(first).or_else(largest).or_else(any).or_else(|| all.next());
    let mut withheld = false;
    let (mut text, decided) = match chosen {
        Some(((pair, conclusion), Some(found))) => {
            match reason_withheld(pair, found, family, data, catalogues) {
                Some(why) => {
                    withheld = true;
                    let other = level::level_in_sentence(&pair.factor, &pair.other);
                    let base = base(study, pair);
                    (format!("{other} against {base}: no verdict{}: {why}", subject(study, pair)), false)
                }
                None => sentence(study, pair, conclusion, found, family),
            }
        }
        Some(((pair, _), None)) => (no_data_sentence(study, pair, data), false),
        None => without_comparison(study, family, verdicts, data),
    };
    if other && decided && chosen.is_some() {
        text += &rank_clause(comparisons);
    }
    let found = chosen.and_then(|((pair, _), found)| Some((pair, found.as_ref()?)));
    let over_ranges = found.is_some_and(|(_, found)| found.over_ranges.is_some()) && !withheld;
    text += &data.run.host_speed.as_ref().filter(|_| over_ranges).map_or(String::new(), HostSpeed::doubt);
    if found.is_some() || chosen.is_none() {
        text += &failures::clause(data);
    }
    let (context, bars) = match found {
        Some((pair, found)) => (context::runs_in_words(pair, found), context::headline_bars(pair, found)),
        None => (String::new(), Vec::new()),
    };
    let unit = found.map_or(String::new(), |(_, found)| found.values.unit.clone());
    Headline { text, context, bars, unit, decided, command: data.run.command.clone() }
}

/// Why the verdict on an undecided comparison is withheld; `None` where it is not.
fn reason_withheld(
    pair: &Pair,
    found: &Comparison,
    family: &Family,
    data: &Data,
    catalogues: &Catalogues,
) -> Option<String> {
    let seen = &data.complete[..family.conclusions.blocks.min(data.complete.len())];
    let open = found.verdict == ComparisonVerdict::Inconclusive;
    comparison::reason_withheld(pair, found.ratio.value, seen, catalogues).filter(|_| open)
}

type JudgedPair<'a, 'b> = (&'a (Pair<'b>, Conclusion), &'a Option<Comparison>);

fn decided(found: &Option<Comparison>) -> bool {
    let open = [ComparisonVerdict::Inconclusive, ComparisonVerdict::DependsOn];
    found.as_ref().is_some_and(|found| !open.contains(&found.verdict))
}

/// Orders comparisons by effect: half as much is as large as twice as much, and equivalence is no effect.
fn by_effect((_, a): &JudgedPair, (_, b): &JudgedPair) -> Ordering {
    let differs = |found: &&Comparison| found.verdict != ComparisonVerdict::Equivalent;
    let effect = |found: &Option<Comparison>| {
        found.as_ref().filter(differs).map_or(0.0, |found| found.ratio.value.ln().abs())
    };
    effect(a).total_cmp(&effect(b))
}

/// `; the largest of 3 that are decided, of 12 comparisons`.
fn rank_clause(comparisons: &[Option<Comparison>]) -> String {
    let all = count_in_words(comparisons.len(), "comparison");
    match comparisons.iter().filter(|found| decided(found)).count() {
        1 => format!("; the only one that is decided, of {all}"),
        decided => format!("; the largest of {decided} that are decided, of {all}"),
    }
}

/// Whether a pair is of the experiment that the study's headline names.
fn in_headline_experiment(study: &Study, pair: &Pair) -> bool {
    study.headline.as_ref().is_some_and(|headline| headline.experiment == pair.view.experiment.name())
}

fn is_headline_pair(study: &Study, pair: &Pair) -> bool {
    study.headline.as_ref().is_some_and(|h| is_at_headline_levels(h, pair) && pair.other == h.level)
}

/// Whether a pair is of the experiment and at the other factors' levels that the study's headline names.
fn is_at_headline_levels(headline: &Spec, pair: &Pair) -> bool {
    pair.view.experiment.name() == headline.experiment && level::has_levels(&pair.at, &headline.at)
}

fn sentence(
    study: &Study,
    pair: &Pair,
    conclusion: &Conclusion,
    found: &Comparison,
    family: &Family,
) -> (String, bool) {
    let what = format!("{}{}", subject(study, pair), context::limits_in_words(pair, found));
    let other = level::level_in_sentence(&pair.factor, &pair.other);
    let base = base(study, pair);
    let lower = pair.metric.better == Better::Lower;
    let over_ranges = found.over_ranges.as_ref().map(|over| over.together);
    let over_ranges =
        over_ranges.map(|(low, high)| if lower { (1.0 / high, 1.0 / low) } else { (low, high) });
    let change = Change { metric: &pair.metric, query: &pair.query, ratio: found.ratio, over_ranges };
    match found.verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Worse => {
            let shares =
                found.attribution.as_ref().map(|of| of.shares.as_str()).filter(|text| !text.is_empty());
            let cause = shares.map(|shares| format!("; {shares}")).unwrap_or_default();
            (format!("{other}: {}{what}{cause}", change.factor_in_words(&base)), true)
        }
        ComparisonVerdict::Equivalent => {
            let margin = format_percent(conclusion.answer.margin.exp_m1());
            (format!("{other} and {base}: equivalent within {margin}{what}; {}", found.change), true)
        }
        ComparisonVerdict::DependsOn => (format!("{other} against {base}{what}: {}", found.change), false),
        ComparisonVerdict::Inconclusive => {
            (format!("{other} against {base}: {}", undecided(pair, conclusion, found, family, &what)), false)
        }
    }
}

/// ` on PageRank …`, as the study calls the workload [default: the levels of the other factors that vary].
fn subject(study: &Study, pair: &Pair) -> String {
    // The subject holds for every level that is compared there.
    match study.headline.as_ref().filter(|h| !h.subject.is_empty() && is_at_headline_levels(h, pair)) {
        Some(headline) => format!(" on {}", headline.subject),
        None => {
            let mut varied = pair.at.clone();
            varied.retain(|factor, _| pair.view.levels_of(factor, &Levels::new()).len() > 1);
            at_levels(&varied)
        }
    }
}

/// The base, as the study calls it [default: its level].
fn base(study: &Study, pair: &Pair) -> String {
    match study.headline.as_ref().filter(|h| !h.base.is_empty() && is_at_headline_levels(h, pair)) {
        Some(headline) => headline.base.clone(),
        None => level::level_in_sentence(&pair.factor, &pair.base),
    }
}

fn undecided(
    pair: &Pair,
    conclusion: &Conclusion,
    found: &Comparison,
    family: &Family,
    what: &str,
) -> String {
    let seen = count_in_words(pair.datum.values.len(), "block");
    if conclusion.answer.interval.is_none() {
        let needed = family.blocks_needed(family.questions);
        let why = pair.datum.missing.first().map(|m| format!("; {m}")).unwrap_or_default();
        return format!(
            "no verdict after {seen}{what}: deciding {} takes at least {needed}{why}",
            count_in_words(family.questions, "question")
        );
    }
    let directed = conclusion.answer.side.is_some_and(|side| side != Side::Within);
    if directed && pair.metric.better == Better::Neither {
        return format!("{}{what}, which is neither better nor worse", found.change);
    }
    let seen = count_in_words(found.ratio.n, "block");
    format!("undecided after {seen}{what}; {}", found.change)
}

fn no_data_sentence(study: &Study, pair: &Pair, data: &Data) -> String {
    let why = match failures::clause(data) {
        failed if !failed.is_empty() => failed,
        _ => format!(": {}", pair.datum.missing.first().map_or("no block has both", String::as_str)),
    };
    let other = level::level_in_sentence(&pair.factor, &pair.other);
    format!("{other} against {}: nothing to compare{why}", base(study, pair))
}

/// The sentence of a study with a single cell and no claims: what was measured in it.
fn single_cell_sentence(study: &Study, data: &Data) -> Option<(String, bool)> {
    let [experiment] = &data.experiments[..] else { return None };
    let [cell] = &experiment.cells[..] else { return None };
    if !study.claim.is_empty() {
        return None;
    }
    let view = View::new(data, &study.experiment, experiment.name())?;
    let metric = view.deciding_metric()?;
    let found = estimate::estimate(experiment.values(cell, metric).values())?;
    let value = number::format_estimate(&found, &experiment.metric(metric).unit);
    let confidence = if found.interval.is_some() { " with 95 % confidence," } else { "" };
    let (metric, blocks) = (words::readable_name(metric), count_in_words(found.n, "block"));
    Some((format!("{}: {metric} {value}{confidence} over {blocks}", study.name), found.interval.is_some()))
}

/// The sentence of a run that compares nothing: that the base is not run, what its only cell showed, or how many claims
/// are decided.
fn without_comparison(
    study: &Study,
    family: &Family,
    verdicts: &[ClaimVerdict],
    data: &Data,
) -> (String, bool) {
    let missing_base =
        data.experiments.iter().find_map(|one| missing_base(study.experiment.get(one.name())?, one.planned));
    match missing_base {
        Some(text) if family.claims.is_empty() => (text, false),
        Some(text) => {
            let (claims, decided) = decided_claims(family, verdicts);
            (format!("{claims}; {text}"), decided)
        }
        None if family.claims.is_empty() => {
            single_cell_sentence(study, data).unwrap_or_else(|| cells_sentence(study, data))
        }
        None => decided_claims(family, verdicts),
    }
}

/// The sentence of a study that compares nothing: how many cells have numbers, which its tables show. Nothing is left
/// open where all have.
fn cells_sentence(study: &Study, data: &Data) -> (String, bool) {
    let all = count_in_words(data.cells().count(), "cell");
    let measured = data.cells().filter(|cell| cell.counted_attempts().next().is_some()).count();
    let text = format!("{}: {measured} of {all} measured; nothing was compared", study.name);
    (text, measured == data.cells().count())
}

/// How many claims are decided.
fn decided_claims(family: &Family, verdicts: &[ClaimVerdict]) -> (String, bool) {
    let open = [ClaimVerdict::DependsOn, ClaimVerdict::Inconclusive];
    let settled = family.claims.iter().zip(verdicts).filter(|(claim, verdict)| {
        let answered = claim.answer.as_ref().is_some_and(|(answer, _)| answer.settled_at.is_some());
        answered && !open.contains(verdict)
    });
    let (settled, all) = (settled.count(), family.claims.len());
    (format!("{settled} of {} decided", count_in_words(all, "claim")), settled > 0)
}
