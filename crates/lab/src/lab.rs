//! What a run is made of, and how it ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crosstalk_core::record::Status;
use crosstalk_core::registry::Registry;
use crosstalk_core::testbed::Testbed;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::file::Study;
use crosstalk_study::plan::Plan;

use crate::clock::Clock;
use crate::rundir::RunDir;

/// Everything a run is made of.
pub struct Lab<'a> {
    /// What its scenes can name.
    pub registry: &'a Registry,
    /// Fabrics, systems, published data.
    pub catalogues: &'a Catalogues,
    /// The resolved study.
    pub study: &'a Study,
    /// What to run.
    pub plan: &'a Plan,
    /// Where nodes come from.
    pub testbed: &'a dyn Testbed,
    /// Where results go.
    pub dir: &'a RunDir,
    /// What the journal is stamped with.
    pub clock: &'a dyn Clock,
    /// The longest an attempt may take; by estimate where not given.
    pub deadline: Option<Duration>,
    /// How long this machine takes for what the yardstick does in a second
    /// ([`Effort`](crosstalk_core::scene::Effort)).
    pub pace: f64,
    /// The command line, for the record.
    pub command: String,
    /// Set when the user interrupts.
    pub interrupted: &'a AtomicBool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Finished or interrupted.
    pub status: Status,
    /// In words.
    pub why: String,
}

impl Lab<'_> {
    /// Whether the user has interrupted.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}

impl Ending {
    pub(crate) fn interrupted() -> Self {
        Ending { status: Status::Interrupted, why: "interrupted by the user".into() }
    }
}
