//! Claims with their verdicts: found and published numbers, and the reasons.

use crosstalk_core::record::Origin;
use crosstalk_study::findings::{ClaimFinding, ClaimVerdict, Findings};
use crosstalk_study::number;

use super::escape::{Prose, Text};
use super::evidence::attribution;
use crate::plot::{Strip, strip_scale, tornado};
use crate::{claims, words};

/// The number of claims with each verdict, all claims, and a legend of the verdicts that occur.
pub fn claims(findings: &Findings) -> String {
    if findings.claims.is_empty() {
        return String::new();
    }
    let tally = claims::count_verdicts(findings).into_iter().map(|(words::Verdict { word, tone, .. }, n)| {
        // The plural of a counted verdict: `2 hold`.
        let word = match word {
            "holds" if n > 1 => "hold",
            "does not hold" if n > 1 => "do not hold",
            word => word,
        };
        format!(r#"<span class="badge {}">{n} {word}</span>"#, tone.class())
    });
    let tally = tally.collect::<Vec<_>>().join(", ");
    let run = claims::claims_run(&findings.claims);
    let not_run: Vec<_> = findings.claims.iter().filter(|c| c.verdict == ClaimVerdict::NotRun).collect();
    let list = |claims: &[&ClaimFinding]| {
        let items: String = claims.iter().map(|c| claim(c)).collect();
        format!(r#"<ul class="claims">{items}</ul>"#)
    };
    let run = if run.is_empty() { String::new() } else { list(&run) };
    // Claims that were not run are folded.
    let not_run = match claims::not_run_in_words(&findings.claims).as_str() {
        "" => String::new(),
        words => {
            format!(r#"<details><summary>{}</summary>{}</details>"#, Prose(words), list(&not_run))
        }
    };
    let tally = if tally.is_empty() { tally } else { format!(r#"<p class="tally">{tally}</p>"#) };
    format!("{tally}{run}{not_run}{}", legend(&findings.claims))
}

fn claim(claim: &ClaimFinding) -> String {
    let verdict = words::claim(claim);
    format!(
        r#"<li class="claim {tone}"><p class="badge {tone}"><span aria-hidden="true">{mark}</span> {word}</p><div class="words"><h3>{statement}</h3><p>{why}</p>{attribution}{ranges}<p class="name"><code>{name}</code></p></div>{numbers}</li>"#,
        tone = verdict.tone.class(),
        mark = verdict.mark,
        word = verdict.word,
        statement = Prose(&claim.statement),
        why = Prose(&claim.why),
        attribution = attribution(claim.attribution.as_ref()),
        ranges = ranges(claim),
        name = Text(&claim.name),
        numbers = numbers(claim),
    )
}

/// What each parameter of the model does to the number, folded; empty where it was not replayed over their ranges.
fn ranges(claim: &ClaimFinding) -> String {
    let drawn = claim.over_ranges.as_ref().zip(claim.found.as_ref());
    let drawn = drawn.and_then(|(over, found)| tornado(over, found.value, &claim.unit));
    drawn.map_or(String::new(), |drawn| {
        format!(
            "<details><summary>What the ranges of the model's parameters do to it</summary>{drawn}</details>"
        )
    })
}

/// Found and published numbers and the margin, with a strip where a number was found.
fn numbers(claim: &ClaimFinding) -> String {
    let unit = claim.unit.as_str();
    let entry = |term: &str, value: String, aside: String| {
        let aside = if aside.is_empty() { aside } else { format!(" <small>{}</small>", Text(&aside)) };
        format!("<div><dt>{term}</dt><dd>{}{aside}</dd></div>", Prose(&value))
    };
    let mut list = String::new();
    if let Some(found) = &claim.found {
        let ends = number::format_interval(found, unit).unwrap_or_default();
        let aside = [claim.quantity.as_str(), &ends].join(" ");
        list += &entry("found", number::value(found, unit), aside.trim().into());
        if let Some(ends) = claims::ends_with_ranges(claim) {
            list += &entry("with ranges", ends, String::new());
        }
    }
    if let Some(published) = claim.published {
        let refuted = if claim.size_agrees == Some(false) { "size refuted" } else { "" };
        list += &entry(Origin::Published.word(), number::format_number(published, unit), refuted.into());
    }
    if let Some(margin) = claim.margin {
        list += &entry("margin", format!("± {}", number::format_percent(margin)), String::new());
    }
    if list.is_empty() {
        return String::new();
    }
    let strip = Strip {
        found: claim.found.as_ref(),
        over_ranges: claim.over_ranges.as_ref().map(|over| over.together),
        published: claim.published,
        reference: (unit == "ratio").then_some(1.0),
        tone: words::claim(claim).tone.class(),
    };
    let drawn = match claim.found {
        Some(_) => strip.svg(&strip_scale(strip.values().into_iter(), unit)),
        None => String::new(),
    };
    format!(r#"<div class="numbers"><dl>{list}</dl>{drawn}</div>"#)
}

fn legend(claims: &[ClaimFinding]) -> String {
    let entry = |(words::Verdict { word, mark, meaning, tone }, _)| {
        format!(
            r#"<div><dt class="badge {}"><span aria-hidden="true">{mark}</span> {word}</dt><dd>{meaning}</dd></div>"#,
            tone.class()
        )
    };
    let entries: String = words::occurring_verdicts(claims).into_iter().map(entry).collect();
    format!(
        r#"<details class="legend-words" open="open"><summary>What the verdicts mean</summary><dl>{entries}</dl><p>In the small strips, the dot with its whiskers is the found value, the thin line its interval over the ranges of the model's parameters, the hollow diamond the published value, and the upright line no effect. The number of the claim is drawn: a ratio of times below 1 is to the left of the line.</p></details>"#
    )
}
