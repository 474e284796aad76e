//! `crosstalk plan STUDY`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::value::describe;
use crosstalk_study::counted;
use serde_json::json;

use crate::args::PlanArgs;
use crate::out::Out;
use crate::verb::run::{pace, prepare};

pub fn main(args: PlanArgs, out: &Out) -> Result<ExitCode, Fault> {
    let ready = prepare(&args.study)?;
    let plan = &ready.plan;
    let time = plan.seconds(pace(plan));
    out.say(&format!("{}: {}", plan.study, ready.study.title));
    for experiment in &plan.experiments {
        out.say(&format!(
            "\n{} ({} cells; reports {})",
            experiment.name,
            experiment.cells.len(),
            names(&experiment.metrics)
        ));
        for cell in &experiment.cells {
            out.say(&format!("  {}", describe(&cell.levels)));
        }
    }
    let planned = |name: &String| plan.experiments.iter().any(|experiment| experiment.name == *name);
    let left_out: Vec<&str> =
        ready.study.experiment.keys().filter(|name| !planned(name)).map(String::as_str).collect();
    if !left_out.is_empty() {
        out.say(&format!("\nLeft out here, and part of the whole study: {}", left_out.join(", ")));
    }
    out.say(&format!(
        "\nThe first block (every cell once): about {}. {}",
        duration(time.block),
        looks(&plan.looks, time.least, time.most)
    ));
    if plan.cells().any(|cell| cell.scene.work.values().any(|work| work.kind == "command")) {
        out.say("How long your own program takes is not known: these times take a second an attempt.");
    }
    for warning in &plan.warnings {
        out.say(&format!("note: {warning}"));
    }
    out.tell(&json!({
        "result": "plan",
        "study": plan.study,
        "seed": plan.seed,
        "looks": plan.looks,
        "experiments": plan.experiments.iter().map(|e| json!({
            "name": e.name,
            "metrics": e.metrics,
            "cells": e.cells.iter().map(|c| &c.levels).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "left_out": left_out,
        "seconds": { "block": time.block, "least": time.least, "most": time.most },
        "warnings": plan.warnings,
    }));
    Ok(ExitCode::SUCCESS)
}

/// When the data are looked at, and how long that takes, in seconds: the least and the most.
fn looks(looks: &[usize], least: f64, most: f64) -> String {
    match looks {
        [only] => format!("One look, after {}: about {}.", counted(*only, "block"), duration(most)),
        many => format!(
            "Looks after {} blocks: between {} and {}.",
            many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            duration(least),
            duration(most)
        ),
    }
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
    fn one_look_is_no_range() {
        assert_eq!(looks(&[20], 324.0, 324.0), "One look, after 20 blocks: about 5 min 24 s.");
        let several = "Looks after 12, 24 blocks: between 24 s and 48 s.";
        assert_eq!(looks(&[12, 24], 24.0, 48.0), several);
    }
}
