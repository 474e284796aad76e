//! Writes the settings of the command line into a study.
//!
//! Replaced levels stay known (`left_out`): a claim about them is "not run", not an error. The resolved study can be read
//! again.

use crate::catalogue::NO_FABRIC;
use crate::check;
use crate::engine;
use crate::file::Study;
use crate::plan::PlanOptions;
use crate::scale;
use crate::substitute::{factors_in, literal};
use crosstalk_core::Fault;
use crosstalk_core::name::unknown;
use crosstalk_core::parameter::Parameters;
use crosstalk_core::registry::Registry;
use crosstalk_core::value::Value;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Reads a setting, `KEY=VALUE`. A value may be a list with commas (`1,2,4`) or in TOML (`["a,b", "c"]`).
///
/// # Errors
/// A usage fault where there is no `=`, no key or no value.
pub fn parse_setting(text: &str) -> Result<(String, Value), Fault> {
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

/// `study` with all `options` written into it.
///
/// # Errors
/// A usage fault where a setting matches nothing in the study, or several things.
pub fn resolve(study: &Study, registry: &Registry, options: &PlanOptions) -> Result<Study, Fault> {
    let mut resolved = study.clone();
    if let Some(name) = &options.engine {
        engine::apply(&mut resolved, registry, name, options.quick)?;
    }
    for (key, value) in &options.set {
        apply(&mut resolved, registry, key, value).map_err(|fault| fault.at(format!("--set {key}")))?;
    }
    if let Some(scale) = options.scale {
        set_scale(&mut resolved, scale).map_err(|fault| fault.at("--scale"))?;
    }
    if let Some(seed) = options.seed {
        resolved.seed = seed;
    }
    if let Some(warmup) = options.warmup {
        check::warmup(warmup).map_err(|fault| fault.at("--warmup"))?;
        resolved.warmup = warmup;
    }
    if let Some(line) = &options.prepare {
        set_prepare(&mut resolved, line).map_err(|fault| fault.at("--prepare"))?;
    }
    if let Some(looks) = &options.looks {
        check::looks(looks).map_err(|fault| fault.at("--looks"))?;
        resolved.looks.clone_from(looks);
        if let Some(quick) = &mut resolved.quick {
            quick.looks = Some(looks.clone());
        }
    }
    Ok(resolved)
}

/// Sets the shell command that node 0 runs before each attempt at a program of the user's.
fn set_prepare(study: &mut Study, line: &str) -> Result<(), Fault> {
    let works = study.experiment.values_mut().flat_map(|experiment| experiment.work.values_mut());
    let mut found = false;
    for work in works.filter(|work| work.kind == "command") {
        work.params.0.insert("prepare".into(), literal(line));
        found = true;
    }
    if found {
        return Ok(());
    }
    Err(Fault::usage("nothing here is a program of your own")
        .remedy("leave it out, or write the program after `--`"))
}

/// Divides the rates of all links that have a fabric by `scale`.
fn set_scale(study: &mut Study, scale: f64) -> Result<(), Fault> {
    scale::parse_scale(&scale.into())?;
    let has_rate = |fabric: &Value| *fabric != NO_FABRIC.into();
    let mut found = false;
    for experiment in study.experiment.values_mut() {
        let real = experiment.conditions.contains_key("scale");
        if !real && !experiment.conditions.get("fabric").is_some_and(has_rate) {
            continue;
        }
        if matches!(experiment.conditions.get("scale"), Some(Value::Text(factor)) if factor.starts_with('$'))
        {
            return Err(
                Fault::usage("the scale is a factor of this study").remedy("change its levels with --set")
            );
        }
        experiment.conditions.insert("scale".into(), scale.into());
        found = true;
    }
    if found {
        return Ok(());
    }
    Err(Fault::usage("no link of this study has a fabric's rate")
        .remedy("leave it out, or name a fabric (--vary fabric=ethernet-1g for a program of your own)"))
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

    fn experiment(&self) -> &str {
        let (Target::Factor { experiment, .. } | Target::Param { experiment, .. }) = self;
        experiment
    }

    /// The last word of its key.
    fn name(&self) -> &str {
        let (Target::Factor { factor: name, .. } | Target::Param { param: name, .. }) = self;
        name
    }

    /// Whether these words are its key, or its key with words but the last left out.
    fn matches(&self, words: &[&str]) -> bool {
        let key = self.key();
        let mut rest = key.split('.');
        words.last() == Some(&self.name()) && words.iter().all(|word| rest.any(|part| part == *word))
    }
}

fn apply(study: &mut Study, registry: &Registry, key: &str, value: &Value) -> Result<(), Fault> {
    match target(study, registry, key)? {
        Target::Factor { experiment, factor } => set_levels(study, &experiment, &factor, value),
        Target::Param { experiment, part, param } => set_param(study, &experiment, &part, &param, value),
    }
}

/// The one target that `key` matches: `EXPERIMENT.FACTOR`, `EXPERIMENT.PART.PARAM`, or a shorter form of either that
/// nothing else matches.
fn target(study: &Study, registry: &Registry, key: &str) -> Result<Target, Fault> {
    let words: Vec<&str> = key.split('.').collect();
    let whole = match words[..] {
        [experiment, part, param] => Some(whole_param(study, experiment, part, param)?),
        [experiment, factor] => whole_factor(study, experiment, factor),
        _ => None,
    };
    if let Some(target) = whole {
        return Ok(target);
    }
    let all = all_targets(study, registry);
    let matching: Vec<&Target> = all.iter().filter(|target| target.matches(&words)).collect();
    match matching[..] {
        [one] => Ok(one.clone()),
        [] => Err(no_match(study, &all, &words)),
        _ => {
            let keys: Vec<String> = matching.iter().map(|target| target.key()).collect();
            Err(Fault::usage(format!("`{key}` is in several places"))
                .remedy(format!("name one: {}", keys.join(", "))))
        }
    }
}

fn whole_param(study: &Study, experiment: &str, part: &str, param: &str) -> Result<Target, Fault> {
    let found = study.experiment.get(experiment).ok_or_else(|| unknown_experiment(study, experiment))?;
    if !found.work.contains_key(part) {
        return Err(unknown("work", part, found.work.keys().map(String::as_str)));
    }
    Ok(Target::Param { experiment: experiment.into(), part: part.into(), param: param.into() })
}

fn whole_factor(study: &Study, experiment: &str, factor: &str) -> Option<Target> {
    let found = study.experiment.get(experiment)?;
    let target = Target::Factor { experiment: experiment.into(), factor: factor.into() };
    found.factors.contains_key(factor).then_some(target)
}

/// The fault of a key that matches nothing: it names the first unknown word.
fn no_match(study: &Study, all: &[Target], words: &[&str]) -> Fault {
    match words {
        [name] => unknown("name", name, names(all.iter())),
        [experiment, name, ..] => match study.experiment.get(*experiment) {
            Some(_) => {
                let here = all.iter().filter(|target| target.experiment() == *experiment);
                unknown("factor or parameter", name, names(here))
            }
            None => unknown_experiment(study, experiment),
        },
        [] => Fault::usage("expected a name"),
    }
}

/// Each name once.
fn names<'a>(targets: impl Iterator<Item = &'a Target>) -> BTreeSet<&'a str> {
    targets.map(Target::name).collect()
}

fn unknown_experiment(study: &Study, name: &str) -> Fault {
    unknown("experiment", name, study.experiment.keys().map(String::as_str))
}

/// Every factor of a study, and every parameter of its workloads that takes no factor's level, written or default.
fn all_targets(study: &Study, registry: &Registry) -> Vec<Target> {
    let mut all = Vec::new();
    for (name, experiment) in &study.experiment {
        for factor in experiment.factors.keys() {
            all.push(Target::Factor { experiment: name.clone(), factor: factor.clone() });
        }
        for (part, spec) in &experiment.work {
            let accepted =
                registry.workload(&spec.kind).map_or(Parameters(&[]), |workload| workload.parameters());
            let written = spec.params.0.keys().map(String::as_str);
            let known: BTreeSet<&str> = written.chain(accepted.names().map(|name: &str| name)).collect();
            let takes_factor =
                |param: &str| spec.params.get(param).is_some_and(|v| !factors_in(v).is_empty());
            for param in known.into_iter().filter(|param| !takes_factor(param)) {
                all.push(Target::Param { experiment: name.clone(), part: part.clone(), param: param.into() });
            }
        }
    }
    all
}

fn set_levels(study: &mut Study, experiment: &str, factor: &str, value: &Value) -> Result<(), Fault> {
    let levels = match value {
        Value::List(levels) => levels.clone(),
        one => vec![one.clone()],
    };
    check::distinct(&levels)?;
    if let Some(found) = study.experiment.get_mut(experiment).and_then(|e| e.factors.get_mut(factor)) {
        *found = found.with_levels(levels);
    }
    // A setting holds for a quick run too.
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
    if let Some(factor) = spec.params.get(param).and_then(|old| factors_in(old).pop().map(String::from)) {
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
