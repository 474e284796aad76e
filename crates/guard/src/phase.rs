//! Since when background work runs, or is paused.

use std::time::Duration;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Phase {
    pub(super) since: Duration,
    pub(super) runs: bool,
}

impl Phase {
    /// Whether another begins where background work `runs` from now on, or is paused: `briefly`, for as long as a probe
    /// takes. Such a pause does not count, since what background work had begun goes on; every resumption does, since
    /// behind a trial no other may come.
    pub(super) fn ends(self, runs: bool, briefly: bool) -> bool {
        runs != self.runs && (runs || !briefly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_for_a_probe_ends_no_phase() {
        let ends = |was, runs, briefly| Phase { since: Duration::ZERO, runs: was }.ends(runs, briefly);
        assert!(!ends(true, false, true) && !ends(true, true, false) && !ends(false, false, false));
        assert!(ends(true, false, false) && ends(false, true, false), "a trial, and its end");
        assert!(ends(false, true, true), "a resumption after it");
    }
}
