//! What an attempt is given, and what ends it early.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::record::Reading;
use crosstalk_core::registry::Registry;

/// What an attempt is given besides its scene.
pub struct Given<'a> {
    pub registry: &'a Registry,
    pub emulation: Option<Emulation>,
    /// Where what work leaves to look into is stored; `None`: nowhere.
    pub artifacts: Option<PathBuf>,
    pub seed: u64,
    pub deadline: Duration,
    pub interrupted: &'a AtomicBool,
}

/// Takes a reading, the seconds after the attempt began, and how many raw observations it stands for.
pub type Keep<'a> = dyn FnMut(Reading, f64, u64) -> Result<(), Fault> + 'a;

/// What ended an attempt early.
pub enum Trouble {
    Journal(Fault),
    Attempt(Fault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Trouble::Attempt(fault)
    }
}
