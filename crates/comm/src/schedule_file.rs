//! A run's schedule as a file.

use std::fs;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::UNFAITHFUL_SCHEDULE;
use crosstalk_model::schedule::Schedule;

use crate::clock::TimeAccount;
use crate::clock_server::Recorded;

/// Writes a schedule to its file, as a whole or not at all.
pub(crate) fn keep(mut file: PathBuf, recorded: &Recorded) -> Result<(), Fault> {
    if !recorded.faithful {
        file.set_extension(UNFAITHFUL_SCHEDULE);
    }
    let part = file.with_extension("part");
    let written = fs::write(&part, recorded.schedule.to_bytes()).and_then(|()| fs::rename(&part, &file));
    written.map_err(|e| {
        Fault::environment(format!("cannot write the schedule to {}: {e}", file.display()))
            .remedy("make room there, or choose another folder by --out")
    })
}

/// A schedule that was read from its file.
pub struct Recording(Schedule);

impl Recording {
    /// Reads a file that was recorded ([`crate::Listener::recording_to`]).
    ///
    /// # Errors
    /// If it cannot be read, or is no schedule.
    pub fn read(file: &Path) -> Result<Self, Fault> {
        let bytes = fs::read(file);
        let bytes = bytes.map_err(|e| {
            Fault::environment(format!("cannot read {}: {e}", file.display()))
                .remedy("run the study anew, which records it again")
        })?;
        Schedule::from_bytes(&bytes).map(Recording)
    }

    /// Replays it on another cluster. Returns each rank's account wherever its program asked for it or marked a point, and
    /// at the end.
    ///
    /// # Errors
    /// Those of [`Schedule::replay`].
    pub fn replay(&self, emulation: &Emulation) -> Result<Vec<Vec<TimeAccount>>, Fault> {
        let ranks = self.0.replay_with_accounts(emulation)?;
        Ok(ranks.into_iter().map(|accounts| accounts.into_iter().map(TimeAccount::from).collect()).collect())
    }
}
