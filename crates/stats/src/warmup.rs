//! Detects the warm-up of a run: when its steady state begins.
//!
//! MSER-5 (White 1997; White, Cobb & Spratt 2000). The series is divided into
//! batches of five. The first batches are cut off such that the squared standard
//! error of the mean of the rest is smallest. If the minimum is in the second half,
//! the series did not become steady. A batch counts with its median, not its mean:
//! otherwise one stalled message in a latency series would decide about the cut.

/// Where the warm-up of a series of measured values ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// Steady from this index on; 0: from the beginning.
    SteadyFrom(usize),
    /// No steady state was reached within the series.
    NotReached,
    /// Not detectable: fewer than [`MIN_VALUES`] values, or one that is not finite.
    Unknown,
}

/// Values per batch.
const BATCH: usize = 5;
/// The smallest number of batches of a steady state.
const MIN_BATCHES: usize = 10;
/// The smallest number of values for which warm-up can be detected.
pub const MIN_VALUES: usize = 2 * MIN_BATCHES * BATCH;

/// Detects when `series`, in order of time, becomes steady.
pub fn detect(series: &[f64]) -> Warmup {
    if series.len() < MIN_VALUES || !series.iter().all(|v| v.is_finite()) {
        return Warmup::Unknown;
    }
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(median).collect();
    let cut = least_error(&batches);
    if cut > batches.len() / 2 { Warmup::NotReached } else { Warmup::SteadyFrom(cut * BATCH) }
}

/// The number d of batches to cut off: it minimises Σ (Yᵢ − Ȳ)² / (n − d)² over the rest.
fn least_error(batches: &[f64]) -> usize {
    let n = batches.len();
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // From the end: one pass (Welford 1962) gives all cuts; of equal ones the earliest counts.
    for (kept, value) in (1..=n).zip(batches.iter().rev()) {
        let deviation = value - mean;
        mean += deviation / kept as f64;
        squares += deviation * (value - mean);
        let error = squares / (kept * kept) as f64;
        if kept >= MIN_BATCHES && error <= best.0 {
            best = (error, n - kept);
        }
    }
    best.1
}

fn median(batch: &[f64]) -> f64 {
    let mut sorted = batch.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn series(length: usize, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut rng = Rng::seeded(seed);
        (0..length).map(|i| level(i) * (1.0 + 0.05 * rng.normal())).collect()
    }

    #[test]
    fn a_constant_series_is_steady_from_the_beginning() {
        assert_eq!(detect(&[7.0; 200]), Warmup::SteadyFrom(0));
    }

    #[test]
    fn a_step_is_cut_off_at_its_end() {
        let step = series(500, 1, |i| if i < 100 { 3.0 } else { 1.0 });
        let Warmup::SteadyFrom(from) = detect(&step) else { panic!("steady from 100 on") };
        assert!((95..=140).contains(&from), "{from}");
    }

    #[test]
    fn an_exponential_warm_up_is_cut_off_once_it_is_below_the_noise() {
        let warm = series(1_000, 2, |i| 1.0 + (-(i as f64) / 40.0).exp());
        let Warmup::SteadyFrom(from) = detect(&warm) else { panic!("steady after some 100") };
        assert!((60..=300).contains(&from), "{from}");
    }

    #[test]
    fn a_lasting_trend_is_never_steady() {
        assert_eq!(detect(&series(500, 3, |i| 1.0 + i as f64 / 100.0)), Warmup::NotReached);
    }

    #[test]
    fn noise_alone_keeps_most_of_the_series() {
        let kept = (0..300)
            .filter(|seed| matches!(detect(&series(500, *seed, |_| 1.0)), Warmup::SteadyFrom(0..=250)))
            .count();
        assert!(kept >= 290, "{kept} of 300");
    }

    #[test]
    fn single_stalls_do_not_move_the_cut() {
        let mut steady = series(500, 4, |i| if i < 100 { 3.0 } else { 1.0 });
        for stall in [250, 400, 490] {
            steady[stall] = 100.0;
        }
        let Warmup::SteadyFrom(from) = detect(&steady) else { panic!("steady from 100 on") };
        assert!((95..=140).contains(&from), "{from}");
    }

    #[test]
    fn a_short_series_has_no_detectable_warm_up() {
        assert_eq!(detect(&[1.0; MIN_VALUES - 1]), Warmup::Unknown);
        assert_eq!(detect(&[f64::NAN; MIN_VALUES]), Warmup::Unknown);
    }
}
