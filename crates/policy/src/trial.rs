//! Trials: background work is paused for a moment, to see whether foreground work does more without it.

use std::time::Duration;

/// How long it is paused for that, and for how long at most where too little is seen.
pub const TRIAL: Duration = Duration::from_millis(300);
pub(super) const LONGEST: Duration = Duration::from_secs(1);
/// How long a change takes to show: what background work had begun goes on for a while.
pub const SETTLE: Duration = Duration::from_millis(40);
/// Background work that has only resumed for so long has had nothing served yet.
pub const BEGINS: Duration = Duration::from_millis(10);
/// The first and the longest time after a trial that shows nothing.
pub const HOLD: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(32)];

/// What background work did since the snapshot before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Background {
    /// It ran, all of it or some.
    Ran,
    /// It was paused for no longer than a probe takes: to devices that is nothing.
    Probed,
    /// It was paused.
    Paused,
}

/// When the next trial may come: each that shows nothing makes the next one come twice as late.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Backoff {
    pub(super) next: Duration,
    pub(super) hold: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff::NONE
    }
}

impl Backoff {
    /// It may come at once.
    pub(super) const NONE: Backoff = Backoff { next: Duration::ZERO, hold: HOLD[0] };

    /// A trial has shown nothing.
    pub(super) fn longer(&mut self, now: Duration) {
        self.next = now + self.hold;
        self.hold = (self.hold * 2).min(HOLD[1]);
    }
}
