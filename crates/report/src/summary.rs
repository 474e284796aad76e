//! Facts and sentences that all renderings share: origins, methods, comparisons, the run.

use crosstalk_core::record::{Better, Origin};
use crosstalk_core::value::describe_levels;
use crosstalk_study::command::EXPERIMENT as COMMAND;
use crosstalk_study::findings::{
    CellFinding, Comparison, ComparisonVerdict, Findings, NoiseFloor, TableCell,
};
use crosstalk_study::{level_in_sentence, number};
use std::collections::BTreeSet;

use crate::readable;

/// A labelled fact about the run or its methods.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Its label.
    pub label: &'static str,
    /// Its text.
    pub text: String,
}

/// How estimates are made, in reports and exports.
const ESTIMATES: &str = "Hodges–Lehmann, over blocks: the median of the means of all pairs, of logarithms where all \
    values are above zero; a difference is of each block's ratio. Intervals invert the signed-rank test";

/// The confidence of intervals, and why the same number may have two.
const INTERVALS: &str = "95 %; in the sentence, the comparisons and the claims they share the error over all \
    questions and all interim analyses, and so are wider than in figures and tables, where each holds by itself. They \
    are the intersection of those of all interim analyses, so that an estimate may lie at their end";

/// What shares of a difference are, and at which node they are taken.
const SHARES: &str = "of the difference in time, at the busiest node. All are rounded so that they add up to 100 %, \
    where parts that took less count below zero. Only parts whose own difference is not zero with 95 % confidence, each by \
    itself, are named; the others are within noise. Waiting includes waiting for other nodes, unless it is called waiting \
    for the network";

fn fact(label: &'static str, text: impl Into<String>) -> Fact {
    Fact { label, text: text.into() }
}

/// The origins of all numbers shown.
pub fn origins(findings: &Findings) -> Vec<Origin> {
    let series = findings.figures.iter().flat_map(|f| &f.series).map(|s| s.origin);
    let cells = findings.tables.iter().flat_map(|t| &t.rows).flatten().filter_map(|cell| match cell {
        TableCell::Number { origin, .. } => Some(*origin),
        TableCell::Text(_) => None,
    });
    let published = findings.claims.iter().filter(|c| c.published.is_some()).map(|_| Origin::Published);
    let mut all: Vec<Origin> =
        series.chain(cells).chain(findings.comparisons.iter().map(|c| c.origin)).chain(published).collect();
    all.sort();
    all.dedup();
    all
}

/// The origin of all numbers among the cells; `None` where they differ or there are none.
pub fn shared_origin<'a>(cells: impl Iterator<Item = &'a TableCell>) -> Option<Origin> {
    let mut origins = cells.filter_map(|cell| match cell {
        TableCell::Number { origin, .. } => Some(*origin),
        TableCell::Text(_) => None,
    });
    let first = origins.next()?;
    origins.all(|origin| origin == first).then_some(first)
}

/// Whether the data leave the question open. Where nothing was measured there are none.
pub fn is_undecided(findings: &Findings) -> bool {
    !findings.headline.decided && !findings.run.nothing_was_measured()
}

/// How the run ended, and how its numbers were made, as labelled facts: methods, noise floors, detectable
/// effects. None where nothing was measured.
pub fn methods(findings: &Findings) -> Vec<Fact> {
    let run = &findings.run;
    if run.nothing_was_measured() {
        return Vec::new();
    }
    let blocks = readable::sample_size(run.blocks, false);
    let blocks = if blocks.is_empty() { "no complete block".into() } else { blocks };
    let ended = match run.ended.as_str() {
        "" => blocks,
        ended if ended.contains(&blocks) => ended.to_string(),
        ended => format!("{blocks}; {ended}"),
    };
    let mut facts = vec![fact("Ended", ended)];
    if run.quick {
        facts.push(fact("Quick run", "cut down with --quick: fewer cells, fewer blocks, fewer claims"));
    }
    if run.blocks > 0 {
        facts.push(fact("Estimates", ESTIMATES));
        facts.push(fact("Intervals", INTERVALS));
    }
    let origins = origins(findings);
    let none_varies = origins.iter().all(|one| one.is_same_in_each_block() || *one == Origin::Published);
    if run.noise.is_empty() && none_varies && !origins.is_empty() {
        facts.push(fact("Noise floor", "none: all numbers are computed, the same in each block"));
    } else if run.noise.is_empty() {
        facts.push(fact(
            "Noise floor",
            format!("not measured: no equal cells were compared (A/A); {HOW_TO_MEASURE}"),
        ));
    }
    facts.extend(
        merged_by_text(run.noise.iter().map(|noise| (noise, floor_in_words(noise))))
            .map(|text| fact("Noise floor", text)),
    );
    let detectable = run.noise.iter().filter_map(|noise| Some((noise, detectable_in_words(noise)?)));
    facts.extend(merged_by_text(detectable).map(|text| fact("Detectable", text)));
    let attributed = findings.comparisons.iter().any(|c| c.attribution.is_some())
        || findings.claims.iter().any(|c| c.attribution.is_some());
    facts.extend(attributed.then(|| fact("Shares", SHARES)));
    facts
}

/// Lines with all metrics that have the same text: `run time, time compute: …`.
fn merged_by_text<'a>(text: impl Iterator<Item = (&'a NoiseFloor, String)>) -> impl Iterator<Item = String> {
    let mut lines: Vec<(Vec<String>, String)> = Vec::new();
    for (noise, text) in text {
        let metric = noise.metric.replace('_', " ");
        match lines.iter_mut().find(|(_, known)| *known == text) {
            Some((metrics, _)) => metrics.push(metric),
            None => lines.push((vec![metric], text)),
        }
    }
    lines.into_iter().map(|(metrics, text)| format!("{}: {text}", metrics.join(", ")))
}

/// How a noise floor is measured.
const HOW_TO_MEASURE: &str =
    "to measure it, add an experiment with the factor `aa = [1, 2]` to the study (--save FILE writes it)";

/// How far equal cells differed, and which cells; to follow the metric's name.
fn floor_in_words(noise: &NoiseFloor) -> String {
    let cells = noise.cells.join("; ");
    match (noise.floor, noise.cells.is_empty()) {
        (Some(floor), _) => format!(
            "equal cells differ by {} at most (95 % bound after {}; measured on: {cells})",
            number::format_upper_bound(floor),
            readable::sample_size(noise.blocks, false),
        ),
        (None, true) => format!(
            "not measured, since no equal cells were compared (A/A); a direction counts beyond {}; {HOW_TO_MEASURE}",
            number::format_upper_bound(noise.margin)
        ),
        (None, false) => format!("too few blocks to tell (measured on: {cells})"),
    }
}

/// The effects that comparisons of a metric could have found; to follow its name.
fn detectable_in_words(noise: &NoiseFloor) -> Option<String> {
    let (least, most) = noise
        .detectable
        .map(|(least, most)| (number::format_upper_bound(least), number::format_upper_bound(most)))?;
    let effects = if least == most {
        format!("effects of {least} and more")
    } else {
        format!("effects of {least} and more to {most} and more, depending on the comparison")
    };
    Some(format!("{effects}, in 8 of 10 such runs"))
}

/// The smallest effect that a comparison would have found: `from 12.3 %`.
pub fn detectable_effect(c: &Comparison) -> Option<String> {
    c.detectable.map(|effect| format!("from {}", number::format_upper_bound(effect)))
}

/// How the run went, as labelled facts.
pub fn run_facts(findings: &Findings) -> Vec<Fact> {
    let run = &findings.run;
    let attempts: Vec<String> = run.attempts.iter().map(|(status, n)| format!("{n} {status}")).collect();
    let attempts = if attempts.is_empty() { "none".into() } else { attempts.join(", ") };
    vec![
        fact("Study", format!("{} ({})", findings.title, findings.study)),
        fact("Began", readable::date(run.began)),
        fact("Took", readable::duration(run.seconds)),
        fact("Blocks", run.blocks.to_string()),
        fact("Ended", run.ended.clone()),
        fact("Attempts", attempts),
        fact("Seed", run.seed.to_string()),
        fact("Quick", if run.quick { "yes" } else { "no" }),
        fact("Crosstalk", run.version.clone()),
        fact("Schema", findings.schema.clone()),
    ]
}

/// The two sides of a comparison: `kosmos-srio against microblade`.
pub fn pair_name(c: &Comparison) -> String {
    format!("{} against {}", level_name(c, &c.other), level_name(c, &c.base))
}

/// A level in a sentence: `microblade`, `slaves 6`.
fn level_name(c: &Comparison, level: &str) -> String {
    level_in_sentence(&c.factor, level)
}

/// The finding of a comparison: `kosmos-srio: 1.26 × faster than microblade (1.22–1.30)`, or `lru against limits:
/// undecided: between 7 % faster and 41.6 % slower`.
pub fn finding_sentence(c: &Comparison) -> String {
    match c.verdict {
        _ if c.change.starts_with("between ") => format!("{}: undecided: {}", pair_name(c), c.change),
        // A change that names the base needs no second mention of it.
        _ if !c.change.starts_with("no ") => format!("{}: {}", level_name(c, &c.other), c.change),
        ComparisonVerdict::Better | ComparisonVerdict::Worse => {
            format!("{}: {}", level_name(c, &c.other), c.change)
        }
        ComparisonVerdict::Equivalent | ComparisonVerdict::DependsOn | ComparisonVerdict::Inconclusive => {
            format!("{}: {}", pair_name(c), c.change)
        }
    }
}

/// The bars of the deciding sentence: name, length relative to the longest, and value in words.
pub fn bars(findings: &Findings) -> Vec<(&str, f64, String)> {
    let headline = &findings.headline;
    let longest = headline.bars.iter().map(|bar| bar.value.value).fold(0.0, f64::max);
    let sound = headline.bars.iter().all(|bar| bar.value.value.is_finite() && bar.value.value >= 0.0);
    if !sound || longest <= 0.0 {
        return Vec::new();
    }
    let bar =
        |bar: &'_ crosstalk_study::findings::HeadlineBar| number::format_estimate(&bar.value, &headline.unit);
    headline.bars.iter().map(|one| (one.label.as_str(), one.value.value / longest, bar(one))).collect()
}

/// The metric and the other levels of a comparison: `graph: completion time, lower is better; slaves 6`.
pub fn metric_and_levels(c: &Comparison) -> String {
    let metric = c.metric.replace('_', " ");
    let better = match c.better {
        Better::Lower => ", lower is better",
        Better::Higher => ", higher is better",
        Better::Neither => "",
    };
    // A command is its study's only experiment, and some experiments have their metric's name.
    let names_experiment = c.experiment != COMMAND && c.experiment != c.metric;
    let head = if names_experiment { format!("{}: {metric}", c.experiment) } else { metric };
    let at = describe_levels(&c.at);
    if at.is_empty() { format!("{head}{better}") } else { format!("{head}{better}; {at}") }
}

/// Where the extra time of a comparison goes; empty where that is not known.
pub fn attribution_text(c: &Comparison) -> &str {
    c.attribution.as_ref().map_or("", |attribution| attribution.text.as_str())
}

/// Texts without repetitions: of texts that differ in numbers alone the first one, and how many more.
pub fn merge_similar(texts: &[String]) -> Vec<String> {
    let bare = |part: &str| part.replace(|c: char| c.is_ascii_digit() || c == '.', "").trim().to_string();
    // Parts joined by colons and semicolons may be repeated and in any order.
    let shape = |text: &str| text.split([';', ':']).map(bare).collect::<BTreeSet<String>>();
    let mut kinds: Vec<(BTreeSet<String>, &str, usize)> = Vec::new();
    for text in texts {
        let shape = shape(text);
        match kinds.iter_mut().find(|(known, ..)| *known == shape) {
            Some((.., more)) => *more += 1,
            None => kinds.push((shape, text, 0)),
        }
    }
    let text = |(_, text, more): (BTreeSet<String>, &str, usize)| match more {
        0 => text.to_string(),
        more => format!("{text} (and {more} more like it, with other numbers)"),
    };
    kinds.into_iter().map(text).collect()
}

/// Why attempts of a cell failed or are unfaithful, each kind of reason once.
pub fn failure_reasons(cell: &CellFinding) -> Vec<String> {
    let mut all = cell.reasons.clone();
    let known = |reason: &&String| !cell.reasons.iter().any(|r| r.ends_with(reason.as_str()));
    all.extend(cell.fidelity.reasons.iter().filter(known).cloned());
    merge_similar(&all)
}

/// The fidelity monitor's counters of a cell: `late messages 3, steal 20.0 ms`.
pub fn fidelity_counters(cell: &CellFinding) -> String {
    let counter = |(name, value): (&String, &f64)| match name.strip_suffix("_seconds") {
        Some(name) => format!("{} {}", name.replace('_', " "), number::format_number(*value, "s")),
        None => format!("{} {}", name.replace('_', " "), number::format_number(*value, "")),
    };
    cell.fidelity.counters.iter().map(counter).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_only_in_numbers_are_merged() {
        let texts =
            ["cell 1: late by 3.5 %", "a node died", "cell 2: late by 20 %; late by 7 %"].map(String::from);
        assert_eq!(
            merge_similar(&texts),
            ["cell 1: late by 3.5 % (and 1 more like it, with other numbers)", "a node died"]
        );
    }
}
