//! The findings of a study as a page to commit: what was found, when, on which machine, by which
//! revision of Crosstalk. Figures and cells stay in the report.

use std::collections::BTreeMap;

use crosstalk_core::provenance::Provenance;
use crosstalk_study::counted;
use crosstalk_study::findings::{ClaimFinding, Findings};

use super::escape::{self, code, text};
use super::grid::grid;
use super::report::{claims_legend, list, strings, table};
use crate::{label, summary, words};

/// What the findings themselves do not say.
pub struct Origins<'a> {
    /// The revisions of Crosstalk that measured, in order; none where they were not recorded.
    pub revisions: &'a [String],
    /// The command that runs the study again.
    pub command: &'a str,
}

/// The page.
pub fn study(findings: &Findings, origins: &Origins) -> String {
    let tables: String = findings.tables.iter().map(table).collect();
    let parts = [
        ("What was measured", record(findings, origins)),
        ("Claims", claims(&findings.claims)),
        ("Tables", tables),
        ("Before you believe it", list(&summary::alike(&findings.warnings))),
        ("Repeat it", escape::command(origins.command)),
    ];
    let parts = parts.into_iter().filter(|(_, body)| !body.is_empty());
    let parts: String = parts.map(|(title, body)| format!("\n## {title}\n\n{}\n", body.trim_end())).collect();
    let undecided = if findings.headline.decided { "" } else { "**Undecided.** " };
    format!(
        "# Findings: {}\n\nThis page is written by {}. Change the study, and not the page.\n\n{undecided}{}.\n{parts}",
        text(&findings.title),
        code("crosstalk report DIR --page FILE"),
        text(findings.headline.text.trim_end_matches('.')),
    )
}

/// When, where and by what it was measured.
fn record(findings: &Findings, origins: &Origins) -> String {
    let run = &findings.run;
    let revision = match origins.revisions {
        [] => "not recorded".to_string(),
        several => several.join(", then "),
    };
    let mut rows = vec![
        ("Study", findings.study.clone()),
        ("Began", format!("{}; took {}", label::date(run.began), label::duration(run.seconds))),
    ];
    rows.extend(machines(&findings.provenance).into_iter().map(|machine| ("Machine", machine)));
    rows.push(("Crosstalk", format!("{}, revision {revision}", run.version)));
    rows.extend(summary::rests_on(findings).into_iter().map(|fact| (fact.label, fact.text)));
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|(label, said)| vec![label.to_string(), text(&said)]).collect();
    grid(&strings(["", ""]), &[false, false], &rows)
}

/// Each machine once, with how many nodes were on it.
fn machines(nodes: &BTreeMap<String, Provenance>) -> Vec<String> {
    const NAMED: [&str; 6] = ["processor", "cores", "memory", "hypervisor", "kernel", "distribution"];
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for facts in nodes.values() {
        let said = NAMED.iter().filter_map(|name| Some(format!("{name} {}", facts.fixed.get(*name)?)));
        *kinds.entry(said.collect::<Vec<_>>().join(", ")).or_default() += 1;
    }
    kinds.into_iter().map(|(machine, n)| format!("{machine} ({})", counted(n, "node"))).collect()
}

fn claims(all: &[ClaimFinding]) -> String {
    let (run, not_run) = summary::run_and_not(all);
    let head = strings(["Verdict", "Claim", "Found", "Published"]);
    let row = |c: &&ClaimFinding| {
        vec![
            format!("**{}**", words::claim(c).word),
            format!("{} ({})", text(&c.statement), code(&c.name)),
            text(&summary::found(c).unwrap_or_default()),
            text(&summary::published(c).unwrap_or_default()),
        ]
    };
    let rows: Vec<_> = run.iter().map(row).collect();
    let not_run = if not_run == 0 { String::new() } else { format!("{not_run} not run.\n") };
    match rows.is_empty() {
        true => not_run,
        false => grid(&head, &[false, false, true, true], &rows) + &claims_legend(&run) + "\n" + &not_run,
    }
}
