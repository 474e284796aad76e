//! BOINC's client where its group may not be set: it is asked to pause instead. It is asked rarely,
//! and only for a time after which it resumes by itself: should the guard die, nothing stays paused.

use std::time::Duration;

use crosstalk_boinc::client::{NAME, Pauser};
use crosstalk_policy::Offers;

/// How long it is paused when nobody asks again.
const PAUSE: Duration = Duration::from_secs(8);
/// It is asked again when less than this is left, and at most so often. A pause lasts for as long at least:
/// tasks that do not stay in memory begin again from their last checkpoint.
const AGAIN: Duration = Duration::from_secs(4);

/// What a client is to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Pause,
    Resume,
}

/// When to ask for what.
#[derive(Debug, Default)]
struct Schedule {
    /// Since when it is paused, and until when.
    paused: Option<(Duration, Duration)>,
    /// When it could not be asked.
    failed: Option<Duration>,
}

impl Schedule {
    /// What to ask, if background work is to run or not.
    fn next(&self, now: Duration, run: bool) -> Option<Request> {
        if self.failed.is_some_and(|at| now.saturating_sub(at) < AGAIN) {
            return None;
        }
        match (run, self.paused) {
            (true, Some((since, until))) => (now >= since + AGAIN && until > now).then_some(Request::Resume),
            (true, None) => None,
            (false, paused) => {
                let ends_soon = paused.is_none_or(|(_, until)| until.saturating_sub(now) < AGAIN);
                ends_soon.then_some(Request::Pause)
            }
        }
    }

    /// What was asked has been done.
    fn done(&mut self, now: Duration, request: Request) {
        self.failed = None;
        self.paused = match request {
            Request::Pause => {
                let since = self.paused.filter(|(_, until)| *until > now).map_or(now, |(since, _)| since);
                Some((since, now + PAUSE))
            }
            Request::Resume => None,
        };
    }

    /// It was not. Returns whether that is new.
    fn not_done(&mut self, now: Duration) -> bool {
        self.paused = None;
        self.failed.replace(now).is_none()
    }
}

/// The client, and what it was asked. Dropping it has the client resume.
#[derive(Debug)]
pub(super) struct AskedClient {
    pauser: Pauser,
    schedule: Schedule,
    complaint: Option<String>,
}

impl AskedClient {
    /// Nothing has been asked yet.
    pub(super) fn new(pauser: Pauser) -> Self {
        AskedClient { pauser, schedule: Schedule::default(), complaint: None }
    }

    /// What can be done by asking.
    pub(super) fn offers() -> Offers {
        Offers { idle: false, duty_cycle: false, pause: true, cores: false }
    }

    /// Asks it to pause or to resume, where that is due.
    pub(super) fn apply(&mut self, now: Duration, run: bool) {
        let Some(request) = self.schedule.next(now, run) else { return };
        let result = match request {
            Request::Pause => self.pauser.pause(PAUSE),
            Request::Resume => self.pauser.resume(),
        };
        match result {
            Ok(()) => self.schedule.done(now, request),
            Err(fault) => {
                if self.schedule.not_done(now) {
                    self.complaint = Some(format!("{NAME}: {}", fault.sentence()));
                }
            }
        }
    }

    /// What went wrong since this was last called, reported once.
    pub(super) fn complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }
}

impl Drop for AskedClient {
    fn drop(&mut self) {
        // A client that does not answer resumes by itself.
        let _ = self.pauser.resume();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked in so many tenths of a second, and when.
    fn asked(tenths: u64, run: impl Fn(u64) -> bool) -> Vec<(u64, Request)> {
        let mut schedule = Schedule::default();
        let mut asked = Vec::new();
        for tenth in 0..tenths {
            let now = Duration::from_millis(100 * tenth);
            if let Some(request) = schedule.next(now, run(tenth)) {
                schedule.done(now, request);
                asked.push((tenth, request));
            }
        }
        asked
    }

    #[test]
    fn a_pause_is_renewed_before_it_ends() {
        assert_eq!(asked(100, |_| false), [0, 41, 82].map(|at| (at, Request::Pause)));
    }

    #[test]
    fn it_resumes_after_four_seconds_at_least() {
        assert_eq!(asked(100, |at| at >= 10), [(0, Request::Pause), (40, Request::Resume)]);
        assert_eq!(
            asked(100, |at| at >= 60),
            [(0, Request::Pause), (41, Request::Pause), (60, Request::Resume)]
        );
    }

    #[test]
    fn foreground_work_that_comes_and_goes_has_it_asked_every_four_seconds() {
        let asked = asked(200, |at| at % 10 >= 5);
        assert!(asked.len() <= 12, "{asked:?}");
        assert!(asked.iter().any(|(_, request)| *request == Request::Resume));
    }

    #[test]
    fn one_that_does_not_answer_is_reported_once_and_asked_again() {
        let mut schedule = Schedule::default();
        let mut reported = 0;
        let mut tried = 0;
        for second in 0..20 {
            let now = Duration::from_secs(second);
            if schedule.next(now, false).is_some() {
                tried += 1;
                reported += usize::from(schedule.not_done(now));
            }
        }
        assert_eq!((reported, tried), (1, 5), "every four seconds");
    }
}
