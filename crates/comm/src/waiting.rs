//! What a rank in real time waits for: what `deadlock.rs` asks others about.

use std::panic::Location;
use std::time::Instant;

/// What a rank waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The operation in the program.
    pub(crate) at: &'static Location<'static>,
    /// Which of the rank's waits it is.
    pub(crate) number: u64,
    /// The rank whose message is missing; `None`: it does not wait, or not for one rank alone.
    pub(crate) from: Option<usize>,
    /// When it asks next.
    pub(crate) next: Option<Instant>,
}

impl Default for Waiting {
    #[track_caller]
    fn default() -> Self {
        Waiting { at: Location::caller(), number: 0, from: None, next: None }
    }
}

impl Waiting {
    /// Another wait begins, or none.
    pub(crate) fn begin(&mut self, from: Option<usize>) {
        if self.from != from || from.is_none() {
            (self.number, self.from, self.next) = (self.number + 1, from, None);
        }
    }

    /// The wait has ended.
    pub(crate) fn end(&mut self) {
        self.begin(None);
    }
}
