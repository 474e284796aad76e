//! What people are told of processors: a single look is too short for that.

use super::sense::Sense;

/// Over how many seconds it is averaged, at least.
const SECONDS: f64 = 0.25;

/// Averages over the last quarter of a second and more.
#[derive(Debug, Default)]
pub struct Recent {
    /// Seconds so far, and seconds of CPU time of foreground and of background work in them.
    so_far: [f64; 3],
    /// Processors of both in the last quarter.
    told: Option<(f64, f64)>,
}

impl Recent {
    /// Takes a look in: the same with what was used on average, once there is one.
    pub fn see(&mut self, sense: &Sense) -> Sense {
        let looked = [sense.covers, sense.used.foreground, sense.used.background];
        self.so_far.iter_mut().zip(looked).for_each(|(sum, one)| *sum += one);
        let [seconds, foreground, background] = self.so_far;
        if seconds >= SECONDS {
            let cores = sense.cores as f64;
            self.told = Some(((foreground / seconds).min(cores), (background / seconds).min(cores)));
            self.so_far = [0.0; 3];
        }
        let (foreground_cpu, background_cpu) =
            self.told.unwrap_or((sense.foreground_cpu, sense.background_cpu));
        Sense { foreground_cpu, background_cpu, ..*sense }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sense::Used;

    /// A look that covers so long, in which foreground work used so many processors and background work the rest of two.
    fn look(covers: f64, foreground: f64) -> Sense {
        let background = 2.0 - foreground;
        let used = Used { foreground: foreground * covers, background: background * covers, cost: 0.0 };
        Sense {
            covers,
            foreground_cpu: foreground,
            background_cpu: background,
            used,
            ..Sense::quiet(2, covers)
        }
    }

    #[test]
    fn looks_are_averaged_by_how_long_they_are() {
        let mut recent = Recent::default();
        let mut told = |covers, foreground| {
            let seen = recent.see(&look(covers, foreground));
            (seen.foreground_cpu, seen.background_cpu)
        };
        assert_eq!(told(0.0625, 2.0), (2.0, 0.0), "there is no other yet");
        assert_eq!(told(0.1875, 0.0), (0.5, 1.5));
        assert_eq!(told(0.125, 2.0), (0.5, 1.5), "a look is too short to tell another");
        assert_eq!(told(0.0, 7.0), (0.5, 1.5), "one that tells nothing anew");
        assert_eq!(told(0.125, 2.0), (2.0, 0.0));
        let more = Sense { used: Used { foreground: 9.0, ..Used::default() }, ..look(0.25, 2.0) };
        assert_eq!(recent.see(&more).foreground_cpu, 2.0, "there are no more");
    }
}
