//! BOINC's client where its group may not be set: it is asked to pause instead. It is asked every four seconds at most,
//! and only for a time after which it resumes by itself: should the guard die, nothing stays paused.

use std::time::Duration;

use crosstalk_boinc::client::Pauser;
use crosstalk_policy::Offers;

/// How long it is paused when nobody asks again.
const PAUSE: Duration = Duration::from_secs(8);
/// Between two requests at least, so that a pause lasts for as long: tasks that do not stay in memory begin again from
/// their last checkpoint.
const AGAIN: Duration = Duration::from_secs(4);

/// The client, and what it was asked. Dropping it has the client resume.
#[derive(Debug)]
pub(super) struct AskedClient {
    pauser: Pauser,
    requests: Requests,
}

impl AskedClient {
    /// Nothing has been asked yet.
    pub(super) fn new(pauser: Pauser) -> Self {
        AskedClient { pauser, requests: Requests::default() }
    }

    /// What can be done by asking.
    pub(super) fn offers() -> Offers {
        Offers { idle: false, duty_cycle: false, pause: true, cores: false }
    }

    /// Asks it to pause or to resume, where that is due. What went wrong, if that is new.
    pub(super) fn apply(&mut self, now: Duration, run: bool) -> Option<String> {
        let pauser = &mut self.pauser;
        let ask = |pause: bool| if pause { pauser.pause(PAUSE) } else { pauser.resume() };
        self.requests.send(now, run, ask).err().map(|fault| fault.sentence())
    }
}

impl Drop for AskedClient {
    fn drop(&mut self) {
        // A client that does not answer resumes by itself.
        let _ = self.pauser.resume();
    }
}

/// What was asked.
#[derive(Debug, Default)]
struct Requests {
    /// When it may be asked next.
    next: Duration,
    paused: bool,
    /// It did not answer when it was last asked.
    fails: bool,
}

impl Requests {
    /// Sends the request that is due, if any: to pause, or to resume.
    ///
    /// # Errors
    /// The first time in a row that it fails.
    fn send<E>(
        &mut self,
        now: Duration,
        run: bool,
        ask: impl FnOnce(bool) -> Result<(), E>,
    ) -> Result<(), E> {
        if now < self.next || run && !self.paused {
            return Ok(());
        }
        self.next = now + AGAIN;
        let answer = ask(!run);
        self.paused = !run && answer.is_ok();
        let failed = std::mem::replace(&mut self.fails, answer.is_err());
        if failed { Ok(()) } else { answer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked in so many tenths of a second, and when: whether to pause.
    fn asked(tenths: u64, run: impl Fn(u64) -> bool) -> Vec<(u64, bool)> {
        let (mut requests, mut asked) = (Requests::default(), Vec::new());
        for tenth in 0..tenths {
            let ask = |pause| {
                asked.push((tenth, pause));
                Ok::<(), ()>(())
            };
            requests.send(Duration::from_millis(100 * tenth), run(tenth), ask).expect("is done");
        }
        asked
    }

    #[test]
    fn a_pause_is_renewed_before_it_ends_and_lasts_four_seconds_at_least() {
        assert_eq!(asked(100, |_| false), [(0, true), (40, true), (80, true)]);
        assert_eq!(asked(100, |at| at >= 10), [(0, true), (40, false)]);
        assert_eq!(asked(100, |at| at >= 60), [(0, true), (40, true), (80, false)]);
        assert!(asked(200, |at| at % 10 >= 5).len() <= 5, "it is asked every four seconds");
    }

    #[test]
    fn one_that_does_not_answer_is_reported_once_and_asked_again() {
        let (mut requests, mut tried) = (Requests::default(), 0);
        let mut send = |second| {
            requests.send(Duration::from_secs(second), false, |_| {
                tried += 1;
                Err(())
            })
        };
        let reported = (0..20).filter(|second| send(*second).is_err()).count();
        assert_eq!((reported, tried), (1, 5), "every four seconds");
    }
}
