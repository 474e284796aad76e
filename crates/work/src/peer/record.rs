//! A run's schedule as an artifact.

use crosstalk_comm::Listener;
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::Parameter;
use crosstalk_core::value::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The parameter of workloads whose schedule can be recorded.
pub const RECORD: Parameter = Parameter::new(
    "record",
    "false",
    "keep what the ranks do as an artifact of the run, in virtual time, for `crosstalk replay`",
);

/// Records the run's schedule where the workload's parameters ask for it: that of the first faithful attempt of a cell, and
/// before one, that of the last other attempt.
///
/// # Errors
/// If the parameter is neither `true` nor `false`, or in real time.
pub fn recorded(part: &Part, listener: Listener) -> Result<Listener, Fault> {
    if !part.params.flag(RECORD.name, false)? || part.node > 0 {
        return Ok(listener);
    }
    let Some(emulation) = &part.emulation else {
        return Err(Fault::usage("a schedule is recorded in virtual time, and this is a real network")
            .of_parameter(RECORD.name)
            .remedy("leave `record` out, or replace `fabric` by a system"));
    };
    let Some(folder) = &part.artifacts else { return Ok(listener) };
    let title = title(part, emulation);
    let file = folder.join(file_name(part, emulation));
    if file.exists() {
        return Ok(listener);
    }
    let made = fs::create_dir_all(folder);
    made.map_err(|e| Fault::environment(format!("cannot make {}: {e}", folder.display())))?;
    Ok(listener.recording_to(title, file))
}

/// What was run, with its parameters and its cluster.
pub(super) fn title(part: &Part, emulation: &Emulation) -> String {
    let library = emulation.mpi.as_ref().map_or(String::new(), |mpi| format!(" with {}", mpi.name));
    let params = part.params.0.iter().filter(|(name, _)| name.as_str() != RECORD.name);
    let params: Vec<String> = params.map(|(name, value)| format!("{name} {value}")).collect();
    let (nodes, each) = (part.nodes, emulation.ranks_per_node);
    format!("{} {}, {nodes} × {each} ranks on {}{library}", part.workload, params.join(" "), emulation.system)
}

/// The name of a cell's file. Cells that differ in anything, also in the parameters of their cluster, have different ones.
fn file_name(part: &Part, emulation: &Emulation) -> String {
    let cell = hashed(&format!("{:?} {:?} {emulation:?}", part.params, part.nodes));
    let words = part.params.0.values().filter_map(|value| match value {
        Value::Text(text) => Some(text.replace(|c: char| !c.is_ascii_alphanumeric(), "")),
        _ => None,
    });
    let what: Vec<String> = std::iter::once(part.workload.clone()).chain(words).collect();
    let what: String = what.join("-").chars().take(80).collect();
    format!("{what}-on-{}-{cell:016x}.schedule", emulation.system)
}

/// A number for each text; equal within a run.
pub(super) fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
