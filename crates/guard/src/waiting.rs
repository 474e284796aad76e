//! How long foreground work waits for processors while background work runs, and when to choose whom to watch for it.

use std::time::Duration;

use super::threads::LATELY;
use crosstalk_policy::BUSY;

/// Between two choices at least.
const APART: Duration = Duration::from_millis(250);
/// Between two choices of whom to watch, while foreground work is active.
const CHOOSE: Duration = Duration::from_secs(3);
/// Processors that foreground work uses more than before, from which on other foreground work has joined it.
const JOINED_BY: f64 = 0.25;
/// Who has joined foreground work is known when what all have used so long after has been counted.
const KNOWN: Duration = Duration::from_millis(100);

/// Waiting for processors while background work runs: in a duty cycle, what it costs foreground work would else be the
/// less, the less it runs; and while it is paused, foreground work waits for itself.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// For how long background work has run, and foreground work waited meanwhile, since the share was last worked out.
    ran: Duration,
    meanwhile: Duration,
    /// When foreground work was last read, and how long it had waited by then.
    read: Duration,
    waited: Option<Duration>,
    share: Option<f64>,
}

/// When those were chosen who are watched for waiting.
#[derive(Debug, Default)]
pub(super) struct Choice {
    at: Duration,
    /// Processors that foreground work used then.
    used: f64,
    /// Other had joined it by then.
    new: bool,
}

impl Choice {
    /// When they were chosen.
    pub(super) fn at(&self) -> Duration {
        self.at
    }

    /// Whether it is time to choose again, which then is done.
    pub(super) fn is_due(&mut self, now: Duration, used: f64) -> bool {
        let passed = now.saturating_sub(self.at);
        // Foreground work that was quiet in between may be another.
        let again = used >= BUSY && passed >= LATELY;
        let new = again || used > self.used + JOINED_BY && passed >= APART;
        let known = self.new && passed >= KNOWN;
        let due = new || known || used >= BUSY && passed >= CHOOSE;
        if due {
            // What was more a moment ago is not new when it is that again.
            let used = if known { used.max(self.used) } else { used };
            *self = Choice { at: now, used, new };
        }
        due
    }
}

/// What was waited for in less time says little: a wait counts when it ends.
const RAN: Duration = Duration::from_millis(20);

impl Waiting {
    /// Foreground work has waited so long by now, if anybody is watched; `ran`: background work ran until now.
    pub(super) fn read(&mut self, now: Duration, waited: Option<Duration>, ran: bool) {
        match waited.zip(self.waited) {
            Some((waited, before)) if ran => {
                self.ran += now.saturating_sub(self.read);
                self.meanwhile += waited.saturating_sub(before);
            }
            Some(_) => {}
            None => *self = Waiting::default(),
        }
        (self.read, self.waited) = (now, waited);
    }

    /// How many processors' worth of it there is while background work runs; as before where that has hardly run
    /// since.
    pub(super) fn share(&mut self) -> Option<f64> {
        if self.ran >= RAN {
            let (ran, waited) = (std::mem::take(&mut self.ran), std::mem::take(&mut self.meanwhile));
            self.share = Some(waited.as_secs_f64() / ran.as_secs_f64());
        }
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_background_work_costs_by_waiting_is_the_same_however_little_it_runs() {
        for (run, pause) in [(250, 0), (100, 150), (30, 240), (8, 492)] {
            let (mut waiting, mut now, mut waited) =
                (Waiting::default(), Duration::ZERO, Duration::from_secs(7));
            let (run, pause) = (Duration::from_millis(run), Duration::from_millis(pause));
            waiting.read(now, Some(waited), true);
            assert_eq!(waiting.share(), None, "nothing is known yet");
            for _ in 0..5 {
                (now, waited) = (now + run, waited + run / 5);
                waiting.read(now, Some(waited), true);
                // While background work is paused, foreground work waits for itself.
                (now, waited) = (now + pause, waited + pause / 3);
                waiting.read(now, Some(waited), false);
                let share = waiting.share();
                assert!(share.is_none_or(|share| (share - 0.2).abs() < 1e-6), "{share:?}");
            }
            assert!(waiting.share().is_some(), "it is known by now");
            waiting.read(now, None, true);
            assert_eq!(waiting.share(), None, "nobody is watched");
        }
    }

    #[test]
    fn who_is_watched_is_chosen_when_other_joins_and_once_that_is_known() {
        let mut choice = Choice::default();
        let mut chosen = |from: u64, to: u64, used: &dyn Fn(u64) -> f64| -> Vec<u64> {
            let samples = (from..to).step_by(50);
            samples.filter(|at| choice.is_due(Duration::from_millis(*at), used(*at))).collect()
        };
        assert!(chosen(1000, 5000, &|_| 0.0).is_empty(), "it is quiet");
        assert_eq!(chosen(5000, 9000, &|_| 1.0), [5000, 5100, 8100]);
        assert!(chosen(9000, 15_000, &|_| 0.0).is_empty(), "it is quiet again");
        assert_eq!(chosen(15_000, 19_000, &|_| 1.0), [15_000, 15_100, 18_100], "this may be another");
        let swings = |at: u64| if at % 400 < 200 { 1.6 } else { 0.4 };
        let often = chosen(19_000, 40_000, &swings).len();
        assert!(often <= 21, "{often} in 21 s: it is the same all the time");
    }
}
