//! Runs made up from known effects and seeded noise.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod graph;

use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::record::{Origin, Reading, Status};
use crosstalk_core::value::{Levels, Value};
use crosstalk_stats::rng::Rng;
use crosstalk_study::file::Study;
use crosstalk_study::findings::{ClaimFinding, Findings};
use crosstalk_study::plan::{Plan, PlanOptions};
use crosstalk_study::samples::{Attempt, Run};
use crosstalk_study::{analyse, parse, plan};

use crate::mock;

/// What is true: experiment, levels, metric → value.
pub type Truth<'a> = &'a dyn Fn(&str, &Levels, &str) -> f64;

/// What a command has nothing of: one thread, on a processor of its own.
const NOT_REPORTED: [&str; 2] = ["time_queue", "parallel_cpu_time"];

/// A study with its plan.
pub struct PlannedStudy {
    pub study: Study,
    pub plan: Plan,
}

/// Reads and plans a study with the mock workloads.
pub fn planned_study(text: &str) -> PlannedStudy {
    with_options(text, &options())
}

pub fn with_options(text: &str, options: &PlanOptions) -> PlannedStudy {
    let study = parse(text, "synthetic.toml").expect("reads");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), options).expect("plans");
    PlannedStudy { study, plan }
}

fn options() -> PlanOptions {
    let mut options = PlanOptions::default();
    options.discovered.insert("cores".into(), vec![1.into(), 2.into()]);
    options
}

impl PlannedStudy {
    /// `blocks` blocks in which every cell shows the truth times log-normal
    /// noise of relative size `noise`, on top of a drift that cells of a block share.
    pub fn run(&self, blocks: usize, noise: f64, seed: u64, truth: Truth) -> Run {
        let mut rng = Rng::seeded(seed);
        let mut run = Run {
            command: "crosstalk run synthetic".into(),
            version: "0.1.0".into(),
            seed: self.plan.seed,
            ended: 60.0,
            ..Run::default()
        };
        for block in 0..blocks {
            let drift = 0.2 * rng.normal();
            for experiment in &self.plan.experiments {
                for cell in &experiment.cells {
                    let reported =
                        experiment.metrics.iter().filter(|m| !NOT_REPORTED.contains(&m.name.as_str()));
                    let readings = reported.map(|metric| {
                        let value = truth(&experiment.name, &cell.id.levels, &metric.name);
                        let value = value * (drift + noise * rng.normal()).exp();
                        Reading::value(&metric.name, value, Origin::Measured)
                    });
                    let attempt = Attempt {
                        id: run.attempts.len() as u64,
                        cell: cell.id.clone(),
                        block,
                        try_number: 1,
                        status: Status::Finished,
                        failure: None,
                        fidelity: Some(Fidelity::default()),
                        at: 0.0,
                        readings: readings.collect(),
                    };
                    run.attempts.push(attempt);
                }
            }
        }
        run
    }

    pub fn findings(&self, run: &Run) -> Findings {
        analyse(&self.study, &mock::catalogues(), &self.plan, run)
    }
}

/// The claim of that name.
pub fn claim<'a>(findings: &'a Findings, name: &str) -> &'a ClaimFinding {
    findings.claims.iter().find(|claim| claim.name == name).expect("the study has that claim")
}

/// A level as a number.
pub fn number(levels: &Levels, factor: &str) -> f64 {
    levels[factor].number().expect("is a number")
}

/// Whether a factor stands at a level.
pub fn is(levels: &Levels, factor: &str, level: &str) -> bool {
    levels.get(factor) == Some(&Value::Text(level.into()))
}
