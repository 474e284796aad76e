//! The verdict: fresh pairs of runs, plain and grouped, decide. What the search had found says nothing here, since the
//! best of many noisy estimates is too good.

use schemars::JsonSchema;
use serde::Serialize;

use crosstalk_stats::paired;
use crosstalk_stats::verdict::{Margin, Side};

/// The error of the interval: it covers the truth in 95 % of all cases.
const ERROR: f64 = 0.05;
/// Differences up to this share may come from the machine that is shared: none of them is a direction.
const BEYOND: f64 = 0.01;
/// Differences within this share do not matter: as for the commands that `run` compares.
pub const EQUIVALENT: f64 = 0.02;

/// A pair of runs with the same seed, right after each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// Seconds, all users together in one group.
    pub plain: f64,
    /// Seconds, in the groups found.
    pub grouped: f64,
}

/// How the fresh pairs ended.
#[derive(Debug, Clone, PartialEq)]
pub enum PairsEnding {
    /// All were run, or none was to be. `None`: they are too few for a verdict.
    Done(Option<Verdict>),
    /// The kernel killed a program for want of memory, in this group.
    Killed(String),
    /// The grouping was cut off after so many seconds.
    Cut(f64),
}

/// What the pairs say.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// What follows.
    pub conclusion: Conclusion,
    /// Plain's makespan over that of the groups: above 1, the groups are faster.
    pub speedup: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// What those who stream read a second in the groups, over what they read in plain: medians of the pairs.
    pub stream_rate: Option<f64>,
}

/// What follows from the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// The groups are faster: they are recommended.
    Faster,
    /// The groups are slower.
    Slower,
    /// The whole interval is within 2 % of 1.
    Equivalent,
    /// None of these: more pairs may decide.
    Inconclusive,
}

impl Verdict {
    /// What `pairs` say; `None` of too few for an interval, or of times that are none.
    pub fn of(pairs: Vec<Pair>, stream_rate: Option<f64>) -> Option<Verdict> {
        let logs: Vec<f64> = pairs.iter().map(|pair| (pair.plain / pair.grouped).ln()).collect();
        let interval = paired::estimate(&logs, ERROR)?;
        let margin = Margin { beyond: BEYOND.ln_1p(), within: EQUIVALENT.ln_1p() };
        let conclusion = match Side::of(&interval, margin) {
            Some(Side::Above) => Conclusion::Faster,
            Some(Side::Below) => Conclusion::Slower,
            Some(Side::Within) => Conclusion::Equivalent,
            None => Conclusion::Inconclusive,
        };
        let interval = interval.exp();
        Some(Verdict {
            conclusion,
            speedup: interval.point,
            low: interval.low,
            high: interval.high,
            pairs,
            stream_rate,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_stats::rng::Rng;

    fn pairs(speedup: f64, seed: u64) -> Vec<Pair> {
        let mut random = Rng::seeded(seed);
        let mut noise = || (0.05 * random.normal()).exp();
        (0..12).map(|_| Pair { plain: speedup * noise(), grouped: noise() }).collect()
    }

    #[test]
    fn equals_are_hardly_ever_recommended_and_gains_are_found() {
        let faster = |speedup| {
            let of = |seed| Verdict::of(pairs(speedup, seed), None).expect("12 pairs suffice").conclusion;
            (0..400).filter(|seed| of(*seed) == Conclusion::Faster).count()
        };
        assert!(faster(1.0) <= 20, "{} of 400", faster(1.0));
        assert_eq!((faster(1.3), faster(0.8)), (400, 0));
    }

    #[test]
    fn small_differences_are_equivalent_and_wide_intervals_decide_nothing() {
        let of = |ratios: [f64; 12]| {
            let pairs = ratios.map(|plain| Pair { plain, grouped: 1.0 });
            Verdict::of(pairs.into(), None).expect("12 pairs").conclusion
        };
        assert_eq!(of([1.0; 12]), Conclusion::Equivalent);
        assert_eq!(of([1.005; 12]), Conclusion::Equivalent, "below what is a direction");
        let mut wide = [1.03; 12];
        wide[..4].fill(0.97);
        assert_eq!(of(wide), Conclusion::Inconclusive);
        assert_eq!((of([1.03; 12]), of([0.97; 12])), (Conclusion::Faster, Conclusion::Slower));
    }

    #[test]
    fn the_interval_is_of_ratios() {
        let verdict = Verdict::of(vec![Pair { plain: 3.0, grouped: 2.0 }; 12], Some(0.5)).expect("12 pairs");
        assert!((verdict.speedup - 1.5).abs() < 1e-9 && (verdict.low - 1.5).abs() < 1e-9);
        assert_eq!((verdict.conclusion, verdict.stream_rate), (Conclusion::Faster, Some(0.5)));
        assert_eq!(Verdict::of(vec![Pair { plain: 1.0, grouped: 1.0 }; 3], None), None);
    }
}
