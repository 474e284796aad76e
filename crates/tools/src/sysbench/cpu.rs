//! `sysbench cpu` as a workload.

use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Better, Metric, Origin, Reading};
use crosstalk_core::scene::{Deployment, Prepared, Sink, Timing};
use crosstalk_core::units::Seconds;

use super::output::CpuOutput;
use super::run::sysbench;
use crate::external::program_needs;
use crate::primes;
use crosstalk_work::peer::Deadline;
use crosstalk_work::{Declared, prepare_alone};

/// The workload `sysbench`: the program's test `cpu`.
pub const SYSBENCH: Declared<primes::Spec> = Declared {
    name: "sysbench",
    title: "Foreground work: sysbench's CPU test",
    parameters: primes::PARAMETERS,
    read: primes::Spec::read,
    deploy: |test| Deployment {
        nodes: 1,
        timing: Timing::Real,
        metrics: vec![
            Metric::new("run_time", "s", Better::Lower),
            Metric::new("event_rate", "/s", Better::Higher),
        ],
        effort: test.effort(),
    },
    needs: |_| program_needs(&["sysbench"]),
    prepare: |test, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        let deadline = part.deadline;
        Ok(prepare_alone(move |out, cancelled| run(test, deadline, out, cancelled)))
    },
};

fn run(
    test: primes::Spec,
    deadline: Seconds,
    out: &mut dyn Sink,
    cancelled: &AtomicBool,
) -> Result<(), Fault> {
    let until = Deadline::new(deadline, cancelled);
    let primes::Spec { threads, limit, events } = test;
    let arguments = [
        "cpu".to_string(),
        format!("--threads={threads}"),
        format!("--cpu-max-prime={limit}"),
        format!("--events={events}"),
        // No time limit: until all events are done.
        "--time=0".to_string(),
        "run".to_string(),
    ];
    let output = CpuOutput::parse(&until.interruption_or(sysbench(&arguments, &until))?)?;
    out.take(Reading::value("run_time", output.seconds, Origin::Measured), 1)?;
    let rate = output.events as f64 / output.seconds;
    out.take(Reading::value("event_rate", rate, Origin::Measured), output.events)
}
