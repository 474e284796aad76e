//! External work that is asked instead of being made to: through its program's own interface
//! ([`Throttle`]), where its group may not be set. It is asked rarely, and to stand still only for a
//! time after which it goes on by itself: should the guard die, nothing stays suspended.

use std::time::Duration;

use crosstalk_boinc::client::Throttle;
use crosstalk_policy::{Grant, Offers};

/// How long it stands still when nobody asks again.
const SUSPENDED: Duration = Duration::from_secs(8);
/// It is asked again when less than this is left, and at most so often: who is asked to stand still does so
/// for as long at least, since tasks that do not stay in memory begin again from their last checkpoint.
const AGAIN: Duration = Duration::from_secs(4);

/// The donor, and what it was asked.
pub struct Leash {
    donor: Box<dyn Throttle>,
    all: usize,
    /// What it was asked to be content with, if it was.
    cores: Option<usize>,
    cores_at: Option<Duration>,
    /// Until when it stands still, if it was asked to, and since when it does.
    suspended: Option<Duration>,
    since: Duration,
    failed: Option<Duration>,
    complaint: Option<String>,
}

impl std::fmt::Debug for Leash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leash")
            .field("cores", &self.cores)
            .field("suspended", &self.suspended)
            .finish_non_exhaustive()
    }
}

impl Leash {
    /// A donor on a host with so many processors, all of which it has.
    pub fn new(donor: Box<dyn Throttle>, cores: usize) -> Self {
        Leash {
            donor,
            all: cores,
            cores: None,
            cores_at: None,
            suspended: None,
            since: Duration::ZERO,
            failed: None,
            complaint: None,
        }
    }

    /// What can be done by asking.
    pub fn offers() -> Offers {
        Offers { idle: false, turns: false, still: true, cores: true, memory: false, io: false }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        self.donor.name()
    }

    /// Asks for what is granted, where that has changed.
    pub fn apply(&mut self, now: Duration, grant: &Grant, run: bool) {
        // Who cannot be talked to is tried again after a while.
        if self.failed.is_some_and(|at| now.saturating_sub(at) < AGAIN) {
            return;
        }
        let mut asked = Ok(());
        if run {
            let rested = now >= self.since + AGAIN;
            if rested && self.suspended.take().is_some_and(|until| until > now) {
                asked = self.donor.resume();
            }
        } else if self.suspended.is_none_or(|until| until.saturating_sub(now) < AGAIN) {
            asked = self.donor.suspend(SUSPENDED);
            self.since = if self.suspended.is_some() { self.since } else { now };
            self.suspended = asked.is_ok().then_some(now + SUSPENDED);
        }
        let due = self.cores_at.is_none_or(|at| now.saturating_sub(at) >= AGAIN);
        let cores = (grant.cores < self.all).then_some(grant.cores);
        if asked.is_ok() && cores != self.cores && due {
            asked = self.donor.set_cores(cores);
            if asked.is_ok() {
                (self.cores, self.cores_at) = (cores, Some(now));
            }
        }
        match asked {
            Ok(()) => self.failed = None,
            Err(fault) => {
                if self.failed.replace(now).is_none() {
                    self.complaint = Some(format!("{}: {}", self.donor.name(), fault.sentence()));
                }
            }
        }
    }

    /// What went wrong since it was last asked, told once.
    pub fn complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Who cannot be talked to goes on by itself.
        if self.suspended.is_some() {
            let _ = self.donor.resume();
        }
        if self.cores.is_some() {
            let _ = self.donor.set_cores(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_boinc::client::throttle::MockThrottle as Mock;
    use crosstalk_core::Fault;
    use std::sync::{Arc, Mutex};

    /// A mock that the test keeps a hand on.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Mock>>);

    impl Shared {
        fn mock<T>(&self, of: impl FnOnce(&mut Mock) -> T) -> T {
            of(&mut self.0.lock().expect("one thread"))
        }
    }

    impl Throttle for Shared {
        fn name(&self) -> &str {
            "shared"
        }
        fn set_cores(&mut self, cores: Option<usize>) -> Result<(), Fault> {
            self.mock(|mock| mock.set_cores(cores))
        }
        fn suspend(&mut self, time: Duration) -> Result<(), Fault> {
            self.mock(|mock| mock.suspend(time))
        }
        fn resume(&mut self) -> Result<(), Fault> {
            self.mock(Throttle::resume)
        }
    }

    fn grant(cores: usize) -> Grant {
        Grant { share: 1.0, cores, memory: None, least_io: false }
    }

    #[test]
    fn it_is_asked_rarely_and_again_before_it_goes_on_by_itself() {
        let shared = Shared::default();
        let mut leash = Leash::new(Box::new(shared.clone()), 4);
        for tenth in 0..100 {
            leash.apply(Duration::from_millis(100 * tenth), &grant(4), false);
        }
        assert_eq!(shared.mock(|mock| mock.requests.clone()), ["suspend 8 s"; 3], "at 0, 4.1 and 8.2 s");
        leash.apply(Duration::from_secs(10), &grant(2), true);
        leash.apply(Duration::from_secs(11), &grant(3), true);
        assert_eq!(shared.mock(|mock| mock.requests.split_off(3)), ["resume", "cores 2"]);
        drop(leash);
        assert_eq!(shared.mock(|mock| mock.requests.split_off(3)), ["all cores"], "as before");
    }

    #[test]
    fn own_work_that_comes_and_goes_has_it_asked_no_more_often() {
        let shared = Shared::default();
        let mut leash = Leash::new(Box::new(shared.clone()), 4);
        for tenth in 0..200 {
            leash.apply(Duration::from_millis(100 * tenth), &grant(4), tenth % 10 < 5);
        }
        let asked = shared.mock(|mock| mock.requests.clone());
        assert!(asked.len() <= 12, "every four or five seconds, and once in between: {asked:?}");
        assert!(asked.contains(&"resume".to_string()));
    }

    #[test]
    fn one_that_cannot_be_talked_to_is_told_once_and_tried_again() {
        let shared = Shared::default();
        shared.mock(|mock| mock.gone = true);
        let mut leash = Leash::new(Box::new(shared.clone()), 4);
        let mut told = 0;
        for second in 0..20 {
            leash.apply(Duration::from_secs(second), &grant(4), false);
            told += usize::from(leash.complaint().is_some());
        }
        assert_eq!(told, 1);
        shared.mock(|mock| mock.gone = false);
        leash.apply(Duration::from_secs(30), &grant(4), false);
        assert_eq!(shared.mock(|mock| mock.requests.len()), 1);
    }
}
