//! An estimate with its confidence interval.

/// An estimate with its confidence interval, on the scale of its values (log
/// scale for log ratios: see [`Interval::exp`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The point estimate.
    pub point: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The number of values it was computed from: blocks, or samples.
    pub count: usize,
}

impl Interval {
    /// Converts an interval of log ratios to one of ratios.
    #[must_use]
    pub fn exp(self) -> Self {
        Interval { point: self.point.exp(), low: self.low.exp(), high: self.high.exp(), ..self }
    }

    /// Whether `value` lies in the interval, its ends included.
    pub fn covers(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The intersection with an `earlier` interval of the same quantity, with this
    /// one's point clamped to it. `None`: they do not overlap.
    #[must_use]
    pub fn intersect(self, earlier: &Interval) -> Option<Self> {
        let (low, high) = (self.low.max(earlier.low), self.high.min(earlier.high));
        (low <= high).then(|| Interval { point: self.point.clamp(low, high), low, high, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGS: Interval = Interval { point: 0.0, low: -1.0, high: 2.0, count: 9 };

    #[test]
    fn logs_become_ratios() {
        let ratio = LOGS.exp();
        assert_eq!((ratio.point, ratio.count), (1.0, 9));
        assert!((ratio.high.ln() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn two_intervals_of_a_quantity_are_intersected() {
        let later = Interval { point: 1.8, low: 0.5, high: 3.0, count: 12 };
        let both = later.intersect(&LOGS).expect("they overlap");
        assert_eq!((both.low, both.point, both.high, both.count), (0.5, 1.8, 2.0, 12));
        assert_eq!(Interval { low: 2.5, ..later }.intersect(&LOGS), None);
    }
}
