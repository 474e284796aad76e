//! A log-linear histogram of non-negative whole numbers (nanoseconds, bytes).
//!
//! Values below 256 are exact; above, a bucket is at most 1/128 of its value
//! wide (0.8 %), so that a percentile's error stays below 0.4 %. The layout is
//! that of Tene's HdrHistogram with seven bits of precision.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

const BITS: u32 = 7;
const HALF: u64 = 1 << BITS;
const BUCKETS: usize = ((64 - BITS as usize) + 1) << BITS;

/// Counts by bucket. Recording costs a shift, an add and a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS], total: 0 }
    }
}

fn bucket(value: u64) -> usize {
    if value < 2 * HALF {
        return value as usize;
    }
    let shift = 63 - BITS - value.leading_zeros();
    (((shift as u64) << BITS) + (value >> shift)) as usize
}

/// The smallest value of a bucket, and its width.
fn range(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < 2 * HALF {
        return (index, 1);
    }
    let shift = (index >> BITS) - 1;
    ((index - (shift << BITS)) << shift, 1 << shift)
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
    }

    /// The smallest value of the bucket that `value` is counted in.
    pub fn bucket_floor(value: u64) -> u64 {
        range(bucket(value)).0
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// The value at quantile `q` (0 to 1) by nearest rank: the middle of the
    /// bucket it falls into. `None` while empty. The caller decides whether `count`
    /// suffices for this quantile.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.bucket_at(q).map(|(low, width)| low as f64 + (width - 1) as f64 / 2.0)
    }

    /// The lower and upper bound of the bucket that quantile `q` falls into: the quantile lies between them.
    /// `None` while empty.
    pub fn quantile_bounds(&self, q: f64) -> Option<(f64, f64)> {
        self.bucket_at(q).map(|(low, width)| (low as f64, low as f64 + width as f64))
    }

    /// The lower and upper bound of the bucket that `value` is counted in.
    pub fn bucket_bounds(value: u64) -> (f64, f64) {
        let (low, width) = range(bucket(value));
        (low as f64, low as f64 + width as f64)
    }

    /// Smallest value and width of the bucket that quantile `q` falls into.
    fn bucket_at(&self, q: f64) -> Option<(u64, u64)> {
        if self.total == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * self.total as f64).ceil() as u64).clamp(1, self.total);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(range(index));
            }
        }
        None
    }

    /// The mean of the buckets' middles. `None` while empty.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 =
            self.buckets().map(|(low, width, n)| (low as f64 + (width - 1) as f64 / 2.0) * n as f64).sum();
        (self.total > 0).then(|| sum / self.total as f64)
    }

    /// Occupied buckets: smallest value, width, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| {
            let (low, width) = range(i);
            (low, width, *n)
        })
    }
}

/// Occupied buckets only.
// A list of pairs, not an object: serde does not read an object's keys back as
// numbers inside a tagged message.
#[derive(Serialize, Deserialize, JsonSchema)]
struct SparseHistogram {
    /// There are 2^bits buckets from one power of two to the next.
    precision_bits: u32,
    /// Smallest value of an occupied bucket, and how many fell into it.
    counts: Vec<(u64, u64)>,
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SparseHistogram::json_schema(generator)
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let counts = self.buckets().map(|(low, _, n)| (low, n)).collect();
        SparseHistogram { precision_bits: BITS, counts }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let sparse = SparseHistogram::deserialize(d)?;
        if sparse.precision_bits != BITS {
            return Err(serde::de::Error::custom("histogram of another precision"));
        }
        let mut histogram = Histogram::default();
        for (low, n) in sparse.counts {
            let count = &mut histogram.counts[bucket(low)];
            *count = count.saturating_add(n);
            histogram.total = histogram.total.saturating_add(n);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        let mut h = Histogram::default();
        (1..=100).for_each(|v| h.record(v));
        assert_eq!(h.quantile(0.5), Some(50.0));
        assert_eq!(h.quantile(0.99), Some(99.0));
        assert_eq!(h.quantile(1.0), Some(100.0));
        assert_eq!(h.mean(), Some(50.5));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    proptest! {
        #[test]
        fn every_value_lies_in_its_bucket(value: u64) {
            let (low, width) = range(bucket(value));
            prop_assert!(low <= value && value - low < width);
            prop_assert!(width == 1 || width <= low / HALF);
        }

        #[test]
        fn a_histogram_is_the_same_after_the_journal(values in proptest::collection::vec(any::<u64>(), 0..50)) {
            let mut h = Histogram::default();
            values.iter().for_each(|v| h.record(*v));
            let text = serde_json::to_string(&h).expect("writes");
            prop_assert_eq!(serde_json::from_str::<Histogram>(&text).expect("reads"), h);
        }
    }
}
