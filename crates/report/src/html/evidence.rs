//! The evidence for the sentence: comparisons, warnings, cells, sources, machines, the run.

use crosstalk_core::provenance::Provenance;
use crosstalk_core::record::Origin;
use crosstalk_core::value::describe_levels;
use crosstalk_study::findings::{Attribution, CellFinding, Comparison, Findings, SourceNote};
use std::collections::BTreeMap;

use super::escape::{Prose, Text};
use crate::plot::{Strip, strip_scale};
use crate::summary::{self, Fact};
use crate::{readable, words};

/// The number of comparisons that are not folded.
const OPEN_COMPARISONS: usize = 8;
/// The number of warnings that are not folded.
const OPEN_WARNINGS: usize = 12;

/// The section on origins and methods, and on how the run ended.
pub fn methods(findings: &Findings) -> String {
    if findings.run.nothing_was_measured() {
        return String::new();
    }
    let virtual_nodes = !findings.run.absences.is_empty();
    let origin = |origin: Origin| {
        let word = origin.word();
        format!(
            r#"<div><dt><span class="badge {word}">{word}</span></dt><dd>{}</dd></div>"#,
            words::origin_meaning(origin, virtual_nodes)
        )
    };
    let origins: String = summary::origins(findings).into_iter().map(origin).collect();
    let absences = match findings.run.absences.as_slice() {
        [] => String::new(),
        absences => format!("<div><dt>Unlike a real cluster</dt><dd>{}</dd></div>", list(absences)),
    };
    let facts: String = summary::methods(findings).iter().map(entry).collect();
    format!(r#"<dl class="facts">{origins}{facts}{absences}</dl>"#)
}

fn entry(Fact { label, text }: &Fact) -> String {
    format!("<div><dt>{label}</dt><dd>{}</dd></div>", Prose(text))
}

fn list(items: &[String]) -> String {
    format!("<ul>{}</ul>", items.iter().map(|item| format!("<li>{}</li>", Prose(item))).collect::<String>())
}

/// The section with every comparison and its verdict.
pub fn comparisons(comparisons: &[Comparison]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let strips: Vec<Strip> = comparisons.iter().map(strip).collect();
    let scale = strip_scale(strips.iter().flat_map(Strip::values), "ratio");
    let items: Vec<String> =
        comparisons.iter().zip(&strips).map(|(c, strip)| comparison(c, &strip.svg(&scale))).collect();
    let (open, more) = items.split_at(items.len().min(OPEN_COMPARISONS));
    let mut out = format!(
        r#"<p class="reading">In the small strips, the upright line is no difference, and better is to its right: a gain is drawn, such as how many times faster. Intervals are 95 %; the thin line is over the ranges of the model's parameters. {}</p><ul class="claims">{}</ul>"#,
        reading(comparisons),
        open.concat()
    );
    if !more.is_empty() {
        out += &format!(
            r#"<details><summary>{} more</summary><ul class="claims">{}</ul></details>"#,
            more.len(),
            more.concat()
        );
    }
    out
}

/// The meanings of the verdicts that occur.
fn reading(comparisons: &[Comparison]) -> String {
    let mut sentences: Vec<String> = Vec::new();
    for verdict in comparisons.iter().map(|c| words::comparison(c.verdict)) {
        let sentence = format!("<em>{}</em>: {}", verdict.word, verdict.meaning);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences.join("; ") + "."
}

fn strip(c: &Comparison) -> Strip<'_> {
    let tone = words::comparison(c.verdict).tone.class();
    let over_ranges = c.over_ranges.as_ref().map(|over| over.together);
    Strip { found: Some(&c.gain), over_ranges, published: None, reference: Some(1.0), tone }
}

fn comparison(c: &Comparison, strip: &str) -> String {
    let verdict = words::comparison(c.verdict);
    format!(
        r#"<li class="claim {tone}"><p class="badge {tone}"><span aria-hidden="true">{mark}</span> {word}</p><div class="words"><h3>{sentence}</h3><p>{metric_and_levels}</p>{attribution}</div><div class="numbers">{strip}<p><small>{origin}</small></p>{least}</div></li>"#,
        tone = verdict.tone.class(),
        mark = verdict.mark,
        word = verdict.word,
        metric_and_levels = Text(&readable::unbroken(&summary::metric_and_levels(c))),
        sentence = Prose(&summary::finding_sentence(c)),
        origin = c.origin.word(),
        least = detectable_effect(c),
        attribution = attribution(c.attribution.as_ref()),
    )
}

/// Where the extra time goes; empty where that is not known.
pub fn attribution(known: Option<&Attribution>) -> String {
    known.map_or(String::new(), |a| format!("<p>{}.</p>", Prose(&a.text)))
}

/// The smallest effect that it would have found.
fn detectable_effect(c: &Comparison) -> String {
    let small = |least: String| format!("<p><small>detectable {}</small></p>", Prose(&least));
    summary::detectable_effect(c).map(small).unwrap_or_default()
}

/// A list of warnings, or of what else is called `what`: each kind once, and all of them folded.
pub fn warnings(warnings: &[String], what: &str) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let kinds = summary::merge_similar(warnings);
    let shown = kinds.len().min(OPEN_WARNINGS);
    let mut out = warning_list(&kinds[..shown]);
    if shown < warnings.len() {
        let all = warnings.len();
        out += &format!("<details><summary>All {all} {what}</summary>{}</details>", warning_list(warnings));
    }
    out
}

fn warning_list(warnings: &[String]) -> String {
    let items: String = warnings.iter().map(|w| format!("<li>{}</li>", Prose(w))).collect();
    format!(r#"<ul class="warnings">{items}</ul>"#)
}

/// The table of every cell's attempts and counters. It is open where attempts failed or were
/// unfaithful.
pub fn cells(cells: &[CellFinding]) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let not_counted = |c: &CellFinding| c.failed + c.unfaithful.unwrap_or(0);
    let with_failures = cells.iter().filter(|c| not_counted(c) > 0 || !c.reasons.is_empty()).count();
    let watched = cells.iter().any(|c| c.unfaithful.is_some());
    let sentence = match (with_failures, cells.len()) {
        (0, _) if !watched => "Every attempt counts; no fidelity monitor watched them.".to_string(),
        (0, 1) => "The one cell is faithful: every attempt counts.".to_string(),
        (0, n) => format!("All {n} cells are faithful: every attempt counts."),
        (1, n) => {
            format!("In one of {n} cells some attempts failed or were not faithful; these give no verdict.")
        }
        (d, n) => {
            format!("In {d} of {n} cells some attempts failed or were not faithful; these give no verdict.")
        }
    };
    let rows: String = cells.iter().map(cell).collect();
    let open = if with_failures > 0 && cells.len() <= 12 { r#" open="open""# } else { "" };
    format!(
        r#"<p>{sentence}</p><details{open}><summary>Cells</summary><div class="scroll" tabindex="0" role="region" aria-label="Cells"><table><thead><tr><th scope="col">Cell</th><th scope="col" class="n">Finished</th><th scope="col" class="n">Failed</th><th scope="col" class="n">Not faithful</th><th scope="col">Why, and what the monitor counted</th></tr></thead><tbody>{rows}</tbody></table></div></details>"#
    )
}

fn cell(cell: &CellFinding) -> String {
    let reasons = summary::failure_reasons(cell);
    let reasons = if reasons.is_empty() { String::new() } else { list(&reasons) };
    let class = |n: usize| if n > 0 { "n failures" } else { "n" };
    format!(
        r#"<tr><th scope="row">{}<small>{}</small></th><td class="n">{}</td><td class="{}">{}</td><td class="{}">{}</td><td>{reasons}<small>{}</small></td></tr>"#,
        Text(&describe_levels(&cell.id.levels)),
        Text(&cell.id.experiment),
        cell.finished,
        class(cell.failed),
        cell.failed,
        class(cell.unfaithful.unwrap_or(0)),
        cell.unfaithful.map_or_else(|| "–".into(), |n| n.to_string()),
        Prose(&summary::fidelity_counters(cell)),
    )
}

/// The sources of parameters, with calibrations counted and marked.
pub fn sources(sources: &[SourceNote]) -> String {
    if sources.is_empty() {
        return String::new();
    }
    let fitted = sources.iter().filter(|s| s.calibration).count();
    let sentence = match fitted {
        0 => "None was fitted to a published result.".to_string(),
        n => format!(
            "{n} of {} were fitted to published results: those results are calibration, no evidence.",
            sources.len()
        ),
    };
    let row = |source: &SourceNote| {
        let mark = if source.calibration { r#" <span class="badge aside">calibration</span>"# } else { "" };
        format!(
            r#"<tr><th scope="row">{}</th><td>{}{mark}</td></tr>"#,
            Text(&source.what),
            Text(&source.text)
        )
    };
    let rows: String = sources.iter().map(row).collect();
    format!(
        r#"<p>{sentence}</p><details><summary>Parameters</summary><div class="scroll" tabindex="0" role="region" aria-label="Parameters"><table class="plain"><thead><tr><th scope="col">Parameter</th><th scope="col">Source</th></tr></thead><tbody>{rows}</tbody></table></div></details>"#
    )
}

/// The facts about every node's machine.
pub fn provenance(nodes: &BTreeMap<String, Provenance>) -> String {
    let table = |title: &str, facts: &BTreeMap<String, String>| {
        if facts.is_empty() {
            return String::new();
        }
        let rows: String = facts
            .iter()
            .map(|(name, value)| {
                format!(r#"<tr><th scope="row">{}</th><td>{}</td></tr>"#, Text(name), Text(value))
            })
            .collect();
        format!(
            r#"<div class="scroll" tabindex="0" role="region" aria-label="{title}"><table class="plain"><caption>{title}</caption><tbody>{rows}</tbody></table></div>"#
        )
    };
    let node = |(name, facts): (&String, &Provenance)| {
        format!(
            "<details><summary>Node {}</summary>{}{}</details>",
            Text(name),
            table("What must stay the same", &facts.fixed),
            table("When the run began", &facts.moment)
        )
    };
    nodes.iter().map(node).collect()
}

/// The section that says how the run went.
pub fn run(findings: &Findings) -> String {
    let facts: String = summary::run_facts(findings).iter().map(entry).collect();
    let took = readable::duration(findings.run.seconds);
    format!(
        r#"<p>It took {took}.</p><details><summary>Run facts</summary><dl class="facts">{facts}</dl></details>"#
    )
}
