//! `crosstalk plan STUDY`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::value::describe;
use crosstalk_study::counted;
use crosstalk_study::plan::{Plan, WallTime};
use serde_json::json;

use crate::args::PlanArgs;
use crate::out::Out;
use crate::verb::run::{busy, pace, prepare};

pub fn main(args: PlanArgs, out: &Out) -> Result<ExitCode, Fault> {
    let ready = prepare(&args.study)?;
    let plan = &ready.plan;
    let time = plan.seconds(pace(plan));
    out.say(&format!("{}: {}", plan.study, ready.study.title));
    out.say(&format!("\n{}", summary(plan, &time)));
    if plan.runnable().any(|cell| cell.scene.work.values().any(|work| work.kind == "command")) {
        out.say("How long your own program takes is not known: a second a run is assumed.");
    }
    for note in plan.warnings.iter().cloned().chain(busy()) {
        out.say(&format!("note: {note}"));
    }
    let many = plan.cells().count();
    let lists = args.cells || many <= FEW;
    for experiment in &plan.experiments {
        let head = format!(
            "{} ({}; reports {})",
            experiment.name,
            counted(experiment.cells.len(), "cell"),
            names(&experiment.metrics)
        );
        out.say(&format!("\n{head}"));
        for cell in experiment.cells.iter().filter(|_| lists) {
            out.say(&format!("  {}", describe(&cell.id.levels)));
        }
    }
    let planned: BTreeSet<&str> =
        plan.experiments.iter().map(|experiment| experiment.name.as_str()).collect();
    let all = ready.study.experiment.keys().map(String::as_str);
    let left_out: Vec<&str> = all.filter(|name| !planned.contains(name)).collect();
    if !left_out.is_empty() {
        out.say(&format!("\nLeft out here, and part of the whole study: {}", left_out.join(", ")));
    }
    if !lists {
        out.say("\n--cells lists every cell.");
    }
    out.tell(&json!({
        "result": "plan",
        "study": plan.study,
        "seed": plan.seed,
        "looks": plan.looks,
        "warmup": plan.warmup,
        "questions": plan.questions,
        "enough": plan.enough(),
        "experiments": plan.experiments.iter().map(|e| json!({
            "name": e.name,
            "metrics": e.metrics,
            "cells": e.cells.iter().map(|c| &c.id.levels).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "left_out": left_out,
        "seconds": { "block": time.block, "least": time.least, "most": time.most },
        "warnings": plan.warnings,
    }));
    Ok(ExitCode::SUCCESS)
}

/// So many cells are listed without being asked for.
const FEW: usize = 12;

/// How long it takes, and of what.
fn summary(plan: &Plan, time: &WallTime) -> String {
    let blocks = plan.looks.last().copied().unwrap_or(0);
    let cells = counted(plan.runnable().count(), "cell");
    let warmup = match plan.warmup {
        0 => String::new(),
        many => format!(", after {} of each that does not count", counted(many, "run")),
    };
    format!(
        "{} (estimated). {cells}, {}{warmup}. The first block (every cell once): {}. {}",
        sentence(&range(time.least, time.most)),
        analyses(&plan.looks, blocks),
        about(time.block),
        sentence(&plan.decides())
    ) + "."
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// From the least to the most.
fn range(least: f64, most: f64) -> String {
    match (duration(least), duration(most)) {
        (least, most) if least == most => about_words(&most),
        (least, most) => format!("between {least} and {most}"),
    }
}

/// When the data are analysed.
fn analyses(looks: &[usize], blocks: usize) -> String {
    match looks {
        [_] => format!("{}, analysed once", counted(blocks, "block")),
        [earlier @ .., last] => {
            let earlier: Vec<String> = earlier.iter().map(ToString::to_string).collect();
            format!("analysed after {} and {last} blocks, until the data suffice", earlier.join(", "))
        }
        [] => counted(blocks, "block"),
    }
}

/// An estimated time.
pub fn about(seconds: f64) -> String {
    about_words(&duration(seconds))
}

fn about_words(time: &str) -> String {
    if time.starts_with("under") { time.into() } else { format!("about {time}") }
}

fn names(metrics: &[crosstalk_core::record::Metric]) -> String {
    metrics.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Seconds as people say them.
pub fn duration(seconds: f64) -> String {
    if seconds < 1.0 {
        return "under a second".into();
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole % 3600 / 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) if m < 10 => format!("{m} min {s} s"),
        (0, m, _) => format!("{m} min"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_analysis_is_no_range() {
        assert_eq!(range(324.0, 324.0), "about 5 min 24 s");
        assert_eq!(range(24.0, 48.0), "between 24 s and 48 s");
        assert_eq!(about(0.2), "under a second");
        assert_eq!(analyses(&[20], 20), "20 blocks, analysed once");
        assert_eq!(
            analyses(&[12, 24, 48], 48),
            "analysed after 12, 24 and 48 blocks, until the data suffice"
        );
    }
}
