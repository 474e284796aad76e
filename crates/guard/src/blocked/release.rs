//! For how long background work that is to be paused runs, since foreground work waits for it, and how often.

use std::time::Duration;

/// It runs for so long at least.
const LEAST: Duration = Duration::from_millis(100);
/// Without such a wait for so long, all is as at the beginning.
const QUIET: Duration = Duration::from_secs(10);

/// The bounds of one kind of wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// So many times in a row it is released at once.
    pub(super) free: u32,
    /// After that it rests so many times as long as it ran, then twice as many times, and so on up to the second.
    pub(super) rest: [u32; 2],
    /// It runs for so long at most.
    pub(super) longest: Duration,
}

/// The releases for one cause. Where foreground work waits for it all the time, background work comes to run for one
/// part in `1 + rest[1]` of the time.
#[derive(Debug)]
pub(super) struct Release {
    bounds: Bounds,
    /// Since when, and until when it runs.
    runs: Option<(Duration, Duration)>,
    /// When foreground work last waited.
    waited: Duration,
    /// How often it was released in a row, and when it may be next.
    count: u32,
    next: Duration,
}

impl Release {
    /// Nobody has waited yet.
    pub(super) fn new(bounds: Bounds) -> Self {
        Release { bounds, runs: None, waited: Duration::ZERO, count: 0, next: Duration::ZERO }
    }

    /// Foreground work waits now.
    pub(super) fn wait(&mut self, now: Duration) {
        if now.saturating_sub(std::mem::replace(&mut self.waited, now)) >= QUIET {
            (self.count, self.next) = (0, now);
        }
        let began = match self.runs {
            Some((began, _)) => began,
            None if now >= self.next => now,
            None => return,
        };
        self.runs = Some((began, (now + LEAST).min(began + self.bounds.longest)));
    }

    /// Whether it runs now.
    pub(super) fn holds(&mut self, now: Duration) -> bool {
        if self.runs.is_some_and(|(_, until)| now >= until) {
            self.end(now);
        }
        self.runs.is_some()
    }

    /// It needs no release any more: the wait is over, or background work runs anyway.
    pub(super) fn end(&mut self, now: Duration) {
        let Some((began, _)) = self.runs.take() else { return };
        let Bounds { free, rest: [first, most], .. } = self.bounds;
        self.count += 1;
        let rests = self.count.checked_sub(free).map_or(0, |more| (first << more.min(16)).min(most));
        self.next = now + rests * now.saturating_sub(began);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { free: 2, rest: [1, 8], longest: Duration::from_secs(1) };

    /// When releases begin and how long each lasts, in milliseconds, if foreground work waits then.
    fn releases(release: &mut Release, seconds: u64, waits: impl Fn(u64) -> bool) -> Vec<(u64, u64)> {
        let (mut found, mut ran) = (Vec::new(), false);
        for millis in (0..seconds * 1000).step_by(50) {
            let now = Duration::from_millis(millis);
            if waits(millis) {
                release.wait(now);
            }
            let runs = release.holds(now);
            match (ran, runs) {
                (false, true) => found.push((millis, 50)),
                (true, true) => found.last_mut().expect("has begun").1 += 50,
                _ => {}
            }
            ran = runs;
        }
        found
    }

    #[test]
    fn who_always_waits_has_it_run_ever_more_rarely() {
        let found = releases(&mut Release::new(BOUNDS), 100, |_| true);
        let begins: Vec<u64> = found.iter().map(|(at, _)| *at).collect();
        // Two at once, then rests of 1, 2, 4, 8 and 8 s; each begins with the next step.
        assert_eq!(begins[..6], [0, 1050, 3050, 6050, 11_050, 20_050]);
        assert!(found.iter().all(|(_, lasts)| *lasts == 1000), "{found:?}");
        let ran: u64 = found.iter().skip(4).map(|(_, lasts)| lasts).sum();
        assert!(ran * 8 <= 90_000, "{ran} ms of 90 s");
    }

    #[test]
    fn a_wait_that_ends_soon_ends_the_release_and_after_a_quiet_time_all_is_as_at_first() {
        let mut release = Release::new(BOUNDS);
        // The wait at 2.15 s comes in a rest of 0.2 s.
        let waits = |millis: u64| [0, 1000, 2000, 2150, 2300, 13_000, 13_150].contains(&millis);
        let found = releases(&mut release, 20, waits);
        assert_eq!(found, [(0, 100), (1000, 100), (2000, 100), (2300, 100), (13_000, 100), (13_150, 100)]);
    }
}
