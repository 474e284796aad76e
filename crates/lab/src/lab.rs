//! The inputs of a run, and how it ended.

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

/// What a run needs: the plan, the testbed, the registry and its folders.
pub struct RunInputs<'a> {
    /// The workloads, conditions and observers that scenes can name.
    pub registry: &'a Registry,
    /// Fabrics, systems, published data.
    pub catalogues: &'a Catalogues,
    /// The study, resolved.
    pub study: &'a Study,
    /// The plan to run.
    pub plan: &'a Plan,
    /// The testbed that creates the nodes.
    pub testbed: &'a dyn Testbed,
    /// The folder of the results.
    pub dir: &'a RunDir,
    /// The clock for the journal's time stamps.
    pub clock: &'a dyn Clock,
    /// The longest time that an attempt may take [default: a multiple of its estimate].
    pub deadline: Option<Duration>,
    /// Seconds in which this machine computes what the reference machine computes in one
    /// ([`Effort`](crosstalk_core::scene::Effort)).
    pub pace: f64,
    /// The command line, for the journal.
    pub command: String,
    /// Set when the user interrupts.
    pub interrupted: &'a AtomicBool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Finished or interrupted.
    pub status: Status,
    /// The reason, in words.
    pub why: String,
}

impl RunInputs<'_> {
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
