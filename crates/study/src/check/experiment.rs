//! Checks an experiment against itself and against the experiments whose results it takes.

use super::{limits, names};
use crate::factor::AA_FACTOR;
use crate::file::{Claim, Experiment, Factor, Study};
use crate::substitute::factors_in;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::value::Value;

pub(super) fn check(study: &Study, name: &str, experiment: &Experiment) -> Result<(), Fault> {
    let path = format!("experiment.{name}");
    let at = |key: &str| study.key_lines.location_of(&format!("{path}.{key}"));
    if experiment.work.is_empty() {
        return Err(Fault::usage("an experiment needs work")
            .at(at("work"))
            .remedy("add for example work.ping = { kind = \"latency\" }"));
    }
    for (part, spec) in &experiment.work {
        for (param, value) in &spec.params.0 {
            references(experiment, value).map_err(|fault| fault.at(at(&format!("work.{part}.{param}"))))?;
        }
    }
    for (condition, value) in &experiment.conditions {
        references(experiment, value).map_err(|fault| fault.at(at(&format!("conditions.{condition}"))))?;
    }
    for (factor, spec) in &experiment.factors {
        sources(spec).map_err(|fault| fault.at(at(&format!("factors.{factor}"))))?;
        earlier_result(study, name, factor)?;
    }
    for (number, excluded) in experiment.exclude.iter().enumerate() {
        names::levels(study, experiment, excluded, &format!("{path}.exclude.{number}"))?;
    }
    if let Some(most) = experiment.blocks {
        blocks(study, name, experiment, most).map_err(|fault| fault.at(at("blocks")))?;
    }
    if let Some(compare) = &experiment.compare {
        let path = format!("{path}.compare");
        names::factor(study, experiment, &compare.factor, &format!("{path}.factor"))?;
        names::level(study, experiment, &compare.factor, &compare.base, &format!("{path}.base"))?;
    }
    Ok(())
}

/// Refuses a limit of blocks for an experiment that decides what shares the study's error: it runs as long as the study.
fn blocks(study: &Study, name: &str, experiment: &Experiment, most: usize) -> Result<(), Fault> {
    if most == 0 {
        return Err(Fault::usage("expected at least 1 block, found 0").remedy("or leave the experiment out"));
    }
    let is_about = |claim: &Claim| claim.experiments().any(|(_, claimed)| claimed == name);
    let shares_error = study.claim.values().any(|claim| claim.is_primary_evidence() && is_about(claim));
    if shares_error || experiment.compare.is_some() || experiment.factors.contains_key(AA_FACTOR) {
        let why = "the interim analyses say how long an experiment runs that is compared, has a primary claim or measures noise";
        return Err(Fault::usage(why).remedy("leave `blocks` out, or write primary = false into its claims"));
    }
    Ok(())
}

/// Refuses a `$name` in `value` that is no factor.
fn references(experiment: &Experiment, value: &Value) -> Result<(), Fault> {
    factors_in(value).into_iter().find(|name| !experiment.factors.contains_key(*name)).map_or(
        Ok(()),
        |name| {
            let candidates: Vec<String> =
                experiment.factors.keys().map(|factor| format!("${factor}")).collect();
            Err(unknown(
                "factor",
                &format!("${name}"),
                candidates.iter().map(String::as_str).collect::<Vec<_>>(),
            ))
        },
    )
}

/// Refuses levels from no source or from several, and a level that is listed twice.
fn sources(factor: &Factor) -> Result<(), Fault> {
    let spec = factor.spec();
    let discovered = spec.is_some_and(|spec| spec.discover.is_some());
    let taken = spec.is_some_and(|spec| spec.from.is_some());
    let sources = [!factor.levels().is_empty(), discovered, taken].iter().filter(|given| **given).count();
    if sources != 1 {
        return Err(Fault::usage("a factor needs its levels, or one of `discover` and `from`")
            .remedy("write for example [1, 2, 4], or { discover = \"cores\" }"));
    }
    if factor.levels().is_empty() { Ok(()) } else { limits::distinct(factor.levels()) }
}

/// Checks the earlier result of a factor: it exists, and does not wait for this experiment.
fn earlier_result(study: &Study, experiment: &str, factor: &str) -> Result<(), Fault> {
    let path = format!("experiment.{experiment}.factors.{factor}.from");
    let mut seen = vec![experiment];
    let mut pending: Vec<&str> = taken_from(&study.experiment[experiment].factors[factor]).collect();
    if let Some(from) =
        study.experiment[experiment].factors[factor].spec().and_then(|spec| spec.from.as_ref())
    {
        let earlier = names::find(study, &from.experiment, &format!("{path}.experiment"))?;
        names::factor(study, earlier, &from.factor, &format!("{path}.factor"))?;
    }
    while let Some(next) = pending.pop() {
        if next == experiment {
            return Err(Fault::usage(format!("experiment `{experiment}` waits for its own result"))
                .at(study.key_lines.location_of(&path))
                .remedy(
                    "take the level from an experiment that does not wait for this one, or list levels",
                ));
        }
        if !seen.contains(&next) {
            seen.push(next);
            let later = study.experiment.get(next).into_iter().flat_map(|found| found.factors.values());
            pending.extend(later.flat_map(taken_from));
        }
    }
    Ok(())
}

fn taken_from(factor: &Factor) -> impl Iterator<Item = &str> {
    factor.spec().and_then(|spec| spec.from.as_ref()).map(|from| from.experiment.as_str()).into_iter()
}
