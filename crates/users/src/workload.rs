//! The workload's declaration.

use crosstalk_cgroup::exec::groups;
use crosstalk_cgroup::group::Hierarchy;
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Timing};
use crosstalk_observe::waits;
use crosstalk_work::peer::Deadline;
use crosstalk_work::{Declared, prepare_alone};

use crate::docker;
use crate::isolation::{Memory, View};
use crate::metrics::metrics;
use crate::population::{Load, Population};
use crate::run::run;
use crate::scene::{disk_need, protection_need};
use crate::spec::{PARAMETERS, Spec};

/// Seconds of computing of a mix's mean job on the reference machine, at a `work` of 1.
const JOB: f64 = 0.1;
/// Seconds of waiting of a slow reader's job.
const READING: f64 = 0.1;

/// The workload `users`: many users on one machine, each with a hundred jobs.
pub const USERS: Declared<Spec> = Declared {
    name: "users",
    title: "Many users on one machine, alone or in groups of their own, as in AIM7",
    parameters: PARAMETERS,
    read: Spec::read,
    deploy: |spec| Deployment { nodes: 1, timing: Timing::Real, metrics: metrics(), effort: effort(spec) },
    needs,
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        let (scratch, seed, deadline) = (part.scratch.clone(), part.seed, part.deadline);
        Ok(prepare_alone(move |out, cancelled| {
            run(&spec, &scratch, seed, out, &Deadline::new(deadline, cancelled))
        }))
    },
};

fn needs(spec: &Spec) -> Vec<Need> {
    let mut needs = vec![groups(&Hierarchy::here())];
    if spec.isolation.memory == Memory::Protected {
        needs.push(protection_need());
    }
    if spec.isolation.view == View::Docker {
        needs.push(docker::need());
    }
    if spec.waits {
        needs.push(waits::need());
    }
    if spec.population.machine.read_rate.is_some() {
        needs.push(disk_need());
    }
    needs
}

fn effort(spec: &Spec) -> Effort {
    let Population { load, jobs, work, .. } = &spec.population;
    match load {
        Load::Mix(_, users) => Effort::computing(JOB * work * (jobs * users) as f64 / 2.0),
        Load::Each(_) => Effort::waiting(READING * work * *jobs as f64 * 2.0),
    }
}
