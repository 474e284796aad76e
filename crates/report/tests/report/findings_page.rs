//! The findings as a page to commit, with date, machines, revisions and every verdict.

use std::collections::BTreeMap;

use crosstalk_core::provenance::Provenance;
use crosstalk_core::record::Origin;
use crosstalk_report::{Beside, RunRecord, findings_page};
use crosstalk_study::findings::{ClaimVerdict, TableCell};

use crate::fixture;

fn machine(kernel: &str) -> Provenance {
    let fixed = [("processor", "Xeon"), ("cores", "2"), ("kernel", kernel)];
    let fixed = fixed.map(|(name, value)| (name.to_string(), value.to_string()));
    Provenance { fixed: BTreeMap::from(fixed), moment: BTreeMap::new() }
}

#[test]
fn the_page_names_date_machines_and_revisions() {
    let mut findings = fixture::example();
    let nodes = ["0", "1", "2"].map(String::from).into_iter();
    findings.provenance = nodes.zip(["6.1", "6.18", "6.18"].map(machine)).collect();
    let revisions = ["1111111", "2222222"].map(String::from);
    let page =
        findings_page(&findings, &RunRecord { revisions: &revisions, command: "crosstalk run kosmos" }, &[]);
    assert!(page.starts_with("# Findings: "), "{page}");
    for line in [
        "| Machine | processor Xeon, cores 2, kernel 6.1 (1 node) |",
        "| Machine | processor Xeon, cores 2, kernel 6.18 (2 nodes) |",
        "revision 1111111, then 2222222 |",
        "UTC; took",
        "```sh\ncrosstalk run kosmos\n```",
    ] {
        assert!(page.contains(line), "no {line:?} in {page}");
    }
    let unknown =
        findings_page(&findings, &RunRecord { revisions: &[], command: "crosstalk run kosmos" }, &[]);
    assert!(unknown.contains("revision not recorded"), "{unknown}");
}

#[test]
fn every_claim_that_was_run_is_on_the_page() {
    let findings = fixture::example();
    let page = findings_page(&findings, &RunRecord { revisions: &[], command: "crosstalk run kosmos" }, &[]);
    assert!(!findings.claims.is_empty());
    for claim in &findings.claims {
        let is_there = page.contains(&format!("<code>{}</code>", claim.name));
        assert_eq!(is_there, claim.verdict != ClaimVerdict::NotRun, "{}: {page}", claim.name);
    }
}

#[test]
fn the_page_has_every_comparison_the_tally_of_claims_and_the_numbers_of_figures() {
    let mut findings = fixture::example();
    let of = |findings: &_| {
        findings_page(findings, &RunRecord { revisions: &[], command: "crosstalk run kosmos" }, &[])
    };
    let page = of(&findings);
    assert!(!findings.comparisons.is_empty() && !findings.figures.is_empty());
    for heading in ["## Comparisons", "## Claims", "## Figures in numbers"] {
        assert!(page.contains(heading), "no {heading} in {page}");
    }
    let run = findings.claims.iter().filter(|claim| claim.verdict != ClaimVerdict::NotRun).count();
    assert!(page.contains(&format!("\n{run} claims: 1 ")), "{page}");
    for figure in &findings.figures {
        assert!(page.contains(&format!("### {}", figure.title)), "{}: {page}", figure.title);
    }
    let figure = &mut findings.figures[0];
    let point = figure.series[0].points[0].clone();
    figure.series[0].points = vec![point; 101];
    let numbers: usize = figure.series.iter().map(|series| series.points.len()).sum();
    assert!(of(&findings).contains(&format!("Its {numbers} numbers are in the report.")));
}

#[test]
fn another_run_stands_in_the_rows_of_its_tables() {
    let findings = fixture::example();
    let mut other = fixture::example();
    other.headline.text = "microblade: no faster on Spark".into();
    other.warnings = vec!["nodes share this machine's cores".into(), findings.warnings[0].clone()];
    other.tables.truncate(1);
    let rows = &mut other.tables[0].rows;
    rows.remove(1);
    for cell in rows.iter_mut().flatten() {
        if let TableCell::Number { origin, estimate, .. } = cell
            && *origin == Origin::Emulated
        {
            *origin = Origin::Measured;
            estimate.value = 1.75;
        }
    }
    let record = || RunRecord { revisions: &[], command: "crosstalk run kosmos" };
    let spark = RunRecord { revisions: &[], command: "crosstalk run kosmos --engine spark" };
    let page =
        findings_page(&findings, &record(), &[Beside { name: "on Spark", findings: &other, record: spark }]);
    let rows: Vec<&str> = page.lines().filter(|line| line.contains(", on Spark |")).collect();
    assert_eq!(rows.len(), 3, "one of four is not in it: {page}");
    let lines: Vec<&str> = page.lines().collect();
    let own = lines.iter().position(|line| line.starts_with("| 1 |")).expect("the row of one slave");
    assert!(lines[own + 1].starts_with("| 1, on Spark | 1.75 x"), "{}", lines[own + 1]);
    assert!(lines[own + 1].contains("measured | - |") && !lines[own + 1].contains("published"), "{page}");
    for section in
        ["## What was measured, on Spark\n\nmicroblade: no faster on Spark.", "## Claims, on Spark"]
    {
        assert!(page.contains(section), "{page}");
    }
    let (_, warnings) = page.split_once("## Before you believe it, on Spark").expect("a section");
    assert!(warnings.contains("nodes share"), "{warnings}");
    assert_eq!(page.matches(&findings.warnings[0][..40]).count(), 1, "once on the page");
    assert!(page.contains("```sh\ncrosstalk run kosmos --engine spark\n```"), "{page}");
}
