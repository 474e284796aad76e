//! Whether this machine is fast and idle enough to measure on.

use std::time::Duration;

use crosstalk_core::units::human;
use crosstalk_host::load::{TOO_BUSY, busy};
use crosstalk_study::count_in_words;
use crosstalk_study::plan::Plan;

/// How long other programs' use of the processors is measured.
const WINDOW: Duration = Duration::from_millis(100);

/// What other programs use of this machine: `60 % of its 2 processors`.
pub struct OtherPrograms(String);

impl OtherPrograms {
    /// Measures it; `None` if the machine is idle enough.
    pub fn measure() -> Option<Self> {
        let busy = busy(WINDOW).filter(|busy| busy.share() > TOO_BUSY)?;
        let (share, processors) = (human(busy.share(), "%"), count_in_words(busy.processors, "processor"));
        Some(OtherPrograms(format!("{share} of its {processors}")))
    }

    /// The sentence that the report has later.
    pub fn used(&self) -> String {
        format!("other programs used {}", self.0)
    }

    /// The consequence, and what to do.
    pub fn warning(&self) -> String {
        format!(
            "this machine is busy: other programs use {}, so runs take longer and vary more (find them with `top`, and \
             stop them or wait)",
            self.0
        )
    }
}

/// The pace of this machine: the seconds in which it computes what the reference machine computes in one. It is measured
/// only if an estimate of the plan depends on it; else it is 1.
pub fn pace(plan: &Plan) -> f64 {
    if plan.runnable().any(|cell| cell.effort.computes()) { crosstalk_host::pace::pace() } else { 1.0 }
}
