//! Whether foreground work is at work, and how much room it leaves: from CPU time, which the kernel
//! counts in ticks of some milliseconds, so that short samples are coarse.

use std::time::Duration;

use super::snapshot::Snapshot;

/// Processors from which foreground work counts as at work, by default.
pub const BUSY: f64 = 0.05;
/// It is over when less than this share of that has been used for so long.
const OVER: (f64, Duration) = (0.6, Duration::from_millis(700));
/// Over how long what it uses is averaged, in seconds: the kernel counts it at its ticks, so that a
/// single snapshot is coarse.
const SMOOTH: f64 = 0.25;
/// How much of the next processor must be left, too, until it counts as left: on the boundary the number would change
/// with every snapshot.
const SPARE: f64 = 0.25;

/// Over how long what it uses is averaged to say that it begins, in seconds: in a short sample a service
/// that wakes up for a moment uses much. All of a processor is seen within 6 ms, and a snapshot.
const STIRS: f64 = 0.1;
/// For so long it has only begun.
const BEGINNING: Duration = Duration::from_millis(150);

/// What foreground work does.
#[derive(Debug, Clone, PartialEq)]
pub struct Activity {
    threshold: f64,
    busy: bool,
    /// What it uses, averaged for its beginning.
    stir: f64,
    began: Duration,
    /// Since when it has not done more than next to nothing, and processor seconds that it has used since.
    last: (Duration, f64),
    /// What foreground work leaves, in processors, averaged.
    room: f64,
    /// How many whole processors that are.
    left: usize,
}

impl Activity {
    /// Nothing has been seen yet: foreground work counts as at work from `threshold` processors.
    pub fn new(threshold: f64, cores: usize) -> Self {
        Activity {
            threshold,
            busy: false,
            stir: 0.0,
            began: Duration::ZERO,
            last: (Duration::ZERO, 0.0),
            room: cores as f64,
            left: cores,
        }
    }

    /// Takes a snapshot in.
    pub fn see(&mut self, now: Duration, snapshot: &Snapshot) {
        self.stir += (1.0 - (-snapshot.interval / STIRS).exp()) * (snapshot.foreground_cpu - self.stir);
        if self.stir >= self.threshold && !self.busy {
            (self.busy, self.began, self.last) = (true, now, (now, 0.0));
            // What was before it began says nothing.
            self.room = snapshot.room();
        }
        // A sum, since a service that wakes up for a moment in a short sample uses much of that.
        self.last.1 += snapshot.foreground_cpu * snapshot.interval;
        if self.last.1 >= self.threshold * OVER.0 * OVER.1.as_secs_f64() {
            self.last = (now, 0.0);
        } else if now.saturating_sub(self.last.0) >= OVER.1 {
            self.busy = false;
        }
        self.room += (1.0 - (-snapshot.interval / SMOOTH).exp()) * (snapshot.room() - self.room);
        self.left = whole(self.left, self.room);
    }

    /// Whether foreground work is at work.
    pub fn busy(&self) -> bool {
        self.busy
    }

    /// Whether it has only begun to be: how much it wants is not seen yet.
    pub fn begins(&self, now: Duration) -> bool {
        self.busy && now.saturating_sub(self.began) < BEGINNING
    }

    /// Whole processors that foreground work leaves, on average.
    pub fn left(&self) -> usize {
        self.left
    }
}

/// How many whole processors are left where there were so many before.
fn whole(before: usize, room: f64) -> usize {
    before.clamp((room - SPARE) as usize, room as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: f64 = 0.025;

    /// Looks at foreground work that uses so much, for so long.
    fn watch(activity: &mut Activity, from: f64, seconds: f64, foreground_cpu: f64) -> f64 {
        let samples = (seconds / SAMPLE).round() as usize;
        for sample in 1..=samples {
            let now = Duration::from_secs_f64(from + sample as f64 * SAMPLE);
            activity.see(now, &Snapshot { foreground_cpu, ..Snapshot::quiet(2, SAMPLE) });
        }
        from + samples as f64 * SAMPLE
    }

    #[test]
    fn work_is_seen_at_the_first_snapshot_and_its_end_within_a_second() {
        let mut activity = Activity::new(BUSY, 2);
        let at = watch(&mut activity, 0.0, SAMPLE, 0.5);
        assert!(activity.busy());
        let at = watch(&mut activity, at, 0.5, 0.0);
        assert!(activity.busy(), "a short pause is not the end");
        watch(&mut activity, at, 0.5, 0.0);
        assert!(!activity.busy());
    }

    #[test]
    fn a_service_that_wakes_up_now_and_then_is_no_work_that_goes_on() {
        let mut activity = Activity::new(BUSY, 2);
        let mut at = 0.0;
        for _ in 0..100 {
            // 4 ms in one snapshot, and then nothing for half a second.
            at = watch(&mut activity, at, SAMPLE, 0.16);
            at = watch(&mut activity, at, 0.5, 0.0);
            assert!(!activity.busy());
        }
    }

    #[test]
    fn room_on_the_boundary_of_a_processor_changes_the_number_once() {
        let rooms = [2.1, 1.9, 2.1, 1.9, 2.2, 1.8, 2.3, 2.1, 0.2];
        let kept = rooms.iter().scan(3, |left, room| {
            *left = whole(*left, *room);
            Some(*left)
        });
        assert_eq!(kept.collect::<Vec<_>>(), [2, 1, 1, 1, 1, 1, 2, 2, 0]);
    }

    #[test]
    fn what_other_machines_take_is_no_room() {
        let mut activity = Activity::new(BUSY, 2);
        for sample in 1..=100 {
            let snapshot = Snapshot { foreground_cpu: 0.75, stolen: 0.5, ..Snapshot::quiet(2, SAMPLE) };
            activity.see(Duration::from_secs_f64(f64::from(sample) * SAMPLE), &snapshot);
        }
        assert_eq!(activity.left(), 0);
    }

    proptest! {
        #[test]
        fn quiet_always_ends_everything(samples in prop::collection::vec(0.0_f64..2.0, 0..100)) {
            let mut activity = Activity::new(BUSY, 2);
            let mut at = 0.0;
            for foreground_cpu in samples {
                at = watch(&mut activity, at, SAMPLE, foreground_cpu);
            }
            watch(&mut activity, at, 1.0, 0.0);
            prop_assert!(!activity.busy());
        }
    }
}
