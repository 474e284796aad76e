//! `crosstalk plan STUDY`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::value::describe_levels;
use crosstalk_study::count_in_words;
use crosstalk_study::plan::{Plan, WallTime};
use serde_json::json;

use crate::args::PlanArgs;
use crate::duration::{about_in_words, range_in_words};
use crate::load::{OtherPrograms, pace};
use crate::out::Out;
use crate::prepare::prepare;

/// Runs `crosstalk plan`.
pub fn main(args: PlanArgs, out: &Out) -> Result<ExitCode, Fault> {
    let resolved = prepare(&args.study)?;
    // With the cells that wait for an earlier result, at an assumed level: they take time, too.
    let plan = &resolved.whole;
    let time = plan.wall_time(pace(plan));
    out.say(&format!("{}: {}", plan.study, resolved.study.title));
    out.say(&format!("\n{}", summary(plan, &time)));
    if plan.runnable().any(|cell| cell.scene.work.values().any(|work| work.kind == "command")) {
        out.say("The run time of your own program is not known; the estimate assumes one second.");
    }
    let others = OtherPrograms::measure().map(|others| others.warning());
    for note in resolved.plan.limits().into_iter().chain(others) {
        out.say(&format!("note: {note}"));
    }
    let lists = args.cells || plan.cells().count() <= LISTED_CELLS;
    for (number, experiment) in plan.experiments.iter().enumerate() {
        let same = plan.experiments[..number].iter().find(|earlier| earlier.metrics == experiment.metrics);
        let waits =
            resolved.plan.experiments.iter().any(|now| now.name == experiment.name && now.pending.is_some());
        let head = format!(
            "{} ({}{}{}; reports {})",
            experiment.name,
            count_in_words(experiment.cells.len(), "cell"),
            if experiment.computed { ", computed in one block" } else { "" },
            if waits { ", at an assumed level" } else { "" },
            same.map_or_else(
                || names(&experiment.metrics),
                |earlier| format!("the same as {}", earlier.name)
            )
        );
        out.say(&format!("\n{head}"));
        for cell in experiment.cells.iter().filter(|_| lists) {
            out.say(&format!("  {}", describe_levels(&cell.id.levels)));
        }
    }
    let planned: BTreeSet<&str> =
        plan.experiments.iter().map(|experiment| experiment.name.as_str()).collect();
    let all = resolved.study.experiment.keys().map(String::as_str);
    let left_out: Vec<&str> = all.filter(|name| !planned.contains(name)).collect();
    if !left_out.is_empty() {
        out.say(&format!("\nPart of the whole study, left out here: {}", left_out.join(", ")));
    }
    if !lists {
        out.say("\n--cells lists every cell.");
    }
    out.record(&json!({
        "result": "plan",
        "study": plan.study,
        "seed": plan.seed,
        "looks": plan.looks,
        "warmup": plan.warmup,
        "questions": plan.questions,
        "enough": plan.blocks_that_suffice(),
        "experiments": plan.experiments.iter().map(|e| json!({
            "name": e.name,
            "metrics": e.metrics,
            "computed": e.computed,
            "cells": e.cells.iter().map(|c| &c.id.levels).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "left_out": left_out,
        "seconds": { "block": time.block, "least": time.least, "most": time.most },
        "warnings": resolved.plan.limits(),
    }));
    Ok(ExitCode::SUCCESS)
}

/// Up to this many cells are listed without `--cells`.
const LISTED_CELLS: usize = 12;

/// How long it takes, how many cells and blocks it has, and what they can decide.
fn summary(plan: &Plan, time: &WallTime) -> String {
    let blocks = plan.looks.last().copied().unwrap_or(0);
    let cells = count_in_words(plan.runnable().count(), "cell");
    let warmup = match plan.warmup {
        0 => String::new(),
        many => format!(", after {} of each for warm-up", count_in_words(many, "run")),
    };
    format!(
        "{} (estimated). {cells}, {}{warmup}. The first block (every cell once): {}. {}",
        sentence(&range_in_words(time.least, time.most)),
        analyses(&plan.looks, blocks),
        about_in_words(time.block),
        sentence(&plan.decides_in_words())
    ) + "."
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// When the data are analysed.
fn analyses(looks: &[usize], blocks: usize) -> String {
    match looks {
        [_] => format!("{}, analysed once", count_in_words(blocks, "block")),
        [earlier @ .., last] => {
            let earlier: Vec<String> = earlier.iter().map(ToString::to_string).collect();
            format!("analysed after {} and {last} blocks, until the data suffice", earlier.join(", "))
        }
        [] => count_in_words(blocks, "block"),
    }
}

fn names(metrics: &[crosstalk_core::record::Metric]) -> String {
    metrics.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_analyses_are_listed() {
        assert_eq!(analyses(&[20], 20), "20 blocks, analysed once");
        assert_eq!(
            analyses(&[12, 24, 48], 48),
            "analysed after 12, 24 and 48 blocks, until the data suffice"
        );
    }
}
