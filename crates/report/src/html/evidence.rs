//! What stands behind the sentence: comparisons, warnings, cells, sources, machines, the run.

use crosstalk_core::provenance::Provenance;
use crosstalk_study::findings::{CellFinding, Comparison, Findings, SourceNote};
use std::collections::BTreeMap;

use super::escape::Text;
use crate::plot::{Strip, domain};
use crate::summary::{self, Fact};
use crate::{number, words};

/// Comparisons shown without asking.
const OPEN_COMPARISONS: usize = 8;

/// Where the numbers come from, how the run ended, what was compared.
pub fn rests_on(findings: &Findings) -> String {
    let origin = |origin| {
        let word = words::origin(origin);
        format!(
            r#"<div><dt><span class="badge {word}">{word}</span></dt><dd>{}</dd></div>"#,
            words::origin_meaning(origin)
        )
    };
    let origins: String = summary::origins(findings).into_iter().map(origin).collect();
    let absences = match findings.run.absences.as_slice() {
        [] => String::new(),
        absences => format!("<div><dt>Not here</dt><dd>{}</dd></div>", list(absences)),
    };
    let facts: String = summary::rests_on(&findings.run).iter().map(entry).collect();
    format!(r#"<dl class="facts">{origins}{facts}{absences}</dl>{}"#, comparisons(&findings.comparisons))
}

fn entry(Fact { label, text }: &Fact) -> String {
    format!("<div><dt>{label}</dt><dd>{}</dd></div>", Text(text))
}

fn list(items: &[String]) -> String {
    format!("<ul>{}</ul>", items.iter().map(|item| format!("<li>{}</li>", Text(item))).collect::<String>())
}

fn comparisons(comparisons: &[Comparison]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let strips: Vec<Strip> = comparisons.iter().map(strip).collect();
    let scale = domain(strips.iter().flat_map(Strip::values), "ratio");
    let rows: Vec<String> =
        comparisons.iter().zip(&strips).map(|(c, strip)| comparison(c, &strip.svg(&scale))).collect();
    let (open, more) = rows.split_at(rows.len().min(OPEN_COMPARISONS));
    let mut out = format!("<h3>What was compared</h3>{}", comparison_table(open, "What was compared"));
    if !more.is_empty() {
        out += &format!(
            "<details><summary>{} more</summary>{}</details>",
            more.len(),
            comparison_table(more, "More comparisons")
        );
    }
    out
}

fn strip(c: &Comparison) -> Strip<'_> {
    let tone = words::comparison(c.verdict).tone.class();
    Strip { found: Some(&c.ratio), published: None, reference: Some(1.0), tone }
}

fn comparison_table(rows: &[String], title: &str) -> String {
    format!(
        r#"<div class="scroll" tabindex="0" role="region" aria-label="{title}"><table class="comparisons"><thead><tr><th scope="col">From → to</th><th scope="col">Verdict</th><th scope="col" class="n">Ratio, to ÷ from</th><td class="strip-cell"></td><th scope="col">What bears the change</th></tr></thead><tbody>{}</tbody></table></div>"#,
        rows.concat()
    )
}

fn comparison(c: &Comparison, strip: &str) -> String {
    let verdict = words::comparison(c.verdict);
    let ends = number::interval(&c.ratio, "ratio").unwrap_or_default();
    format!(
        r#"<tr><th scope="row">{compared}<small>{place}</small></th><td><span class="badge {tone}"><span aria-hidden="true">{mark}</span> {word}</span></td><td class="n">{value} <span class="ends">{ends}</span> <span class="origin">{origin}</span></td><td class="strip-cell">{strip}</td><td>{causes}</td></tr>"#,
        compared = Text(&summary::compared(c)),
        place = Text(&summary::place(c)),
        tone = verdict.tone.class(),
        mark = verdict.mark,
        word = verdict.word,
        value = Text(&number::number(c.ratio.value, "ratio")),
        ends = Text(&ends),
        origin = words::origin(c.origin),
        causes = Text(&summary::causes(c)),
    )
}

/// What a reader must know before believing.
pub fn warnings(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let items: String = warnings.iter().map(|w| format!("<li>{}</li>", Text(w))).collect();
    format!(r#"<ul class="warnings">{items}</ul>"#)
}

/// Attempts, doubts and counters of every cell; open where something is in doubt.
pub fn cells(cells: &[CellFinding]) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let doubtful = cells.iter().filter(|c| c.failed + c.unfaithful > 0 || !c.reasons.is_empty()).count();
    let said = match (doubtful, cells.len()) {
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
    let open = if doubtful > 0 && cells.len() <= 12 { r#" open="open""# } else { "" };
    format!(
        r#"<p>{said}</p><details{open}><summary>Cells</summary><div class="scroll" tabindex="0" role="region" aria-label="Cells"><table><thead><tr><th scope="col">Cell</th><th scope="col" class="n">Finished</th><th scope="col" class="n">Failed</th><th scope="col" class="n">Not faithful</th><th scope="col">Why, and what the monitor counted</th></tr></thead><tbody>{rows}</tbody></table></div></details>"#
    )
}

fn cell(cell: &CellFinding) -> String {
    let counters = cell.fidelity.counters.iter();
    let counters: Vec<String> = counters
        .map(|(name, value)| format!("{} {}", name.replace('_', " "), number::number(*value, "")))
        .collect();
    let mut reasons = cell.reasons.clone();
    reasons.extend(cell.fidelity.reasons.iter().filter(|r| !cell.reasons.contains(r)).cloned());
    let reasons = if reasons.is_empty() { String::new() } else { list(&reasons) };
    let doubt = |n: usize| if n > 0 { "n doubt" } else { "n" };
    format!(
        r#"<tr><th scope="row">{}<small>{}</small></th><td class="n">{}</td><td class="{}">{}</td><td class="{}">{}</td><td>{reasons}<small>{}</small></td></tr>"#,
        Text(&summary::levels(&cell.levels)),
        Text(&cell.experiment),
        cell.finished,
        doubt(cell.failed),
        cell.failed,
        doubt(cell.unfaithful),
        cell.unfaithful,
        Text(&counters.join(", ")),
    )
}

/// Where parameters come from; calibrations first in the summary, marked in the list.
pub fn sources(sources: &[SourceNote]) -> String {
    if sources.is_empty() {
        return String::new();
    }
    let fitted = sources.iter().filter(|s| s.calibration).count();
    let said = match fitted {
        0 => "None was fitted to a published result.".to_string(),
        1 => "One was fitted to a published result: that result is calibration here, and no evidence.".into(),
        n => format!(
            "{n} were fitted to published results: these results are calibration here, and no evidence."
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
        r#"<p>{said}</p><details><summary>Parameters</summary><div class="scroll" tabindex="0" role="region" aria-label="Parameters"><table class="plain"><thead><tr><th scope="col">Parameter</th><th scope="col">Source</th></tr></thead><tbody>{rows}</tbody></table></div></details>"#
    )
}

/// Every node's facts.
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
            "<details><summary>{}</summary>{}{}</details>",
            Text(name),
            table("What must stay the same", &facts.fixed),
            table("How it was at that moment", &facts.moment)
        )
    };
    nodes.iter().map(node).collect()
}

/// How the run went.
pub fn run(findings: &Findings) -> String {
    let facts: String = summary::run_facts(findings).iter().map(entry).collect();
    format!(r#"<details><summary>Run facts</summary><dl class="facts">{facts}</dl></details>"#)
}
