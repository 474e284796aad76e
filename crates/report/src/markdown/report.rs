//! The report of a run.

use crosstalk_core::record::Origin;
use crosstalk_core::value::describe_levels;
use crosstalk_study::findings::{CellFinding, ClaimFinding, Comparison, Findings, Table, TableCell};
use crosstalk_study::number;

use super::escape::{self, code, text};
use super::{figure, grid::grid};
use crate::summary::{self, Fact};
use crate::{claims, readable, words};

/// The report as Markdown.
pub fn markdown(findings: &Findings) -> String {
    let headline = &findings.headline;
    let undecided = if summary::is_undecided(findings) { "**Undecided.**\n\n" } else { "" };
    let byline = format!("**{}**, {}", text(&findings.title), readable::date(findings.run.began));
    let command = match headline.command.trim() {
        "" => String::new(),
        command => format!("Repeat it:\n\n{}", escape::command(command)),
    };
    let bars: String = summary::bars(findings)
        .iter()
        .map(|(name, _, value)| format!("- {}: {}\n", text(name), text(value)))
        .collect();
    let context = [headline.context.as_str(), &bars].into_iter().filter(|part| !part.is_empty());
    let context: String = context
        .map(|part| format!("{}\n\n", if part == bars { bars.trim_end().into() } else { text(part) }))
        .collect();
    let opening = format!("# {}\n\n{undecided}{context}{byline}\n", text(&headline.text));
    let parts = [
        ("What was compared", comparisons(&findings.comparisons)),
        ("Claims", claims(&findings.claims)),
        ("Figures", findings.figures.iter().map(figure::figure).collect()),
        ("Tables", findings.tables.iter().map(table).collect()),
        ("Before you believe it", list(&summary::merge_similar(&findings.warnings))),
        ("What is not emulated", list(&summary::merge_similar(&findings.caveats))),
        ("What it rests on", methods(findings)),
        ("Fidelity, cell by cell", cells(&findings.cells)),
        ("Where parameters come from", sources(findings)),
        ("What the machines were", provenance(findings)),
        ("The run", facts(&summary::run_facts(findings)) + "\n" + &command),
    ];
    let parts = parts.into_iter().filter(|(_, body)| !body.is_empty());
    let parts: String = parts.map(|(title, body)| format!("\n## {title}\n\n{}\n", body.trim_end())).collect();
    opening + &parts
}

pub(super) fn strings<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_string).to_vec()
}

pub(super) fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("- {}\n", text(item))).collect()
}

fn facts(facts: &[Fact]) -> String {
    facts.iter().map(|Fact { label, text: value }| format!("- {label}: {}\n", text(value))).collect()
}

fn methods(findings: &Findings) -> String {
    if findings.run.nothing_was_measured() {
        return String::new();
    }
    let virtual_nodes = !findings.run.absences.is_empty();
    let origin =
        |o: Origin| format!("- **{}**: {}\n", o.word(), text(words::origin_meaning(o, virtual_nodes)));
    let origins: String = summary::origins(findings).into_iter().map(origin).collect();
    let absences: String =
        findings.run.absences.iter().map(|a| format!("- Unlike a real cluster: {}\n", text(a))).collect();
    let facts = facts(&summary::methods(findings));
    format!("{origins}{facts}{absences}")
}

pub(super) fn comparisons(comparisons: &[Comparison]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let head = strings([
        "Compared",
        "Where",
        "Verdict",
        "Found (95 %)",
        "Detectable",
        "Origin",
        "Where the difference is",
    ]);
    let row = |c: &Comparison| {
        vec![
            text(&summary::pair_name(c)),
            text(&summary::metric_and_levels(c)),
            words::comparison(c.verdict).word.to_string(),
            text(&c.change),
            text(&summary::detectable_effect(c).unwrap_or_default()),
            c.origin.word().to_string(),
            text(summary::attribution_text(c)),
        ]
    };
    let rows: Vec<_> = comparisons.iter().map(row).collect();
    grid(&head, &[false, false, false, false, true, false, false], &rows)
}

fn claims(all: &[ClaimFinding]) -> String {
    let claims = claims::claims_run(all);
    let not_run = match claims::not_run_in_words(all).as_str() {
        "" => String::new(),
        words => format!("{}.\n", text(words)),
    };
    if claims.is_empty() {
        return not_run;
    }
    let head = strings(["Verdict", "Claim", "Found", "Published", "Why"]);
    let row = |c: &&ClaimFinding| {
        let found = claims::found_in_words(c).unwrap_or_default();
        let published = claims::published_in_words(c).unwrap_or_default();
        vec![
            format!("**{}**", words::claim(c).word),
            format!("{} ({})", text(&c.statement), code(&c.name)),
            text(&found),
            text(&published),
            text(&why(c)),
        ]
    };
    let rows: Vec<_> = claims.iter().map(row).collect();
    grid(&head, &[false, false, true, true, false], &rows) + &claims_legend(&claims) + "\n" + &not_run
}

/// The meanings of the verdicts that occur.
pub(super) fn claims_legend(claims: &[&ClaimFinding]) -> String {
    let verdicts = words::occurring_verdicts(claims.iter().copied()).into_iter();
    verdicts.map(|(v, _)| format!("- **{}**: {}\n", v.word, text(v.meaning))).collect()
}

/// The reason for the verdict, and where the extra time goes.
fn why(c: &ClaimFinding) -> String {
    match &c.attribution {
        Some(attribution) => format!("{}. {}", c.why.trim_end_matches('.'), attribution.text),
        None => c.why.clone(),
    }
}

pub(super) fn table(table: &Table) -> String {
    let width = table.rows.iter().map(Vec::len).fold(table.columns.len(), usize::max);
    let head: Vec<String> =
        (0..width).map(|i| table.columns.get(i).map_or(String::new(), |c| text(c))).collect();
    let right: Vec<bool> = (0..width)
        .map(|i| table.rows.iter().any(|r| matches!(r.get(i), Some(TableCell::Number { .. }))))
        .collect();
    let cell = |cell: Option<&TableCell>| match cell {
        None => String::new(),
        Some(TableCell::Text(words)) => text(words),
        Some(TableCell::Number { estimate, unit, origin }) => {
            format!("{} {}", text(&number::format_estimate(estimate, unit)), origin.word())
        }
    };
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| (0..width).map(|i| cell(row.get(i))).collect()).collect();
    let body = if width == 0 { String::new() } else { grid(&head, &right, &rows) };
    format!("### {}\n\n{}\n\n{body}", text(&table.title), text(&table.caption))
}

fn cells(cells: &[CellFinding]) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let head = strings(["Cell", "Finished", "Failed", "Not faithful", "Why"]);
    let row = |c: &CellFinding| {
        vec![
            format!("{}: {}", text(&c.id.experiment), text(&describe_levels(&c.id.levels))),
            c.finished.to_string(),
            c.failed.to_string(),
            c.unfaithful.map_or_else(|| "-".into(), |n| n.to_string()),
            text(&summary::failure_reasons(c).join("; ")),
        ]
    };
    let rows: Vec<_> = cells.iter().map(row).collect();
    grid(&head, &[false, true, true, true, false], &rows)
}

fn sources(findings: &Findings) -> String {
    let source = |s: &crosstalk_study::findings::SourceNote| {
        let mark = if s.calibration { " **(calibration)**" } else { "" };
        format!("- {}: {}{mark}\n", text(&s.what), text(&s.text))
    };
    findings.sources.iter().map(source).collect()
}

fn provenance(findings: &Findings) -> String {
    let mut out = String::new();
    for (node, facts) in &findings.provenance {
        out += &format!("### {}\n\n", text(node));
        for (name, value) in facts.fixed.iter().chain(&facts.moment) {
            out += &format!("- {}: {}\n", text(name), text(value));
        }
        out.push('\n');
    }
    out
}
