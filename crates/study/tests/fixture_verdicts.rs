//! The format carries three further evaluations: their claims give the
//! verdicts that follow from what is made true here.

use crate::synthetic::{PlannedStudy, claim, is, number, with_options};
use crosstalk_core::value::{Levels, Value};
use crosstalk_study::analyse::peak_level;
use crosstalk_study::findings::{ClaimVerdict, Findings};
use crosstalk_study::{PlanOptions, findings::ComparisonVerdict};

use ClaimVerdict::{DirectionOnly, Inconclusive, NotComparable, NotReproduced, NotRun, Reproduced};

const GROUPS: &str = include_str!("fixtures/groups.toml");
const INFINIBAND: &str = include_str!("fixtures/infiniband.toml");
const VOLUNTEER: &str = include_str!("fixtures/volunteer.toml");

fn planned_study(text: &str) -> PlannedStudy {
    let mut options = PlanOptions::default();
    options.discovered.insert("cores".into(), vec![1.into(), 2.into()]);
    for experiment in ["grouped", "gain"] {
        options.from_results.insert(format!("{experiment}.tasks"), Value::Int(512));
    }
    with_options(text, &options)
}

fn found(text: &str, truth: &dyn Fn(&str, &Levels, &str) -> f64) -> Findings {
    let planned = planned_study(text);
    let budget = *planned.plan.looks.last().expect("is planned");
    let findings = planned.findings(&planned.run(budget, 0.01, 21, truth));
    for claim in &findings.claims {
        eprintln!("{}: {:?}: {}", claim.name, claim.verdict, claim.why);
    }
    findings
}

fn expect(findings: &Findings, verdicts: &[(&str, ClaimVerdict)]) {
    assert_eq!(verdicts.len(), findings.claims.len(), "every claim has its expected verdict");
    for (name, verdict) in verdicts {
        let found = claim(findings, name);
        assert_eq!(found.verdict, *verdict, "{name}: {}", found.why);
    }
}

#[test]
fn groups() {
    let jobs = |experiment: &str, levels: &Levels, _: &str| match experiment {
        "load" => match number(levels, "tasks") as i64 {
            512 => 900.0,
            256 | 1024 => 800.0,
            _ => 500.0,
        },
        "grouped" => {
            if number(levels, "groups") < 64.0 {
                1000.0
            } else {
                400.0
            }
        }
        "gain" if is(levels, "kernel", "plain") => 900.0,
        "gain" => {
            if number(levels, "groups") as i64 == 16 {
                1170.0
            } else {
                950.0
            }
        }
        _ => 100.0,
    };
    let findings = found(GROUPS, &jobs);
    expect(&findings, &[("peak", Reproduced), ("best-gain", DirectionOnly), ("cliff", Reproduced)]);
    assert!(findings.headline.text.contains("more jobs per minute"), "{}", findings.headline.text);
    // The peak elsewhere, a loss, no cliff.
    let flat = |experiment: &str, levels: &Levels, _: &str| match experiment {
        "load" => number(levels, "tasks"),
        "gain" if is(levels, "kernel", "grouped") => 850.0,
        _ => 900.0,
    };
    expect(
        &found(GROUPS, &flat),
        &[("peak", NotReproduced), ("best-gain", NotReproduced), ("cliff", NotReproduced)],
    );
}

#[test]
fn infiniband() {
    let faster = |experiment: &str, levels: &Levels, metric: &str| {
        let infiniband = is(levels, "network", "infiniband-4x-sdr");
        match (experiment, metric) {
            ("mpi", _) => {
                if infiniband {
                    1.0
                } else {
                    2.0
                }
            }
            ("hpl", _) => {
                if infiniband {
                    104.0
                } else {
                    100.0
                }
            }
            ("npb", "time_communicating") => kernel(levels),
            ("npb", _) if is(levels, "kernel", "EP") => 10.0,
            ("npb", _) => 10.0 + if infiniband { kernel(levels) } else { 2.0 * kernel(levels) },
            _ => match levels["network"].to_string().as_str() {
                "myrinet-2000" => 1.0,
                "infiniband-4x-sdr" => 1.3,
                _ => 9.0,
            },
        }
    };
    expect(
        &found(INFINIBAND, &faster),
        &[
            ("mpi", Reproduced),
            ("hpl", Reproduced),
            ("little-communication", Reproduced),
            ("some-slower", NotComparable),
            ("ratio-decides", Reproduced),
            ("files", Reproduced),
        ],
    );
}

/// How much a kernel communicates here.
fn kernel(levels: &Levels) -> f64 {
    let all = ["EP", "IS", "CG", "MG", "FT", "LU", "SP", "BT"];
    all.iter().position(|k| is(levels, "kernel", k)).expect("a kernel") as f64 + 1.0
}

#[test]
fn volunteer() {
    let hurts = |experiment: &str, levels: &Levels, metric: &str| {
        let external = levels.get("external").and_then(|l| l.number()).unwrap_or(0.0);
        match (experiment, metric) {
            (_, "major_faults") => 1.0 + external,
            (_, "run_time") if is(levels, "protect", "guard") => 1.0,
            // In one thread it feels 4 %, in four 21 %.
            (_, "run_time") => 1.0 + 0.053 * number(levels, "own") * (external > 1.0) as i64 as f64,
            ("database", _) => 1000.0 / (1.0 + 0.003 * external),
            _ => 1.0,
        }
    };
    let findings = found(VOLUNTEER, &hurts);
    expect(
        &findings,
        &[
            ("donation-hurts", Reproduced),
            ("threads-hurt", Reproduced),
            ("database", Reproduced),
            ("more-is-worse", Inconclusive),
            ("faults", Reproduced),
            ("guarded", Reproduced),
        ],
    );
    assert!(findings.comparisons.iter().any(|c| c.verdict == ComparisonVerdict::Better));
}

#[test]
fn what_is_not_run_or_not_enough_is_said() {
    let options = PlanOptions { quick: true, ..PlanOptions::default() };
    let planned = with_options(VOLUNTEER, &options);
    let findings = planned.findings(&planned.run(12, 0.4, 2, &|_, _, _| 1.0));
    expect(
        &findings,
        &[
            ("donation-hurts", Inconclusive),
            ("threads-hurt", NotRun),
            ("database", NotRun),
            ("more-is-worse", NotRun),
            ("faults", NotRun),
            ("guarded", NotRun),
        ],
    );
}

#[test]
fn a_later_experiment_takes_the_level_at_the_peak() {
    let planned = planned_study(GROUPS);
    let from = planned.study.experiment["grouped"].factors["tasks"].spec().and_then(|d| d.from.clone());
    let from = from.expect("waits for the load");
    let peaks = |blocks: usize| {
        let run = planned.run(blocks, 0.01, 3, &|_, levels, _| match levels.get("tasks") {
            Some(tasks) if tasks.number() == Some(256.0) => 900.0,
            _ => 500.0,
        });
        peak_level(&planned.study, &planned.plan, &run, &from)
    };
    assert_eq!(peaks(15), Some(Value::Int(256)));
    assert_eq!(peaks(0), None);
}
