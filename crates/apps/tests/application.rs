//! What every application on a master and slaves gets: a sum over ranks.

use std::sync::atomic::AtomicBool;

use crate::cluster::{emulation, play};
use crate::scene::{self, value};
use crosstalk_apps::pagerank::PAGERANK;
use crosstalk_apps::{MasterAnswer, Role};
use crosstalk_comm::{Rank, TimeAccount};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_work::Declared;

/// Slave `p` has the number `p + 1`, and the master expects a certain sum.
#[derive(PartialEq)]
struct Sum {
    slaves: u64,
    expected: u64,
}

const SUM: Declared<Sum> = Declared {
    name: "sum",
    title: "the sum of the slaves' numbers",
    parameters: Parameters(&[&[Parameter::new("slaves", "", ""), Parameter::new("expected", "", "")]]),
    read: |params| {
        let slaves = params.count("slaves", 3, 1)?;
        Ok(Sum { slaves, expected: params.count("expected", slaves * (slaves + 1) / 2, 1)? })
    },
    deploy: |config| {
        crosstalk_apps::deployment(config.slaves as usize, vec![Metric::new("sum", "", Better::Neither)], 0.1)
    },
    needs: |_| Vec::new(),
    prepare: |config, part| {
        let role = match crosstalk_apps::slave_number(part, config.slaves as usize)? {
            None => Role::Master(Box::new(move |rank| master(&config, rank))),
            Some(slave) => Role::Slave(Box::new(move |rank| report_number(slave, rank))),
        };
        crosstalk_apps::prepare(part, role)
    },
};

fn master(config: &Sum, rank: &mut Rank) -> Result<MasterAnswer, Fault> {
    let loading = rank.now()?;
    rank.restart_clock()?;
    let numbers = rank.world().gatherv(0, &[])?.unwrap_or_default();
    let sum: u64 = numbers.iter().flatten().map(|number| u64::from(*number)).sum();
    let verdict = if sum == config.expected {
        Ok(())
    } else {
        Err(Fault::attempt(format!("wrong answer: {sum}, not {}", config.expected)))
    };
    let own = vec![Reading::value("sum", sum as f64, Origin::Computed)];
    Ok(MasterAnswer { loading, account: rank.account()?, exchanged: 0, checksum: sum << 12, own, verdict })
}

fn report_number(slave: usize, rank: &mut Rank) -> Result<TimeAccount, Fault> {
    rank.restart_clock()?;
    rank.world().gatherv(0, &[slave as u8 + 1])?;
    rank.account()
}

#[test]
fn every_declared_metric_is_reported_and_no_other() {
    let deployment = SUM.deploy(&Params::default()).expect("deploys");
    assert_eq!((deployment.nodes, deployment.metrics[0].name.as_str()), (4, "completion_time"));
    for (emulation, origin) in [(Some(emulation(4)), Origin::Emulated), (None, Origin::Measured)] {
        let readings = play(&SUM, &Params::default(), 4, emulation).expect("runs");
        for metric in &deployment.metrics {
            assert!(readings.iter().any(|r| r.metric == metric.name), "{} is not told", metric.name);
        }
        assert!(readings.iter().all(|r| deployment.metrics.iter().any(|m| m.name == r.metric)));
        assert_eq!((value(&readings, "sum"), value(&readings, "answer_checksum")), (6.0, 6.0));
        let completion = readings.iter().find(|r| r.metric == "completion_time").expect("is told");
        assert_eq!(completion.origin, origin);
        for node in ["0", "1", "2", "3"] {
            let waits = readings.iter().filter(|r| r.metric == "time_wait" && r.labels["node"] == node);
            assert_eq!(waits.count(), 1, "node {node}");
        }
    }
}

#[test]
fn a_wrong_answer_is_the_masters_fault_and_no_slave_is_left_alone() {
    let params = Params::default().with("expected", 7);
    let mut outcomes = scene::play(&SUM, &params, 4, 20.0, &AtomicBool::new(false));
    let fault = outcomes.remove(0).expect_err("the answer is wrong");
    assert_eq!(fault.message, "wrong answer: 6, not 7");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

#[test]
fn a_part_that_does_not_fit_is_refused_before_anything_runs() {
    let refused = |node, nodes| {
        let prepared = SUM.prepare(&scene::part("sum", &Params::default(), node, nodes, 1.0));
        prepared.map(|_| ()).expect_err("refused").message
    };
    assert_eq!(refused(0, 3), "expected one master and 3 slaves, found node 0 of 3");
    assert_eq!(refused(4, 4), "expected one master and 3 slaves, found node 4 of 4");
}

/// The readings of all nodes, and those on `clusters` by the schedule that was kept, if the attempt was faithful.
fn kept(params: &Params, clusters: &[Emulation]) -> (Vec<Reading>, Option<Vec<Vec<Reading>>>) {
    let folder = tempfile::tempdir().expect("a directory");
    let nodes = PAGERANK.deploy(params).expect("deploys").nodes;
    let part = |node| Part {
        emulation: Some(emulation(nodes)),
        shared: Some(folder.path().into()),
        keep_schedule: true,
        ..scene::part("pagerank", params, node, nodes, 60.0)
    };
    let readings = scene::play_parts(&PAGERANK, (0..nodes).map(part), &AtomicBool::new(false));
    let readings = readings.into_iter().flat_map(|readings| readings.expect("runs")).collect();
    (readings, PAGERANK.on_clusters(&part(0), clusters).expect("replays"))
}

#[test]
fn on_other_clusters_work_reports_what_its_schedule_takes_there() {
    let params = Params::default().with("slaves", 2).with("scale", 16);
    let same = emulation(3);
    let mut faster = same.clone();
    faster.node.speed = 2.0;
    let clusters = [same, faster];
    // On a busy machine it may have to be done again before it is faithful.
    let tries = (0..20).map(|_| kept(&params, &clusters));
    let found = tries.into_iter().find_map(|(readings, on)| Some((readings, on?)));
    let Some((readings, on)) = found else {
        eprintln!("skipped: this machine has disturbed every attempt");
        return;
    };
    for metric in ["completion_time", "time_compute", "time_wait"] {
        let times = |readings: &[Reading]| -> Vec<f64> {
            readings.iter().filter(|one| one.metric == metric).filter_map(Reading::number).collect()
        };
        let apart = times(&readings).into_iter().zip(times(&on[0])).map(|(one, other)| (one - other).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-9, "{metric}: to a nanosecond");
        assert_eq!(times(&readings).len(), times(&on[0]).len());
    }
    let compute = |readings: &[Reading]| -> f64 {
        readings.iter().filter(|one| one.metric == "time_compute").filter_map(Reading::number).sum()
    };
    assert!((compute(&on[0]) / compute(&on[1]) - 2.0).abs() < 1e-6, "half as long on a node twice as fast");
    assert!(on.iter().flatten().all(|reading| reading.origin == Origin::Simulated));
}
