//! Checks a claim against its experiments.

use super::names;
use crate::file::{Claim, Experiment, Published, Ratio, Study};
use crate::label::label;
use crate::predicate::Predicate;
use crate::stages::stage;
use crate::words::count_in_words;
use crosstalk_core::Fault;
use crosstalk_core::value::{Levels, Value};

pub(super) fn check(study: &Study, name: &str, claim: &Claim) -> Result<(), Fault> {
    let path = format!("claim.{name}");
    one_kind(claim).map_err(|fault| fault.at(study.key_lines.location_of(&path)))?;
    statement(study, claim, &path)?;
    decidable(claim).map_err(|fault| fault.at(study.key_lines.location_of(&path)))?;
    let at_key = |key: &str, fault: Fault| fault.at(study.key_lines.location_of(&format!("{path}.{key}")));
    possible(claim).map_err(|(key, fault)| at_key(key, fault))
}

/// The kinds of statement, and whether the claim is of each.
fn kinds(claim: &Claim) -> [(&'static str, bool); 6] {
    [
        ("ratio", claim.ratio.is_some()),
        ("trend", claim.trend.is_some()),
        ("order", claim.order.is_some()),
        ("peak", claim.peak.is_some()),
        ("threshold", claim.threshold.is_some()),
        ("correlation", claim.correlation.is_some()),
    ]
}

fn one_kind(claim: &Claim) -> Result<(), Fault> {
    let given: Vec<_> = kinds(claim).into_iter().filter(|(_, given)| *given).map(|(kind, _)| kind).collect();
    if given.len() == 1 {
        return Ok(());
    }
    let found = if given.is_empty() { "none".to_string() } else { given.join(" and ") };
    Err(Fault::usage(format!("a claim makes exactly one statement, found {found}"))
        .remedy("give one of: ratio, trend, order, peak, threshold, correlation"))
}

/// Refuses a statement that names what one of its experiments does not have.
fn statement(study: &Study, claim: &Claim, path: &str) -> Result<(), Fault> {
    for (index, (key, name)) in claim.experiments().enumerate() {
        let experiment = names::find(study, name, &format!("{path}.{key}"))?;
        if claim.experiments().take(index).any(|(_, earlier)| earlier == name) {
            return Err(Fault::usage(format!("the claim names experiment `{name}` already"))
                .at(study.key_lines.location_of(&format!("{path}.{key}")))
                .remedy("name another one"));
        }
        if stage(study, name) != stage(study, &claim.experiment) {
            return Err(Fault::usage(format!(
                "`{name}` and `{}` are run one after the other, and a claim is about experiments that run in the same blocks",
                claim.experiment
            ))
            .at(study.key_lines.location_of(&format!("{path}.{key}")))
            .remedy("make both levels of a factor of the later one, or make a claim about each"));
        }
        names::factor_levels(study, experiment, &claim.at, &format!("{path}.where"))?;
        names(study, experiment, claim, path)?;
    }
    Ok(())
}

/// The factors and levels that the statement itself names.
fn names(study: &Study, experiment: &Experiment, claim: &Claim, path: &str) -> Result<(), Fault> {
    if let Some(ratio) = &claim.ratio {
        names::factor_levels(study, experiment, &ratio.of, &format!("{path}.ratio.of"))?;
        names::factor_levels(study, experiment, &ratio.to, &format!("{path}.ratio.to"))?;
        let against = ratio.against.iter();
        against.into_iter().try_for_each(|levels| {
            names::factor_levels(study, experiment, levels, &format!("{path}.ratio.against"))
        })?;
    }
    if let Some(sides) = claim.correlation.as_ref().and_then(|correlation| correlation.ratio.as_ref()) {
        names::factor_levels(study, experiment, &sides.of, &format!("{path}.correlation.ratio.of"))?;
        names::factor_levels(study, experiment, &sides.to, &format!("{path}.correlation.ratio.to"))?;
    }
    if let Some(trend) = &claim.trend {
        names::axis(study, experiment, &trend.along, &format!("{path}.trend.along"))?;
        let beyond = trend.beyond.iter();
        beyond.into_iter().try_for_each(|levels| {
            names::factor_levels(study, experiment, levels, &format!("{path}.trend.beyond"))
        })?;
    }
    if let Some(order) = &claim.order {
        let path = format!("{path}.order");
        names::axis(study, experiment, &order.factor, &format!("{path}.factor"))?;
        listed_levels(study, experiment, &order.factor, &order.ascending, &format!("{path}.ascending"))?;
    }
    if let Some(peak) = &claim.peak {
        let path = format!("{path}.peak");
        names::axis(study, experiment, &peak.along, &format!("{path}.along"))?;
        listed_levels(study, experiment, &peak.along, &peak.among, &format!("{path}.among"))?;
    }
    Ok(())
}

/// Checks a list of a factor's levels. Those of a label are known from a run only.
fn listed_levels(
    study: &Study,
    experiment: &Experiment,
    factor: &str,
    levels: &[Value],
    path: &str,
) -> Result<(), Fault> {
    if label(factor).is_some() {
        return Ok(());
    }
    levels.iter().enumerate().try_for_each(|(number, level)| {
        names::level(study, experiment, factor, level, &format!("{path}.{number}"))
    })
}

/// Refuses a claim that no data could decide, with the wrong key.
fn possible(claim: &Claim) -> Result<(), (&'static str, Fault)> {
    let bound = claim.expect.as_ref().map(|expect| expect.value);
    if let Some(ratio) = &claim.ratio {
        sides(&ratio.of, &ratio.to, &claim.at).map_err(|fault| ("ratio", fault))?;
        against(ratio, &claim.at).map_err(|fault| ("ratio.against", fault))?;
        if let Some(Predicate { bound, .. }) = bound.filter(|expected| expected.bound <= 0.0) {
            let fault = Fault::usage(format!("a ratio is above zero, so that {bound} decides nothing"));
            return Err(("expect", fault.remedy("write for example expect = \"> 1\"")));
        }
    }
    if let Some(correlation) = &claim.correlation {
        if let Some(ratio) = &correlation.ratio {
            sides(&ratio.of, &ratio.to, &claim.at).map_err(|fault| ("correlation.ratio", fault))?;
        }
        if let Some(Predicate { bound, .. }) = bound.filter(|expected| expected.bound.abs() >= 1.0) {
            let fault =
                Fault::usage(format!("a rank correlation lies between -1 and 1, and {bound} does not"));
            return Err(("expect", fault.remedy("write for example expect = \"> 0\"")));
        }
    }
    if let Some(beyond) = claim.trend.as_ref().and_then(|trend| trend.beyond.as_ref())
        && beyond.iter().all(|(factor, level)| claim.at.get(factor) == Some(level))
    {
        let fault = Fault::usage("these are the claim's own cells: there is no difference");
        return Err(("trend.beyond", fault.remedy("name the level in which the others differ")));
    }
    if let Some(order) = &claim.order {
        distinct(&order.ascending, 2).map_err(|fault| ("order.ascending", fault))?;
    }
    match &claim.peak {
        Some(peak) => distinct(&peak.among, 1).map_err(|fault| ("peak.among", fault)),
        None => Ok(()),
    }
}

/// Refuses to set a ratio against itself, or against two things.
fn against(ratio: &Ratio, at: &Levels) -> Result<(), Fault> {
    let Some(levels) = &ratio.against else { return Ok(()) };
    if ratio.over.is_some() {
        return Err(Fault::usage("a ratio is set against one other: `over` or `against`")
            .remedy("leave one of them out, or make a claim of each"));
    }
    if let Some(factor) =
        levels.keys().find(|factor| ratio.of.contains_key(*factor) || ratio.to.contains_key(*factor))
    {
        return Err(Fault::usage(format!("the ratio itself gives factor `{factor}` its level"))
            .remedy("name a factor that both sides leave to `where`"));
    }
    match levels.iter().all(|(factor, level)| at.get(factor) == Some(level)) {
        true => Err(Fault::usage("these are the claim's own cells, and the number is always 1")
            .remedy("name the level in which the others differ")),
        false => Ok(()),
    }
}

/// Refuses sides of a ratio that are the same cells, or that contradict the claim's `where`.
fn sides(of: &Levels, to: &Levels, at: &Levels) -> Result<(), Fault> {
    let whole =
        |side: &Levels| at.iter().chain(side).map(|(f, l)| (f.clone(), l.clone())).collect::<Levels>();
    if whole(of) == whole(to) {
        return Err(Fault::usage("`of` and `to` are the same cells, whose ratio is always 1")
            .remedy("name the level on each side in which they differ"));
    }
    let clash = |side: &Levels| {
        at.iter()
            .find(|(factor, level)| side.get(*factor).is_some_and(|l| l != *level))
            .map(|(f, _)| f.clone())
    };
    match clash(of).or_else(|| clash(to)) {
        Some(factor) => {
            Err(Fault::usage(format!("`where` gives factor `{factor}` another level than the ratio"))
                .remedy(format!("leave `{factor}` out of `where`")))
        }
        None => Ok(()),
    }
}

/// Refuses fewer than `least` levels, and a level that is named twice.
fn distinct(levels: &[Value], least: usize) -> Result<(), Fault> {
    if levels.len() < least {
        return Err(Fault::usage(format!(
            "expected at least {}, found {}",
            count_in_words(least, "level"),
            levels.len()
        )));
    }
    let twice = levels.iter().enumerate().find(|(index, level)| levels[..*index].contains(level));
    match twice {
        Some((_, level)) => Err(Fault::usage(format!("level `{level}` is named twice"))),
        None => Ok(()),
    }
}

/// Refuses a claim without an expectation and without a published value with its margin.
fn decidable(claim: &Claim) -> Result<(), Fault> {
    let sized = claim.published.is_some() && claim.margin.is_some();
    let aside = [&claim.calibration, &claim.implied, &claim.not_comparable];
    let set_apart = aside.into_iter().any(Option::is_some);
    if claim.expect.is_some() || claim.states_itself() || sized || set_apart {
        return Ok(());
    }
    Err(Fault::usage("no data could refute this claim: it expects nothing")
        .remedy("add for example expect = \"> 1\""))
}

/// Refuses a claim that gives a published size and neither a margin nor the reason why there is none.
pub(super) fn sized(study: &Study, name: &str, claim: &Claim) -> Result<(), Fault> {
    let why = &claim.size_not_comparable;
    let aside = [why, &claim.calibration, &claim.implied, &claim.not_comparable];
    let excused = aside.into_iter().any(Option::is_some);
    let fault = match (&claim.published, &claim.margin) {
        (_, Some(_)) if why.is_some() => Fault::usage("a size that is not comparable has no margin")
            .remedy("leave out `margin` or `size_not_comparable`"),
        (Some(Published::Number(size)), None) if !excused => {
            Fault::usage(format!("{size} is published, and no margin says how near the size must come"))
                .remedy("add for example margin = \"10 %\", or size_not_comparable with the reason")
        }
        _ => return Ok(()),
    };
    Err(fault.at(study.key_lines.location_of(&format!("claim.{name}"))))
}
