//! Refuses claims that no data could refute, as far as only a plan shows it.

use super::Plan;
use super::metrics;
use crate::file::{Claim, Study};
use crate::predicate::Relation;
use crate::query::MetricQuery;
use crosstalk_core::Fault;

/// Refuses a threshold that every value of its metric exceeds, such as a completion time above 0. What was run before
/// this rule was made is not held to it.
///
/// # Errors
/// A usage fault at the claim's `expect`.
pub fn refuse_certain(study: &Study, plan: &Plan) -> Result<(), Fault> {
    study.claim.iter().try_for_each(|(name, claim)| {
        let Some(fault) = always_exceeded(claim, plan) else { return Ok(()) };
        Err(fault.at(study.key_lines.location_of(&format!("claim.{name}.expect"))))
    })
}

fn always_exceeded(claim: &Claim, plan: &Plan) -> Option<Fault> {
    let expect = claim.expect.as_ref()?;
    let query = MetricQuery::new(&claim.threshold.as_ref()?.metric);
    let reported = metrics::metrics(&plan.experiments, &claim.experiment)?;
    let metric = reported.iter().find(|metric| metric.name == query.metric)?;
    let certain = metric.above_zero && expect.value.relation == Relation::Above && expect.value.bound <= 0.0;
    certain.then(|| {
        Fault::usage(format!(
            "every value of `{}` is above 0, so that no data could refute `{}`",
            query.metric,
            expect.text()
        ))
        .remedy(format!("write a bound that may be missed, in {}", metric.unit))
    })
}
