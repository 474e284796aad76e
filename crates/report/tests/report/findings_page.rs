//! The findings as a page to commit, with date, machines, revisions and every verdict.

use std::collections::BTreeMap;

use crosstalk_core::provenance::Provenance;
use crosstalk_report::{RunRecord, findings_page};
use crosstalk_study::findings::ClaimVerdict;

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
        findings_page(&findings, &RunRecord { revisions: &revisions, command: "crosstalk run kosmos" });
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
    let unknown = findings_page(&findings, &RunRecord { revisions: &[], command: "crosstalk run kosmos" });
    assert!(unknown.contains("revision not recorded"), "{unknown}");
}

#[test]
fn every_claim_that_was_run_is_on_the_page() {
    let findings = fixture::example();
    let page = findings_page(&findings, &RunRecord { revisions: &[], command: "crosstalk run kosmos" });
    assert!(!findings.claims.is_empty());
    for claim in &findings.claims {
        let is_there = page.contains(&format!("<code>{}</code>", claim.name));
        assert_eq!(is_there, claim.verdict != ClaimVerdict::NotRun, "{}: {page}", claim.name);
    }
}
