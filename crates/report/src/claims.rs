//! Sentences about claims that all renderings share: found and published numbers, verdicts, and what was not run.

use crosstalk_study::findings::{ClaimFinding, ClaimVerdict, Estimate, Findings};
use crosstalk_study::number;
use std::collections::BTreeSet;

use crate::words;

/// The number that was found for a claim, with what it is: `exponent 0.53 (0.52–0.54)`; `None` where none was.
pub fn found_in_words(claim: &ClaimFinding) -> Option<String> {
    let found = claim.found.as_ref()?;
    let text = number::format_estimate(found, &claim.unit);
    let with_ranges = ends_with_ranges(claim).map(|ends| format!("; with ranges {ends}")).unwrap_or_default();
    Some(format!("{} {text}{with_ranges}", claim.quantity).trim_start().to_string())
}

/// The ends of its interval with the ranges of the model's parameters; `None` where it was not replayed over them.
pub fn ends_with_ranges(claim: &ClaimFinding) -> Option<String> {
    let (over, found) = (claim.over_ranges.as_ref()?, claim.found.as_ref()?);
    number::format_interval(&Estimate { interval: Some(over.together), ..*found }, &claim.unit)
}

/// The published number of a claim, and whether the data refute its size.
pub fn published_in_words(claim: &ClaimFinding) -> Option<String> {
    let printed = number::format_number(claim.published?, &claim.unit);
    Some(if claim.size_agrees == Some(false) { format!("{printed}, size refuted") } else { printed })
}

/// What of a claim depends on which parameters of the model: `whether it holds depends on system kosmos: speed (…)`; `None`
/// where nothing does.
pub fn depends_in_words(claim: &ClaimFinding) -> Option<&str> {
    let at = claim.why.find("whether ").filter(|_| claim.over_ranges.is_some())?;
    Some(claim.why[at..].trim_end_matches('.')).filter(|text| text.contains(" depends on "))
}

/// The claims that were run.
pub fn claims_run(claims: &[ClaimFinding]) -> Vec<&ClaimFinding> {
    claims.iter().filter(|claim| claim.verdict != ClaimVerdict::NotRun).collect()
}

/// How many claims were not run, and why: `58 not run: this run leaves out cells that they need`; empty where all were.
pub fn not_run_in_words(claims: &[ClaimFinding]) -> String {
    let not_run = || claims.iter().filter(|claim| claim.verdict == ClaimVerdict::NotRun);
    let word = words::not_run().word;
    let reasons: BTreeSet<&str> = not_run().map(|claim| claim.why.trim_end_matches('.')).collect();
    match (not_run().count(), reasons.first()) {
        (0, _) => String::new(),
        (n, Some(why)) if reasons.len() == 1 && !why.is_empty() => format!("{n} {word}: {why}"),
        (1, _) => format!("1 {word}: {}", words::not_run().meaning),
        (n, _) => format!("{n} {word}: this run leaves out cells that they need"),
    }
}

/// The verdicts on claims that were run, in their order, with the number of claims.
pub fn count_verdicts(findings: &Findings) -> Vec<(words::Verdict, usize)> {
    words::occurring_verdicts(claims_run(&findings.claims))
}
