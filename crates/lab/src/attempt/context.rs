//! The inputs of an attempt, and what ends it early.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::record::Reading;
use crosstalk_core::registry::Registry;

/// The inputs of an attempt besides its scene.
pub struct AttemptContext<'a> {
    pub registry: &'a Registry,
    /// The cluster to emulate; `None` in real time.
    pub emulation: Option<Emulation>,
    /// The folder that artifacts are stored in; `None`: they are dropped.
    pub artifacts: Option<PathBuf>,
    /// Whether its schedule is kept, to be replayed on other clusters.
    pub keep_schedule: bool,
    /// The seed of generated inputs.
    pub seed: u64,
    /// The longest time that its work may take.
    pub deadline: Duration,
    /// Set when the user interrupts.
    pub interrupted: &'a AtomicBool,
}

/// Takes a reading, the seconds since the attempt began, and the number of raw observations.
pub type ReadingSink<'a> = dyn FnMut(Reading, f64, u64) -> Result<(), Fault> + 'a;

/// What ended an attempt early.
pub enum AttemptError {
    /// The journal cannot be written: the run ends.
    Journal(Fault),
    /// The attempt failed or was interrupted.
    Attempt(Fault),
}

impl From<Fault> for AttemptError {
    fn from(fault: Fault) -> Self {
        AttemptError::Attempt(fault)
    }
}
