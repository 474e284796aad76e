//! One knob of a guarded group: as it was found, or at a setting of the guard's.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;

use crosstalk_cgroup::group::{Dial, Setting};

/// What was refused is tried again after so long.
const AGAIN: Duration = Duration::from_secs(1);

/// The knob, and where it is. Dropping it puts back what was there.
#[derive(Debug)]
pub(super) struct Control<T> {
    dial: Dial,
    place: Place<T>,
}

impl<T: Clone + PartialEq> Control<T> {
    /// One that is as it was found.
    pub(super) fn new(dial: Dial) -> Self {
        Control { dial, place: Place { at: None, refused: None, reported: false } }
    }

    /// What it said when it was found.
    pub(super) fn was(&self) -> &str {
        self.dial.was()
    }

    /// Sets it, with `None` to what it said when it was found, unless it is there.
    ///
    /// # Errors
    /// The first time that this knob refuses; what it refuses later is tried again in silence.
    pub(super) fn set(&mut self, to: Option<T>, setting: impl FnOnce(T) -> Setting) -> Result<(), Fault> {
        let dial = &mut self.dial;
        let write = |to: Option<T>| match to {
            Some(to) => dial.set(&setting(to)),
            None => dial.reset(),
        };
        self.place.set(to, Instant::now(), write)
    }

    /// Sets it again to where it is: it may have been put back meanwhile. What is refused is refused the next time
    /// that it is set, too.
    pub(super) fn again(&mut self, setting: impl FnOnce(T) -> Setting) {
        if let Some(at) = self.place.at.clone() {
            let _ = self.dial.set(&setting(at));
        }
    }
}

#[derive(Debug)]
struct Place<T> {
    at: Option<T>,
    /// What was refused last, and when.
    refused: Option<(Option<T>, Instant)>,
    reported: bool,
}

impl<T: Clone + PartialEq> Place<T> {
    fn set(
        &mut self,
        to: Option<T>,
        now: Instant,
        write: impl FnOnce(Option<T>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let waits = |(what, when): &(_, Instant)| *what == to && now.saturating_duration_since(*when) < AGAIN;
        if self.at == to || self.refused.as_ref().is_some_and(waits) {
            return Ok(());
        }
        match write(to.clone()) {
            Ok(()) => (self.at, self.refused) = (to, None),
            Err(fault) => {
                self.refused = Some((to, now));
                if !std::mem::replace(&mut self.reported, true) {
                    return Err(fault);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_not_taken_for_done_and_reported_once() {
        let mut place = Place { at: None, refused: None, reported: false };
        let (now, mut tries) = (Instant::now(), Vec::new());
        let mut set = |place: &mut Place<u32>, to: Option<u32>, seconds: f64, taken: bool| {
            place.set(to, now + Duration::from_secs_f64(seconds), |to| {
                tries.push(to);
                if taken { Ok(()) } else { Err(Fault::environment("refused")) }
            })
        };
        assert_eq!(set(&mut place, None, 0.0, true), Ok(()), "it is there");
        assert_eq!(set(&mut place, Some(5), 0.0, true), Ok(()));
        assert!(set(&mut place, Some(9), 0.1, false).is_err());
        assert_eq!((place.at, set(&mut place, Some(9), 0.2, false)), (Some(5), Ok(())), "it waits");
        assert_eq!(set(&mut place, Some(9), 1.2, false), Ok(()), "it is reported once");
        assert_eq!(set(&mut place, None, 1.3, true), Ok(()), "another is tried at once");
        assert_eq!(set(&mut place, Some(9), 1.4, true), Ok(()));
        assert_eq!(place.at, Some(9));
        assert_eq!(tries, [Some(5), Some(9), Some(9), None, Some(9)]);
    }
}
