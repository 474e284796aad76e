//! Processors for people: a single snapshot is too short for that.

use super::snapshot::Snapshot;

/// Over how many seconds it is averaged, at least.
const SECONDS: f64 = 0.25;

/// Averages over the last quarter of a second and more.
#[derive(Debug, Default)]
pub struct Recent {
    /// Seconds so far, and seconds of CPU time of foreground and of background work in them.
    so_far: [f64; 3],
    /// Processors of both in the last quarter.
    shown: Option<(f64, f64)>,
}

impl Recent {
    /// Takes a snapshot in: the same with what was used on average, once there is one.
    pub fn see(&mut self, snapshot: &Snapshot) -> Snapshot {
        let sampled = [snapshot.covers, snapshot.used.foreground, snapshot.used.background];
        self.so_far.iter_mut().zip(sampled).for_each(|(sum, one)| *sum += one);
        let [seconds, foreground, background] = self.so_far;
        if seconds >= SECONDS {
            let cores = snapshot.cores as f64;
            self.shown = Some(((foreground / seconds).min(cores), (background / seconds).min(cores)));
            self.so_far = [0.0; 3];
        }
        let (foreground_cpu, background_cpu) =
            self.shown.unwrap_or((snapshot.foreground_cpu, snapshot.background_cpu));
        Snapshot { foreground_cpu, background_cpu, ..*snapshot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Used;

    /// A sample that covers so long, in which foreground work used so many processors and background work the rest of two.
    fn sample(covers: f64, foreground: f64) -> Snapshot {
        let background = 2.0 - foreground;
        let used = Used { foreground: foreground * covers, background: background * covers, cost: 0.0 };
        Snapshot {
            covers,
            foreground_cpu: foreground,
            background_cpu: background,
            used,
            ..Snapshot::quiet(2, covers)
        }
    }

    #[test]
    fn looks_are_averaged_by_how_long_they_are() {
        let mut recent = Recent::default();
        let mut shown = |covers, foreground| {
            let seen = recent.see(&sample(covers, foreground));
            (seen.foreground_cpu, seen.background_cpu)
        };
        assert_eq!(shown(0.0625, 2.0), (2.0, 0.0), "there is no other yet");
        assert_eq!(shown(0.1875, 0.0), (0.5, 1.5));
        assert_eq!(shown(0.125, 2.0), (0.5, 1.5), "a snapshot is too short for another");
        assert_eq!(shown(0.0, 7.0), (0.5, 1.5), "one that counts nothing anew");
        assert_eq!(shown(0.125, 2.0), (2.0, 0.0));
        let more = Snapshot { used: Used { foreground: 9.0, ..Used::default() }, ..sample(0.25, 2.0) };
        assert_eq!(recent.see(&more).foreground_cpu, 2.0, "there are no more");
    }
}
