//! A study with what the command line sets written into it.
//!
//! Levels that a setting replaces stay known (`left_out`), so that a claim
//! about them is "not run" and not an error, and the resolved study reads again.

use crate::check;
use crate::file::{Experiment, Study};
use crate::plan::PlanOptions;
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::value::Value;
use serde::Deserialize;

/// Reads `--set`'s `KEY=VALUE`. A value may be a list with commas (`1,2,4`) or
/// as TOML writes it (`["a,b", "c"]`).
///
/// # Errors
/// A usage fault where there is no `=`, no key or no value.
pub fn setting(text: &str) -> Result<(String, Value), Fault> {
    let wrong = || {
        Fault::usage(format!("expected KEY=VALUE, found `{text}`"))
            .at("--set")
            .remedy("write for example --set graph.slaves=1,6")
    };
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() {
        return Err(wrong());
    }
    Ok((key.to_string(), self::value(value).ok_or_else(wrong)?))
}

fn value(text: &str) -> Option<Value> {
    if text.starts_with(['[', '"', '\'']) {
        return Value::deserialize(toml::de::ValueDeserializer::parse(text).ok()?).ok();
    }
    let mut words: Vec<Value> = text.split(',').map(|word| Value::from_word(word.trim())).collect();
    if words.len() == 1 { words.pop() } else { Some(Value::List(words)) }
}

/// `study` with settings, seed and looks written into it.
///
/// # Errors
/// A usage fault where a setting names nothing of the study, or several things.
pub fn resolve(study: &Study, options: &PlanOptions) -> Result<Study, Fault> {
    let mut resolved = study.clone();
    for (key, value) in &options.set {
        apply(&mut resolved, key, value).map_err(|fault| fault.at(format!("--set {key}")))?;
    }
    if let Some(seed) = options.seed {
        resolved.seed = seed;
    }
    if let Some(looks) = &options.looks {
        check::looks(looks)?;
        resolved.looks.clone_from(looks);
        if let Some(quick) = &mut resolved.quick {
            quick.looks = Some(looks.clone());
        }
    }
    Ok(resolved)
}

/// What a setting changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Factor { experiment: String, factor: String },
    Param { experiment: String, part: String, param: String },
}

impl Target {
    fn key(&self) -> String {
        match self {
            Target::Factor { experiment, factor } => format!("{experiment}.{factor}"),
            Target::Param { experiment, part, param } => format!("{experiment}.{part}.{param}"),
        }
    }
}

fn apply(study: &mut Study, key: &str, value: &Value) -> Result<(), Fault> {
    match target(study, key)? {
        Target::Factor { experiment, factor } => set_levels(study, &experiment, &factor, value),
        Target::Param { experiment, part, param } => set_param(study, &experiment, &part, &param, value),
    }
}

/// What `key` means, where it means exactly one thing.
fn target(study: &Study, key: &str) -> Result<Target, Fault> {
    let parts: Vec<&str> = key.split('.').collect();
    if let [experiment, part, param] = parts[..] {
        let found = experiment_named(study, experiment)?;
        if !found.work.contains_key(part) {
            return Err(unknown("work", part, found.work.keys().map(String::as_str)));
        }
        return Ok(Target::Param { experiment: experiment.into(), part: part.into(), param: param.into() });
    }
    if let [experiment, factor] = parts[..] {
        let found = experiment_named(study, experiment)?;
        if !found.factors.contains_key(factor) {
            return Err(unknown("factor", factor, found.factors.keys().map(String::as_str)));
        }
        return Ok(Target::Factor { experiment: experiment.into(), factor: factor.into() });
    }
    only_one(key, everything(study))
}

fn experiment_named<'a>(study: &'a Study, name: &str) -> Result<&'a Experiment, Fault> {
    study
        .experiment
        .get(name)
        .ok_or_else(|| unknown("experiment", name, study.experiment.keys().map(String::as_str)))
}

/// Every factor of a study, and every parameter that no factor feeds.
fn everything(study: &Study) -> Vec<(String, Target)> {
    let mut all = Vec::new();
    for (name, experiment) in &study.experiment {
        for factor in experiment.factors.keys() {
            let target = Target::Factor { experiment: name.clone(), factor: factor.clone() };
            all.push((factor.clone(), target));
        }
        for (part, spec) in &experiment.work {
            let free =
                spec.params.0.iter().filter(|(_, value)| crate::substitute::factors_in(value).is_empty());
            for (param, _) in free {
                let target =
                    Target::Param { experiment: name.clone(), part: part.clone(), param: param.clone() };
                all.push((param.clone(), target));
            }
        }
    }
    all
}

fn only_one(key: &str, all: Vec<(String, Target)>) -> Result<Target, Fault> {
    let meant: Vec<&Target> = all.iter().filter(|(name, _)| name == key).map(|(_, target)| target).collect();
    match meant[..] {
        [one] => Ok(one.clone()),
        [] => Err(unknown("name", key, all.iter().map(|(name, _)| name.as_str()))),
        _ => {
            let keys: Vec<String> = meant.iter().map(|target| target.key()).collect();
            Err(Fault::usage(format!("`{key}` is in several places"))
                .remedy(format!("name one: {}", keys.join(", "))))
        }
    }
}

fn set_levels(study: &mut Study, experiment: &str, factor: &str, value: &Value) -> Result<(), Fault> {
    let levels = match value {
        Value::List(levels) => levels.clone(),
        one => vec![one.clone()],
    };
    if let Some((_, twice)) = levels.iter().enumerate().find(|(i, level)| levels[..*i].contains(level)) {
        return Err(Fault::usage(format!("level `{twice}` is given twice")));
    }
    if levels.is_empty() {
        return Err(Fault::usage("expected at least one level"));
    }
    if let Some(found) = study.experiment.get_mut(experiment).and_then(|e| e.factors.get_mut(factor)) {
        *found = found.with_levels(levels);
    }
    // What is set by hand also goes for a quick run.
    if let Some(remaining) = study.quick.as_mut().and_then(|quick| quick.experiment.get_mut(experiment)) {
        remaining.remove(factor);
    }
    Ok(())
}

fn set_param(
    study: &mut Study,
    experiment: &str,
    part: &str,
    param: &str,
    value: &Value,
) -> Result<(), Fault> {
    let Some(spec) = study.experiment.get_mut(experiment).and_then(|e| e.work.get_mut(part)) else {
        return Ok(());
    };
    if let Some(factor) =
        spec.params.get(param).and_then(|old| crate::substitute::factors_in(old).pop().map(String::from))
    {
        return Err(Fault::usage(format!("`{param}` takes the level of factor `{factor}`"))
            .remedy(format!("set the factor: --set {experiment}.{factor}={value}")));
    }
    spec.params.0.insert(param.to_string(), value.clone());
    let quick = study.quick.as_mut().and_then(|quick| quick.work.get_mut(experiment));
    if let Some(params) = quick.and_then(|parts| parts.get_mut(part)) {
        params.0.remove(param);
    }
    Ok(())
}
