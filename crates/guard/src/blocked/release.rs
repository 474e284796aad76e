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
    /// It runs until it has used so much CPU time, or the wait is over. Where foreground work leaves it no processor,
    /// it costs that nothing, and may take long.
    pub(super) longest: Duration,
}

/// The releases for one cause. Where foreground work waits for it all the time, background work comes to use one part
/// in `rest[1]` of a processor.
#[derive(Debug)]
pub(super) struct Release {
    bounds: Bounds,
    /// Until when it runs, and CPU time that background work had used when that began.
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

    /// Foreground work waits now. `used` is the CPU time so far of what runs while it is released.
    pub(super) fn wait(&mut self, now: Duration, used: impl Fn() -> Duration) {
        if now.saturating_sub(std::mem::replace(&mut self.waited, now)) >= QUIET {
            (self.count, self.next) = (0, now);
        }
        match &mut self.runs {
            Some((until, had)) if used().saturating_sub(*had) < self.bounds.longest => *until = now + LEAST,
            None if now >= self.next => self.runs = Some((now + LEAST, used())),
            _ => {}
        }
    }

    /// Background work was not to be paused for so long: nobody could wait for its end, which says nothing.
    pub(super) fn skip(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Whether it runs now.
    pub(super) fn holds(&mut self, now: Duration, used: impl Fn() -> Duration) -> bool {
        if self.runs.is_some_and(|(until, _)| now >= until) {
            self.end(now, used);
        }
        self.runs.is_some()
    }

    /// It needs no release any more: the wait is over, or background work runs anyway.
    pub(super) fn end(&mut self, now: Duration, used: impl Fn() -> Duration) {
        let Some((_, had)) = self.runs.take() else { return };
        let Bounds { free, rest: [first, most], .. } = self.bounds;
        self.count += 1;
        let rests = self.count.checked_sub(free).map_or(0, |more| (first << more.min(16)).min(most));
        self.next = now + rests * used().saturating_sub(had).max(LEAST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { free: 2, rest: [1, 8], longest: Duration::from_secs(1) };

    /// When releases begin and how long each lasts, in milliseconds, if foreground work waits then and background work
    /// gets so much of a processor.
    fn releases(share: f64, seconds: u64, waits: impl Fn(u64) -> bool) -> Vec<(u64, u64)> {
        let (mut found, mut runs, mut used) = (Vec::new(), false, Duration::ZERO);
        let mut release = Release::new(BOUNDS);
        for millis in (0..seconds * 1000).step_by(50) {
            let now = Duration::from_millis(millis);
            used += if runs { Duration::from_millis(50).mul_f64(share) } else { Duration::ZERO };
            if waits(millis) {
                release.wait(now, || used);
            }
            match (std::mem::replace(&mut runs, release.holds(now, || used)), runs) {
                (false, true) => found.push((millis, 50)),
                (true, true) => found.last_mut().expect("has begun").1 += 50,
                _ => {}
            }
        }
        found
    }

    #[test]
    fn who_always_waits_has_it_run_ever_more_rarely() {
        let found = releases(1.0, 100, |_| true);
        // 1.05 s each: two at once, then rests of once, twice, four and eight times as long.
        let begins: Vec<u64> = found.iter().map(|(at, _)| *at).collect();
        assert_eq!(begins[..6], [0, 1100, 3200, 6350, 11_600, 21_050]);
        assert!(found.iter().all(|(_, lasts)| *lasts == 1050), "{found:?}");
    }

    #[test]
    fn where_it_gets_no_processor_it_runs_until_the_wait_is_over() {
        assert_eq!(releases(0.001, 200, |millis| millis < 100_000), [(0, 100_050)]);
    }

    #[test]
    fn time_in_which_it_runs_anyway_is_no_quiet_time() {
        let (mut release, at) = (Release::new(BOUNDS), Duration::from_secs);
        let mut waits = |now| {
            release.wait(now, || now);
            let holds = release.holds(now, || now);
            release.end(now, || now);
            // It runs until the next wait.
            release.skip(at(20));
            holds
        };
        // Two at once; then rests of 0.1, 0.2 and 0.4 s are over each time.
        assert_eq!([0, 20, 40, 60, 80].map(|now| waits(at(now))), [true; 5]);
        assert_eq!(release.count, 5, "none is the first again");
        release.wait(at(110), || at(110));
        assert_eq!(release.count, 0, "ten seconds without a wait in which it was paused");
    }

    #[test]
    fn a_wait_that_ends_soon_ends_the_release_and_after_a_quiet_time_all_is_as_at_first() {
        // The wait at 2.15 s comes in a rest of 0.2 s.
        let waits = |millis: u64| [0, 1000, 2000, 2150, 2300, 13_000, 13_150].contains(&millis);
        let found = releases(1.0, 20, waits);
        assert_eq!(found, [(0, 100), (1000, 100), (2000, 100), (2300, 100), (13_000, 100), (13_150, 100)]);
    }
}
