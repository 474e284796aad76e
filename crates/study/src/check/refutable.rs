//! Refuses claims that no data could refute.

use super::claim::sized;
use crate::file::{Claim, Published, Study};
use crate::number::format_percent;
use crate::predicate::Relation;
use crate::query::MetricQuery;
use crosstalk_core::Fault;

/// Checks a claim that is still to be run. What was run before a rule was made is not held to it.
pub(super) fn refutable(study: &Study, name: &str, claim: &Claim) -> Result<(), Fault> {
    let at =
        |(key, fault): (&str, Fault)| fault.at(study.key_lines.location_of(&format!("claim.{name}.{key}")));
    texts(claim).map_err(at)?;
    bound_can_be_missed(claim).map_err(at)?;
    peak_leaves_out_a_level(study, claim).map_err(|fault| at(("peak.among", fault)))?;
    sized(study, name, claim)
}

/// Refuses an empty statement, and an empty reason why a claim is set apart.
fn texts(claim: &Claim) -> Result<(), (&'static str, Fault)> {
    let texts = [
        ("statement", Some(&claim.statement)),
        ("calibration", claim.calibration.as_ref()),
        ("implied", claim.implied.as_ref()),
        ("not_comparable", claim.not_comparable.as_ref()),
        ("size_not_comparable", claim.size_not_comparable.as_ref()),
    ];
    match texts.into_iter().find(|(_, text)| text.is_some_and(|text| text.trim().is_empty())) {
        Some((key, _)) => Err((
            key,
            Fault::usage(format!("`{key}` is empty")).remedy("write it in words, or leave the key out"),
        )),
        None => Ok(()),
    }
}

/// Refuses what every number of its kind fulfils.
fn bound_can_be_missed(claim: &Claim) -> Result<(), (&'static str, Fault)> {
    let expected = claim.expect.as_ref().map(|expect| expect.value);
    if let Some(threshold) = &claim.threshold
        && let Some(expected) = expected
    {
        let always = match expected.relation {
            Relation::Above => expected.bound <= 0.0,
            Relation::Below => expected.bound >= 1.0,
        };
        if always && MetricQuery::new(&threshold.metric).share {
            let what = format!("`{}` is from 0 to 1, so that no data could refute this", threshold.metric);
            return Err(("expect", Fault::usage(what).remedy("give a bound that may be missed")));
        }
    }
    if claim.correlation.as_ref().is_some_and(|of| of.x == of.y && of.ratio.is_none()) {
        let fault = Fault::usage("a metric correlates with itself");
        return Err(("correlation", fault.remedy("name two metrics")));
    }
    if let Some(Published::Number(size)) = claim.published
        && claim.ratio.is_some()
        && size <= 0.0
    {
        let fault = Fault::usage(format!("a ratio is above zero, and {size} is not"));
        return Err((
            "published",
            fault.remedy("give the published ratio: 1.2 for 20 % more, 0.8 for 20 % less"),
        ));
    }
    if let Some(margin) = claim.margin.as_ref().map(|margin| margin.value.0).filter(|margin| *margin > 1.0) {
        let fault = Fault::usage(format!("hardly any number misses a margin of {}", format_percent(margin)));
        return Err(("margin", fault.remedy("give at most \"100 %\"")));
    }
    Ok(())
}

/// Refuses a peak at any level of its factor: nothing could be greater.
fn peak_leaves_out_a_level(study: &Study, claim: &Claim) -> Result<(), Fault> {
    let Some(peak) = &claim.peak else { return Ok(()) };
    let factor =
        study.experiment.get(&claim.experiment).and_then(|experiment| experiment.factors.get(&peak.along));
    let factor = factor.filter(|factor| factor.has_listed_levels());
    match factor.is_some_and(|factor| factor.nameable_levels().all(|level| peak.among.contains(level))) {
        true => {
            Err(Fault::usage(format!("these are all levels of `{}`: the greatest is among them", peak.along))
                .remedy("leave out those at which it is not to be greatest"))
        }
        false => Ok(()),
    }
}
