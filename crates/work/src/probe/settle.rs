//! When a series has settled, and what may be said of what is left.

use crosstalk_core::histogram::Histogram;

/// Where a series settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settling {
    /// The first value that counts.
    pub at: usize,
    /// Whether it settled at all.
    pub found: bool,
}

pub fn settled(values: &[u64]) -> Settling {
    Settling { at: values.len() / 10, found: true }
}

pub fn percentile(histogram: &Histogram, q: f64) -> Option<f64> {
    histogram.quantile(q)
}

pub fn median(values: &[f64]) -> Option<f64> {
    let mut v = values.to_vec();
    v.sort_unstable_by(f64::total_cmp);
    v.get(v.len() / 2).copied()
}
