//! The bundled study of latency: the verdicts of its claims follow from known data, by cells and by labels of readings.

use crate::mock;
use crate::synthetic::{PlannedStudy, claim, is, planned_study};
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::value::Levels;
use crosstalk_study::findings::{ClaimVerdict, FigureKind, Findings, TableCell};
use crosstalk_study::samples::{Attempt, Run};
use crosstalk_study::{bundled_study, decide};

use ClaimVerdict::{Calibration, NotComparable, NotReproduced, Reproduced};

/// The stages of a message, the same in both directions.
const STAGES: [(&str, f64); 4] = [
    ("send: call and protocol", 1.5e-6),
    ("wake-up", 4e-6),
    ("receive: call and copy", 1.2e-6),
    ("socket queue", 0.0),
];

fn truth(experiment: &str, levels: &Levels, metric: &str) -> f64 {
    let bytes = |text: &str| text.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(1.0);
    match (experiment, metric) {
        ("survey", "end_to_end_most") => 1100e-9,
        ("survey" | "datacentre", _) => match levels["interconnect"].to_string().as_str() {
            "qpi" => 30e-9,
            "pcie-3.0-x16" => 170e-9,
            "infiniband-fdr-x4" => 690e-9,
            "pcie-fabric" => 720e-9,
            "ethernet-10g" => 780e-9,
            "tia-942-infiniband" => 2e-6,
            _ => 3e-6,
        },
        ("published-stages", "unexplained") => 0.6228,
        ("memory", _) => {
            let size = levels["size"].to_string();
            let unit = if size.ends_with("MiB") { 1024.0 } else { 1.0 };
            1e-9 * (bytes(&size) * unit / 4.0).powf(0.5)
        }
        ("transports", _) => {
            let asleep = if is(levels, "mode", "blocking") { 7.0 } else { 1.0 };
            let between = if is(levels, "transport", "shared") { 1e-6 } else { 4e-6 };
            between * asleep * (bytes(&levels["size"].to_string()) / 64.0).powf(0.1)
        }
        ("bypass" | "bypass-sizes", "one_way") => {
            let carried = match levels["transport"].to_string().as_str() {
                "dpdk-af-xdp" => 1.8e-6,
                "dpdk-memif" | "shared" => 2e-7,
                _ => 3.5e-6,
            };
            let woken = is(levels, "mode", "blocking") && is(levels, "ends", "two-processes");
            let size = levels.get("size").map_or(64.0, |size| bytes(&size.to_string()));
            (if woken { 21.5e-6 } else { 0.0 }) + carried * (size / 64.0).powf(0.1)
        }
        (_, "unexplained") => 0.01,
        (_, "matched") => 0.99,
        (_, "system_call") => 2e-7,
        (_, "hand_over") => 60e-9,
        _ => 5e-6,
    }
}

/// The readings of an attempt that have labels.
fn labelled_readings(attempt: &Attempt) -> Vec<Reading> {
    let value = |metric, value| Reading::value(metric, value, Origin::Measured);
    let polls = is(&attempt.cell.levels, "mode", "polling");
    match attempt.cell.experiment.as_str() {
        "stages" => {
            let times = ["there", "back"].into_iter().flat_map(|way| {
                STAGES.map(|(stage, time)| {
                    let time = if polls && stage == "wake-up" { 0.0 } else { time };
                    value("stage_time", time).label("stage", stage).label("way", way).label("band", "p50")
                })
            });
            let whole = [value("unexplained", 0.01).label("band", "all"), value("matched", 0.99)];
            times.chain(whole).collect()
        }
        "load" => [1000, 5000, 20_000, 80_000]
            .map(|rate| {
                let slept = if polls { 0.0 } else { 30e-6 * 1000.0 / f64::from(rate) };
                value("latency", 1e-6 * f64::from(rate).powf(0.3) + slept).label("offered", rate)
            })
            .to_vec(),
        "bypass-stages" => ["send: call", "on the way", "receive: call"]
            .map(|stage| {
                let time = value("stage_time", 1e-6).label("stage", stage);
                time.label("way", "there").label("band", "p50")
            })
            .to_vec(),
        // Stages are reported only with the parameter for it.
        "aa" => vec![value("stage_time", 1e-6).label("band", "none")],
        "cores" => [(0, 1), (0, 2), (1, 2)]
            .map(|(from, to)| value("hand_over", 60e-9).label("from", from).label("to", to))
            .to_vec(),
        _ => Vec::new(),
    }
}

fn run(planned: &PlannedStudy) -> Run {
    let mut run = planned.run(*planned.plan.looks.last().expect("is planned"), 0.01, 21, &truth);
    for attempt in &mut run.attempts {
        // What is added up from components has no noise.
        if attempt.readings.iter().any(|reading| reading.metric == "end_to_end") {
            for reading in &mut attempt.readings {
                let exact = truth(&attempt.cell.experiment, &attempt.cell.levels, &reading.metric);
                *reading = Reading::value(&reading.metric, exact, Origin::Computed);
            }
        }
        let labelled = labelled_readings(attempt);
        attempt.readings.retain(|whole| labelled.iter().all(|part| part.metric != whole.metric));
        attempt.readings.extend(labelled);
    }
    run
}

fn found() -> (PlannedStudy, Findings) {
    let planned = planned_study(bundled_study("latency").expect("is bundled"));
    let findings = planned.findings(&run(&planned));
    for claim in &findings.claims {
        eprintln!("{}: {:?}: {}", claim.name, claim.verdict, claim.why);
    }
    (planned, findings)
}

#[test]
fn claims_are_decided_by_cells_and_by_labels() {
    let (_, findings) = found();
    for (name, verdict) in [
        ("survey-order", Reproduced),
        ("qpi", Calibration),
        ("pcie-fabric-example", Reproduced),
        ("pcie-fabric-upper", NotReproduced),
        ("infiniband-parts", Reproduced),
        ("ethernet-parts", NotReproduced),
        ("published-stages", Reproduced),
        ("device-read", NotComparable),
        ("kernel-64", NotComparable),
        ("memory-is-far", Reproduced),
        ("memory-grows", Reproduced),
        ("polling-removes-most", Reproduced),
        ("polling-as-bypass", Reproduced),
        ("size-costs", Reproduced),
        ("bypass", NotComparable),
        ("bypass-beyond-polling", Reproduced),
        ("polling-before-bypass", Reproduced),
        ("memory-beats-wires", Reproduced),
        ("dpdk-size-costs", Reproduced),
        ("dpdk-64", NotComparable),
        ("less-between", Reproduced),
        ("load-keeps-awake", Reproduced),
        ("stages-explain-udp", Reproduced),
        ("stages-matched", Reproduced),
        ("waking-is-most", Reproduced),
        ("polling-wakes-nobody", Reproduced),
    ] {
        let found = claim(&findings, name);
        assert_eq!(found.verdict, verdict, "{name}: {}", found.why);
    }
    assert!(findings.headline.text.starts_with("polling: 7."), "{}", findings.headline.text);
    assert!(claim(&findings, "waking-is-most").why.contains("greatest at stage wake-up"));
}

#[test]
fn as_many_questions_are_planned_as_are_decided() {
    let planned = planned_study(bundled_study("latency").expect("is bundled"));
    let mut run = run(&planned);
    run.attempts.retain(|attempt| attempt.block == 0);
    let end = decide(&planned.study, &mock::catalogues(), &planned.plan, &run, 0);
    // Some are about labels, whose levels are known from readings only.
    let questions = format!(" of {} questions ", planned.plan.questions);
    assert!(planned.plan.questions > 18 && end.why.contains(&questions), "{questions}: {end:?}");
}

#[test]
fn every_figure_and_table_of_the_study_shows_something() {
    let (planned, findings) = found();
    let figure = |name: &str| findings.figures.iter().find(|f| f.name == name).expect("is drawn");
    let missing: Vec<&String> = planned
        .study
        .figure
        .keys()
        .filter(|name| findings.figures.iter().all(|f| f.name != **name))
        .collect();
    // The mocks report neither devices, nor parts, nor memory nodes.
    assert_eq!(missing, ["devices", "memory", "waterfall-published"]);

    let waterfall = figure("waterfall-udp");
    assert_eq!((waterfall.kind, waterfall.y.unit.as_str()), (FigureKind::Waterfall, "s"));
    let labels: Vec<&str> = waterfall.series[0].points.iter().map(|p| p.label.as_str()).collect();
    let stages = STAGES.map(|(stage, _)| stage);
    assert_eq!(labels, [&stages[..], &["in all"]].concat(), "in the order of their first appearance");
    let all = waterfall.series[1].points.last().expect("all of it").y.value;
    assert!((all - 2.7e-6).abs() < 1e-12, "polling, without waking up: {all}");

    let load = figure("load");
    let names: Vec<&str> = load.series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["udp p50", "udp p99", "tcp p50", "tcp p99"]);
    let offered: Vec<Option<f64>> = load.series[0].points.iter().map(|p| p.x).collect();
    assert_eq!(offered, [1000.0, 5000.0, 20_000.0, 80_000.0].map(Some));

    let cores = figure("cores");
    assert_eq!((cores.kind, cores.by.as_str(), cores.x.label.as_str()), (FigureKind::Heat, "to", "from"));
    assert_eq!(cores.series.iter().map(|s| s.points.len()).collect::<Vec<_>>(), [1, 2]);

    let table = &findings.tables[0];
    assert_eq!((table.name.as_str(), table.rows.len()), ("technologies", 5));
    assert_eq!(table.rows[0][2], TableCell::Text("~4 nodes".into()));
    assert!(
        matches!(&table.rows[0][4], TableCell::Number { origin: Origin::Published, unit, .. } if unit == "s")
    );
    assert_eq!(findings.tables[1].rows.len(), 1, "the kernel's is one row");
}

#[test]
fn a_computed_number_counts_once_and_has_no_interval() {
    let (_, findings) = found();
    for name in ["infiniband-parts", "pcie-fabric-example", "ethernet-parts"] {
        let claim = claim(&findings, name);
        let found = claim.found.expect("is computed");
        assert_eq!((found.interval, found.n), (None, 1), "{claim:?}");
    }
}
