//! One knob of a guarded group: as it was found, or at a setting of the guard's.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;

use crosstalk_cgroup::group::{Dial, Setting};

/// What was refused is tried again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// The knob, and where it is. Dropping it puts back what was there.
#[derive(Debug)]
pub(super) struct Control {
    dial: Dial,
    place: Place,
}

impl Control {
    /// One that is as it was found.
    pub(super) fn new(dial: Dial) -> Self {
        Control { dial, place: Place::default() }
    }

    /// What it said when it was found.
    pub(super) fn was(&self) -> &str {
        self.dial.was()
    }

    /// Sets it, with `None` to what it said when it was found, unless it is there.
    ///
    /// # Errors
    /// The first time that this knob refuses; what it refuses later is tried again in silence.
    pub(super) fn set(&mut self, to: Option<Setting>) -> Result<(), Fault> {
        let dial = &mut self.dial;
        self.place.set(to, Instant::now(), |to| match to {
            Some(setting) => dial.set(setting),
            None => dial.reset(),
        })
    }

    /// Whether it is at a setting of the guard's.
    pub(super) fn is_set(&self) -> bool {
        self.place.at.is_some()
    }

    /// Whether its file says that now, whoever has set it.
    pub(super) fn says(&self, setting: &Setting) -> bool {
        self.dial.says(setting)
    }

    /// Sets it again to where it is: it may have been put back meanwhile. What is refused is refused the next time
    /// that it is set, too.
    pub(super) fn again(&mut self) {
        if let Some(at) = &self.place.at {
            let _ = self.dial.set(at);
        }
    }
}

#[derive(Debug, Default)]
struct Place {
    at: Option<Setting>,
    /// What was refused last, and when.
    refused: Option<(Option<Setting>, Instant)>,
    reported: bool,
}

impl Place {
    fn set(
        &mut self,
        to: Option<Setting>,
        now: Instant,
        write: impl FnOnce(Option<&Setting>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let waits = |(what, when): &(_, Instant)| *what == to && now.saturating_duration_since(*when) < AGAIN;
        if self.at == to || self.refused.as_ref().is_some_and(waits) {
            return Ok(());
        }
        let written = write(to.as_ref());
        if written.is_ok() {
            (self.at, self.refused) = (to, None);
            return Ok(());
        }
        self.refused = Some((to, now));
        if std::mem::replace(&mut self.reported, true) { Ok(()) } else { written }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_not_taken_for_done_and_reported_once() {
        let (mut place, now, mut tries) = (Place::default(), Instant::now(), Vec::new());
        let weight = |number: u32| (number > 0).then_some(Setting::Weight(number));
        let mut set = |place: &mut Place, to: u32, seconds: f64, taken: bool| {
            place.set(weight(to), now + Duration::from_secs_f64(seconds), |_| {
                tries.push(to);
                if taken { Ok(()) } else { Err(Fault::environment("refused")) }
            })
        };
        assert_eq!(set(&mut place, 0, 0.0, true), Ok(()), "it is there");
        assert_eq!(set(&mut place, 5, 0.0, true), Ok(()));
        assert!(set(&mut place, 9, 0.1, false).is_err());
        assert_eq!(place.at, weight(5));
        assert_eq!(set(&mut place, 9, 0.2, false), Ok(()), "it waits");
        assert_eq!(set(&mut place, 9, 1.2, false), Ok(()), "it is reported once");
        assert_eq!(set(&mut place, 0, 1.3, true), Ok(()), "another is tried at once");
        assert_eq!(set(&mut place, 9, 1.4, true), Ok(()));
        assert_eq!(place.at, weight(9));
        assert_eq!(tries, [5, 9, 9, 0, 9]);
    }
}
