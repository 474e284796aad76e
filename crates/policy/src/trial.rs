//! Trials: background work is paused for a moment, to see whether foreground work does more without it.

use std::time::Duration;

/// How long it is paused for that, and how much of it is no part of what is seen: what it had begun
/// goes on for a while.
pub const TRIAL: Duration = Duration::from_millis(300);
/// How long what was changed takes to show.
pub const SETTLE: Duration = Duration::from_millis(40);
/// Background work that has only gone on for so long has had nothing served yet.
pub const BEGINS: Duration = Duration::from_millis(10);
/// The first and the longest time after a trial that shows nothing.
pub const HOLD: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(32)];

/// When it may be tried next, and how long after a trial that shows nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Backoff {
    pub(super) next: Duration,
    pub(super) hold: Duration,
}

impl Backoff {
    /// It may be tried at once.
    pub const NONE: Backoff = Backoff { next: Duration::ZERO, hold: HOLD[0] };

    /// A trial has shown nothing.
    pub(super) fn longer(&mut self, now: Duration) {
        self.next = now + self.hold;
        self.hold = (self.hold * 2).min(HOLD[1]);
    }
}
