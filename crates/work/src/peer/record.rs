//! A run's schedule as an artifact.

use crosstalk_comm::Listener;
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::Parameter;
use std::fs;

/// The parameter of workloads whose schedule can be recorded.
pub const RECORD: Parameter = Parameter::new(
    "record",
    "false",
    "keep what the ranks do as an artifact of the run, in virtual time: `crosstalk replay` plays it again",
);

/// Records the run's schedule once for each cell, in virtual time, where the workload's parameters ask for it.
///
/// # Errors
/// If the parameter is neither `true` nor `false`.
pub fn recorded(part: &Part, listener: Listener) -> Result<Listener, Fault> {
    let asked = part.params.flag(RECORD.name, false)?;
    let (Some(emulation), Some(folder), (0, true)) = (&part.emulation, &part.artifacts, (part.node, asked))
    else {
        return Ok(listener);
    };
    let title = title(part, emulation);
    let file = folder.join(format!("{}.schedule", file_name(&title)));
    if file.exists() {
        return Ok(listener);
    }
    let made = fs::create_dir_all(folder);
    made.map_err(|e| Fault::environment(format!("cannot make {}: {e}", folder.display())))?;
    Ok(listener.recording_to(title, file))
}

/// What was run, with its parameters and its cluster.
fn title(part: &Part, emulation: &Emulation) -> String {
    let library = emulation.mpi.as_ref().map_or(String::new(), |mpi| format!(" with {}", mpi.name));
    let params = part.params.0.iter().filter(|(name, _)| name.as_str() != RECORD.name);
    let params: Vec<String> = params.map(|(name, value)| format!("{name} {value}")).collect();
    let (nodes, each) = (part.nodes, emulation.ranks_per_node);
    format!("{} {}, {nodes} × {each} ranks on {}{library}", part.workload, params.join(" "), emulation.system)
}

/// A title as the name of a file.
fn file_name(title: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' };
    title
        .chars()
        .map(word)
        .collect::<String>()
        .split('_')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("_")
}
