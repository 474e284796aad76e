//! A run's schedule as a file.

use std::fs;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_model::schedule::Schedule;

use crate::clock::TimeAccount;
use crate::clock_server::Recorded;

/// Writes a schedule to its file, as a whole or not at all.
pub(crate) fn keep(mut file: PathBuf, recorded: &Recorded) -> Result<(), Fault> {
    if !recorded.faithful {
        file.set_extension("unfaithful.schedule");
    }
    let part = file.with_extension("part");
    let written = fs::write(&part, recorded.schedule.to_bytes()).and_then(|()| fs::rename(&part, &file));
    written.map_err(|e| {
        Fault::environment(format!("cannot write the schedule to {}: {e}", file.display()))
            .remedy("make room there, or choose another folder by --out")
    })
}

/// Replays a file that was recorded ([`crate::Listener::recording_to`]) on another cluster. Returns each rank's account
/// wherever its program asked for it or marked a point, and at the end.
///
/// # Errors
/// If the file cannot be read or is no schedule, and those of [`Schedule::replay`].
pub fn replay_file(file: &Path, emulation: &Emulation) -> Result<Vec<Vec<TimeAccount>>, Fault> {
    let bytes = fs::read(file);
    let bytes = bytes.map_err(|e| {
        Fault::environment(format!("cannot read {}: {e}", file.display()))
            .remedy("run the study anew, which records it again")
    })?;
    let ranks = Schedule::from_bytes(&bytes)?.replay_with_accounts(emulation)?;
    Ok(ranks.into_iter().map(|accounts| accounts.into_iter().map(TimeAccount::from).collect()).collect())
}
