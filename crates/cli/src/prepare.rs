//! From the command line to a study and its plan.

use std::collections::BTreeSet;

use crosstalk_core::Fault;
use crosstalk_core::value::Value;
use crosstalk_study::file::Study;
use crosstalk_study::plan::Plan;
use crosstalk_study::{PlanOptions, command_study, parse_setting, refuse_certain};
use crosstalk_tools::command;

use crate::args::StudyArgs;
use crate::resolved::Resolved;
use crate::{catalogue, parts};

/// The study of a command line, and its plan.
///
/// # Errors
/// Usage faults: of the command line, of the study, or of the catalogues.
pub fn prepare(args: &StudyArgs) -> Result<Resolved, Fault> {
    let catalogues = catalogue::catalogues(&args.catalogue)?;
    let study = study(args)?;
    let options = PlanOptions {
        quick: args.quick,
        set: args.set.iter().map(|s| parse_setting(s)).collect::<Result<_, _>>()?,
        seed: args.seed,
        engine: args.engine.clone(),
        scale: args.scale,
        looks: args.runs.map(|n| vec![n]).or_else(|| (!args.looks.is_empty()).then(|| args.looks.clone())),
        warmup: args.warmup,
        prepare: args.prepare.clone(),
        discovered: parts::discovered_levels(),
        ..PlanOptions::default()
    };
    let resolved = Resolved::new(study, catalogues, options)?;
    refuse_certain(&resolved.study, &resolved.whole)?;
    Ok(resolved)
}

/// The named study, or the one that stands for a program of the user's.
fn study(args: &StudyArgs) -> Result<Study, Fault> {
    let flags = [
        ("--nodes", args.nodes.is_some()),
        ("--vary", !args.vary.is_empty()),
        ("--margin", args.margin.is_some()),
    ];
    if let Some((flag, _)) = flags.into_iter().find(|(_, is_set)| *is_set && args.command.is_empty()) {
        return Err(Fault::usage("this is for a program of your own, and there is none")
            .at(flag)
            .remedy("write the program after `--`, or change a study's levels with --set"));
    }
    match (&args.study, args.command.is_empty()) {
        (Some(name), true) => catalogue::study(name),
        (None, false) => study_of_program(args),
        (Some(_), false) => Err(Fault::usage("a study and a program of your own cannot be run at once")
            .remedy("leave out the study's name, or the program after `--`")),
        (None, true) => Err(Fault::usage("nothing to run")
            .remedy("crosstalk run kosmos --quick, or crosstalk run --nodes 2 -- ./my-job")),
    }
}

fn study_of_program(args: &StudyArgs) -> Result<Study, Fault> {
    let nodes = args.nodes.unwrap_or(1);
    if nodes == 0 {
        return Err(Fault::usage("expected at least 1 node, found 0")
            .at("--nodes")
            .remedy("write --nodes 2"));
    }
    let factors = args.vary.iter().map(|text| factor(text)).collect::<Result<Vec<_>, _>>()?;
    let study = command_study(nodes, &factors, &args.command)?;
    match &args.margin {
        Some(margin) => {
            crosstalk_study::command::with_margin(study, margin).map_err(|fault| fault.at("--margin"))
        }
        None => Ok(study),
    }
}

/// A factor and its levels: `fabric=ethernet-1g,ethernet-10g`.
fn factor(text: &str) -> Result<(String, Vec<Value>), Fault> {
    let unreadable = |_| {
        Fault::usage(format!("expected FACTOR=A,B, found `{text}`"))
            .at("--vary")
            .remedy("write for example --vary fabric=ethernet-1g,ethernet-10g")
    };
    let (factor, levels) = parse_setting(text).map_err(unreadable)?;
    let levels = match levels {
        Value::List(levels) => levels,
        one => vec![one],
    };
    Ok((factor, as_typed(text).unwrap_or(levels)))
}

/// The levels of an environment variable as typed, if numbers would be written differently: `3.10`, `007`.
fn as_typed(text: &str) -> Option<Vec<Value>> {
    let (factor, levels) = text.split_once('=')?;
    let levels = levels.trim();
    if !factor.trim().starts_with("env.") || levels.starts_with(['[', '"', '\'']) {
        return None;
    }
    let words: Vec<&str> = levels.split(',').map(str::trim).collect();
    let same = words.iter().all(|word| Value::from_word(word).to_string() == *word);
    (!same).then(|| words.into_iter().map(Value::from).collect())
}

/// Refuses a plan whose programs or input files are missing on this machine, where its nodes are. Returns notes on
/// those that are there.
///
/// # Errors
/// A usage fault that names the program or the file.
pub fn check_inputs(plan: &Plan) -> Result<BTreeSet<String>, Fault> {
    let work = plan.runnable().flat_map(|cell| cell.scene.work.values());
    let notes = work.map(|work| match work.kind.as_str() {
        "command" => command::check_program(&work.params).map(|()| None),
        kind => crosstalk_apps::check_inputs(kind, &work.params),
    });
    notes.filter_map(Result::transpose).collect()
}
