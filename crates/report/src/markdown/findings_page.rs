//! The findings of a study as a page to commit, with date, machine and revision. Cells and drawings are in the report only.

use std::collections::BTreeMap;

use crosstalk_core::provenance::Provenance;
use crosstalk_study::count_in_words;
use crosstalk_study::findings::{ClaimFinding, Figure, Findings, Table};

use super::escape::{self, code, text};
use super::figure::figure;
use super::grid::grid;
use super::joined::joined;
use super::report::{claims_legend, comparisons, list, strings, table};
use crate::{claims, readable, summary, words};

/// What a page of findings needs in addition to them: machine, date and command.
pub struct RunRecord<'a> {
    /// The revisions of Crosstalk that measured, in order; empty where they were not recorded.
    pub revisions: &'a [String],
    /// The command that runs the study again.
    pub command: &'a str,
}

/// Another run of the same study on the page, such as on another engine.
pub struct Beside<'a> {
    /// What it is called there: `on Spark`.
    pub name: &'a str,
    /// Its findings.
    pub findings: &'a Findings,
    /// What else the page says of it.
    pub record: RunRecord<'a>,
}

/// The findings of a run as a page of the documentation; those of other runs below, and in the rows of its tables.
pub fn findings_page(findings: &Findings, record: &RunRecord, beside: &[Beside]) -> String {
    let join = |table: &Table| {
        beside.iter().fold(table.clone(), |all, other| joined(&all, other.name, &other.findings.tables))
    };
    let tables: String = findings.tables.iter().map(|own| table(&join(own))).collect();
    let named = |title: &str, name: &str| format!("{title}, {name}");
    let mut parts = vec![("What was measured".to_string(), measurement(findings, record))];
    parts.extend(beside.iter().map(|other| {
        let sentence = format!("{}.\n\n", text(other.findings.headline.text.trim_end_matches('.')));
        (named("What was measured", other.name), sentence + &measurement(other.findings, &other.record))
    }));
    let of_each = |title: &str, part: &dyn Fn(&Findings) -> String| {
        let others = beside.iter().map(|other| (named(title, other.name), part(other.findings)));
        std::iter::once((title.to_string(), part(findings))).chain(others).collect::<Vec<_>>()
    };
    parts.extend(of_each("Comparisons", &|of| comparisons(&of.comparisons)));
    parts.extend(of_each("Claims", &|of| claims(&of.claims)));
    parts.push(("Tables".into(), tables));
    parts.extend(of_each("Figures in numbers", &|of| figures(&of.figures)));
    parts.push(("Before you believe it".into(), list(&summary::merge_similar(&findings.warnings))));
    parts.extend(beside.iter().map(|other| {
        let own = other.findings.warnings.iter().filter(|warning| !findings.warnings.contains(warning));
        let own: Vec<String> = own.cloned().collect();
        (named("Before you believe it", other.name), list(&summary::merge_similar(&own)))
    }));
    parts.push(("What is not emulated".into(), list(&summary::merge_similar(&findings.caveats))));
    let commands = std::iter::once(record.command).chain(beside.iter().map(|other| other.record.command));
    parts.push(("Repeat it".into(), commands.map(escape::command).collect::<Vec<_>>().join("\n")));
    let parts = parts.into_iter().filter(|(_, body)| !body.is_empty());
    let parts: String =
        parts.map(|(title, body)| format!("\n## {}\n\n{}\n", text(&title), body.trim_end())).collect();
    let undecided = if summary::is_undecided(findings) { "**Undecided.** " } else { "" };
    format!(
        "# Findings: {}\n\nThis page is written by {}. Change the study, and not the page.\n\n{undecided}{}.\n{parts}",
        text(&findings.title),
        code("crosstalk report DIR --page FILE"),
        text(findings.headline.text.trim_end_matches('.')),
    )
}

/// The table of date, machines, revisions and methods.
fn measurement(findings: &Findings, record: &RunRecord) -> String {
    let run = &findings.run;
    let revision = match record.revisions {
        [] => "not recorded".to_string(),
        several => several.join(", then "),
    };
    let mut rows = vec![
        ("Study", findings.study.clone()),
        ("Began", format!("{}; took {}", readable::date(run.began), readable::duration(run.seconds))),
    ];
    rows.extend(machines(&findings.provenance).into_iter().map(|machine| ("Machine", machine)));
    rows.push(("Crosstalk", format!("{}, revision {revision}", run.version)));
    rows.extend(summary::methods(findings).into_iter().map(|fact| (fact.label, fact.text)));
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(label, value)| vec![label.to_string(), text(&value)]).collect();
    grid(&strings(["", ""]), &[false, false], &rows)
}

/// Each kind of machine, with the number of its nodes.
fn machines(nodes: &BTreeMap<String, Provenance>) -> Vec<String> {
    const NAMED: [&str; 6] = ["processor", "cores", "memory", "hypervisor", "kernel", "distribution"];
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for facts in nodes.values() {
        let facts_in_words =
            NAMED.iter().filter_map(|name| Some(format!("{name} {}", facts.fixed.get(*name)?)));
        *kinds.entry(facts_in_words.collect::<Vec<_>>().join(", ")).or_default() += 1;
    }
    kinds.into_iter().map(|(machine, n)| format!("{machine} ({})", count_in_words(n, "node"))).collect()
}

/// The most numbers of a figure that a page repeats.
const MOST_POINTS: usize = 100;

/// Each figure as a table; those of too many numbers by name.
fn figures(all: &[Figure]) -> String {
    let points = |one: &Figure| one.series.iter().map(|series| series.points.len()).sum::<usize>();
    let one = |one: &Figure| match points(one) {
        n if n > MOST_POINTS => {
            format!("### {}\n\nIts {n} numbers are in the report.\n\n", text(&one.title))
        }
        _ => figure(one),
    };
    all.iter().map(one).collect()
}

/// `3 claims: 2 reproduced, 1 inconclusive.`
fn tally(run: &[&ClaimFinding]) -> String {
    let each: Vec<String> = words::occurring_verdicts(run.iter().copied())
        .into_iter()
        .map(|(verdict, n)| format!("{n} {}", verdict.word))
        .collect();
    format!("{}: {}.\n\n", count_in_words(run.len(), "claim"), each.join(", "))
}

fn claims(all: &[ClaimFinding]) -> String {
    let run = claims::claims_run(all);
    let head = strings(["Verdict", "Claim", "Found", "Published", "Origin", "Why"]);
    let row = |c: &&ClaimFinding| {
        vec![
            format!("**{}**", words::claim(c).word),
            format!("{} ({})", text(&c.statement), code(&c.name)),
            text(&claims::found_in_words(c).unwrap_or_default()),
            text(&claims::published_in_words(c).unwrap_or_default()),
            c.origins.iter().map(|origin| origin.word()).collect::<Vec<_>>().join(", "),
            text(&c.why),
        ]
    };
    let rows: Vec<_> = run.iter().map(row).collect();
    let not_run = match claims::not_run_in_words(all).as_str() {
        "" => String::new(),
        words => format!("{}.\n", text(words)),
    };
    match rows.is_empty() {
        true => not_run,
        false => {
            tally(&run)
                + &grid(&head, &[false, false, true, true, false, false], &rows)
                + &claims_legend(&run)
                + "\n"
                + &not_run
        }
    }
}
