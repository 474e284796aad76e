//! A parameter of a cluster with the range that its source gives.

use crosstalk_core::units::human;
use serde::{Deserialize, Serialize};

/// A parameter with its range, in base units; of one that follows another, as a factor of what it is then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangedParameter {
    /// Which it is: `system moonshot: speed`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The lower end of its range.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// `s`, `bit/s`, [`FACTOR`], or empty.
    pub unit: String,
}

/// The unit of a parameter that follows another.
pub const FACTOR: &str = "ratio";

impl RangedParameter {
    /// Its value at a point of its range, from 0 to 1: equal steps are equal factors, where the lower end is above zero.
    pub fn at(&self, point: f64) -> f64 {
        match self.low > 0.0 {
            true => self.low * (self.high / self.low).powf(point),
            false => self.low + (self.high - self.low) * point,
        }
    }

    /// Where its own value stands: [`RangedParameter::at`] of it is the value.
    pub fn own_point(&self) -> f64 {
        match () {
            () if self.high <= self.low => 0.0,
            () if self.low > 0.0 => (self.value / self.low).ln() / (self.high / self.low).ln(),
            () => (self.value - self.low) / (self.high - self.low),
        }
    }

    /// Its value at a point, in words.
    pub fn value_at(&self, point: f64) -> String {
        self.in_words(self.at(point))
    }

    /// Its own value and its range in words: `taken as 0.15, range 0.059–0.225`.
    pub fn taken(&self) -> String {
        let [value, low, high] = [self.value, self.low, self.high].map(|value| self.in_words(value));
        format!("taken as {value}, range {low}–{high}")
    }

    fn in_words(&self, value: f64) -> String {
        match self.unit.as_str() {
            FACTOR => format!("{} ×", human(value, "")),
            unit => human(value, unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_a_range_and_values_are_each_others_inverse() {
        let parameter =
            |value, low, high| RangedParameter { name: String::new(), value, low, high, unit: "s".into() };
        for parameter in
            [parameter(20e-6, 10e-6, 40e-6), parameter(1e-7, 0.0, 4e-7), parameter(3.0, 3.0, 3.0)]
        {
            let again = parameter.at(parameter.own_point());
            assert!((again - parameter.value).abs() <= 1e-12 * parameter.value, "{parameter:?}");
        }
        assert_eq!(parameter(20e-6, 10e-6, 40e-6).value_at(0.5), "20.0 µs", "equal steps are equal factors");
    }
}
