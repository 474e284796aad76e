//! `crosstalk plan STUDY`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_core::value::describe;
use serde_json::json;

use crate::args::PlanArgs;
use crate::out::Out;
use crate::verb::run::prepare;

pub fn main(args: PlanArgs, out: &Out) -> Result<ExitCode, Fault> {
    let ready = prepare(&args.study)?;
    let plan = &ready.plan;
    let time = plan.seconds();
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
    out.say(&format!(
        "\nOne block (every cell once): about {}. Looks after {} blocks: between {} and {}.",
        duration(time.block),
        plan.looks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        duration(time.least),
        duration(time.most),
    ));
    for warning in &plan.warnings {
        out.say(&format!("cannot be done here: {warning}"));
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
        "seconds": { "block": time.block, "least": time.least, "most": time.most },
        "warnings": plan.warnings,
    }));
    Ok(ExitCode::SUCCESS)
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
