//! The workload's attempt: users are dealt to groups, which are apart as its parameters say.

use std::path::Path;

use crosstalk_cgroup::group::Setting;
use crosstalk_core::Fault;
use crosstalk_core::scene::Sink;
use crosstalk_core::units::Bytes;
use crosstalk_work::peer::Deadline;

use crate::arrangement::{Arrangement, UserGroup};
use crate::attempt::{Conduct, Failure, attempt};
use crate::deal::deal;
use crate::isolation::{Isolation, Memory};
use crate::spec::Spec;

/// Runs an attempt with temporary files in `scratch`.
///
/// # Errors
/// If the groups cannot be made, a user fails or is killed, or at the deadline.
pub fn run(
    spec: &Spec,
    scratch: &Path,
    seed: u64,
    out: &mut dyn Sink,
    until: &Deadline,
) -> Result<(), Fault> {
    let conduct = Conduct { until, most: None, waits: spec.waits };
    let outcome = attempt(&spec.population, &arrangement(spec), scratch, seed, &conduct);
    outcome.map_err(Failure::fault)?.report(out)
}

/// Who is with whom, and what each group may have.
fn arrangement(spec: &Spec) -> Arrangement {
    let users = spec.population.users();
    let dealt = deal(users, spec.groups, spec.population.streamers(), spec.streamers_apart);
    let group = |(at, members): (usize, Vec<usize>)| UserGroup {
        name: format!("group-{at}"),
        settings: memory_setting(spec, members.len() as f64 / users as f64).into_iter().collect(),
        users: members,
    };
    Arrangement {
        groups: dealt.into_iter().enumerate().map(group).collect(),
        controllers: controllers(spec.isolation),
        folders: spec.isolation.folders,
        view: spec.isolation.view,
    }
}

/// What a group with this share of the users may have of the machine's memory.
fn memory_setting(spec: &Spec, share: f64) -> Option<Setting> {
    let bytes = Bytes((spec.population.machine.memory?.0 as f64 * share) as u64);
    match spec.isolation.memory {
        Memory::Shared | Memory::Own => None,
        Memory::Limited => Some(Setting::MemoryMax(Some(bytes))),
        Memory::Protected => Some(Setting::MemoryLow(Some(bytes))),
    }
}

/// The controllers in which groups of users are apart.
fn controllers(isolation: &Isolation) -> Vec<&'static str> {
    let memory = (isolation.memory != Memory::Shared).then_some("memory");
    let cpu = isolation.cpu.then_some("cpu");
    memory.into_iter().chain(cpu).collect()
}
