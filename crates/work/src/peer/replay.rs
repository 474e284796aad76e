//! Work that is done once in a run, and replayed wherever only the cluster differs.
//!
//! The first faithful attempt is recorded in the folder that all nodes see. Its ranks' computing counts on every cluster
//! that the run compares, as raw time of the host; what their messages cost is computed again on each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crosstalk_comm::{TimeAccount, replay_file};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::Parameter;
use crosstalk_core::record::Origin;
use crosstalk_core::scene::Sink;

use super::record::{RECORD, hashed};

/// The parameter of workloads that can be replayed.
pub const REPLAY: Parameter = Parameter::new(
    "replay",
    "false",
    "do the work once in the run, in virtual time, and replay it in all other attempts and on all other systems",
);

/// Reports a replay: each rank's clock wherever its program asked for it, and at its end.
pub type Report = Box<dyn Fn(&[Vec<TimeAccount>], &mut dyn Sink) -> Result<(), Fault> + Send>;

/// How a part's times are obtained: emulated by virtual clocks, or measured in real time.
pub fn origin(part: &Part) -> Origin {
    if part.emulation.is_some() { Origin::Emulated } else { Origin::Measured }
}

/// Where the part's schedule is kept; `None` where it is to be done each time.
///
/// # Errors
/// If the parameter is neither `true` nor `false`, or in real time.
pub(super) fn file(part: &Part) -> Result<Option<PathBuf>, Fault> {
    if !part.params.flag(REPLAY.name, false)? {
        return Ok(None);
    }
    let Some(emulation) = &part.emulation else {
        return Err(Fault::usage("work is replayed in virtual time, and this is a real network")
            .of_parameter(REPLAY.name)
            .remedy("leave `replay` out, or replace `fabric` by a system"));
    };
    let Some(shared) = &part.shared else { return Ok(None) };
    let folder = shared.join("schedules");
    let made = fs::create_dir_all(&folder);
    made.map_err(|e| Fault::environment(format!("cannot make {}: {e}", folder.display())))?;
    Ok(Some(folder.join(file_name(part, emulation))))
}

/// The name of the schedule of this work. Equal on all systems whose nodes have as much memory, and with all libraries:
/// those do not change what is done.
fn file_name(part: &Part, emulation: &Emulation) -> String {
    let about: BTreeMap<_, _> = part
        .params
        .0
        .iter()
        .filter(|(name, _)| ![RECORD.name, REPLAY.name].contains(&name.as_str()))
        .collect();
    let ranks = part.nodes * emulation.ranks_per_node.max(1) as usize;
    let what = format!("{about:?} {ranks} {:?} {}", emulation.node.memory, part.seed);
    format!("{}-{:016x}.schedule", part.workload, hashed(&what))
}

/// Replays the schedule in a file, and reports it.
pub(super) fn replay(
    file: &Path,
    emulation: &Emulation,
    report: &Report,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    report(&replay_file(file, emulation)?, out)
}
