//! Where a run's steady state begins: detected, not assumed.
//!
//! MSER-5 (White 1997; White, Cobb & Spratt 2000): of the series in batches of
//! five, cut off so many that the squared standard error of the rest's mean is
//! smallest. A minimum in the second half means that the series had not settled.
//! Batches are taken by their median instead of their mean, because one stalled
//! message in a latency series would otherwise decide where the cut falls.

/// What a series says about its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// Steady from this index on; 0 means from the beginning.
    SteadyFrom(usize),
    /// No steady state was reached within the series.
    NotReached,
    /// Fewer than [`FEWEST`] values, or one that is not finite: nothing can be said.
    Unknown,
}

/// Values a batch.
const BATCH: usize = 5;
/// Batches that a steady state must at least consist of.
const KEPT: usize = 10;
/// The fewest values from which warm-up can be told.
pub const FEWEST: usize = 2 * KEPT * BATCH;

/// Finds where `series`, in order of time, becomes steady.
pub fn detect(series: &[f64]) -> Warmup {
    if series.len() < FEWEST || !series.iter().all(|v| v.is_finite()) {
        return Warmup::Unknown;
    }
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(median).collect();
    let cut = least_error(&batches);
    if cut > batches.len() / 2 { Warmup::NotReached } else { Warmup::SteadyFrom(cut * BATCH) }
}

/// How many batches to cut off so that Σ (Yᵢ − Ȳ)² / (n − d)² over the rest is smallest.
fn least_error(batches: &[f64]) -> usize {
    let n = batches.len();
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // From the end, so that one pass (Welford 1962) serves all cuts; of equal ones the earliest.
    for (kept, value) in (1..=n).zip(batches.iter().rev()) {
        let off = value - mean;
        mean += off / kept as f64;
        squares += off * (value - mean);
        let error = squares / (kept * kept) as f64;
        if kept >= KEPT && error <= best.0 {
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
    fn a_step_is_cut_off_where_it_ends() {
        let step = series(500, 1, |i| if i < 100 { 3.0 } else { 1.0 });
        let Warmup::SteadyFrom(from) = detect(&step) else { panic!("steady from 100 on") };
        assert!((95..=140).contains(&from), "{from}");
    }

    #[test]
    fn an_exponential_warm_up_is_cut_off_once_it_drowns_in_noise() {
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
    fn a_short_series_says_nothing() {
        assert_eq!(detect(&[1.0; FEWEST - 1]), Warmup::Unknown);
        assert_eq!(detect(&[f64::NAN; FEWEST]), Warmup::Unknown);
    }
}
