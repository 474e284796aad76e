//! Scales from values to pixels, with round ticks.

/// The largest magnitude that can be drawn: beyond it, padding would overflow.
const LARGEST: f64 = 1e150;

/// Mantissas at which an axis of several decades, and one of less than a decade, may end.
const COARSE: &[f64] = &[1.0, 2.0, 5.0, 10.0];
const FINE: &[f64] = &[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];

/// Mantissas of ticks on an axis of less than a decade.
const FINE_TICKS: [f64; 7] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];

/// Whether a value can be drawn on an axis.
pub fn is_drawable(value: f64, log: bool) -> bool {
    value.is_finite() && value.abs() <= LARGEST && (!log || value >= 1.0 / LARGEST)
}

/// Maps values between `from` and `to` onto pixels between `start` and `end`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Value at `start`.
    pub from: f64,
    /// Value at `end`.
    pub to: f64,
    /// Logarithmic.
    pub log: bool,
    /// Pixel of `from`.
    pub start: f64,
    /// Pixel of `to`.
    pub end: f64,
}

impl Scale {
    /// A scale with all drawable values. With `zero`, a linear one includes zero. Without values it is 0 to 1, or 1 to 10.
    pub fn around(values: impl Iterator<Item = f64>, log: bool, zero: bool) -> Scale {
        let (mut low, mut high) = values
            .filter(|v| is_drawable(*v, log))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if zero && !log {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        let magnitude = low.abs().max(high.abs());
        if !log && magnitude < 1.0 / LARGEST {
            (low, high) = (0.0, 1.0);
        } else if high - low <= magnitude * 1e-9 {
            (low, high) =
                if log { (low / 2.0, high * 2.0) } else { (low - magnitude / 2.0, high + magnitude / 2.0) };
        }
        Scale { from: low, to: high, log, start: 0.0, end: 1.0 }
    }

    /// The scale widened by `share` of its length at each end; a linear scale not at an end of zero.
    #[must_use]
    pub fn widened_by(mut self, share: f64) -> Scale {
        let (low, high) = (self.inner(self.from), self.inner(self.to));
        let room = (high - low) * share;
        let outer = |v: f64| if self.log { 10f64.powf(v) } else { v };
        if self.log || self.from != 0.0 {
            self.from = outer(low - room);
        }
        if self.log || self.to != 0.0 {
            self.to = outer(high + room);
        }
        self
    }

    /// The scale widened to round values.
    #[must_use]
    pub fn widened_to_round(mut self, unit: &str, most: usize) -> Scale {
        match (self.log, unit) {
            (true, "B") => {
                self.from = 2f64.powf(self.from.log2().floor());
                self.to = 2f64.powf(self.to.log2().ceil());
            }
            (true, _) => {
                let round = if self.to / self.from < 10.0 { FINE } else { COARSE };
                self.from = round_below(self.from, round);
                self.to = round_above(self.to, round);
            }
            (false, _) => {
                let step = self.step(unit, most);
                self.from = (self.from / step).floor() * step;
                self.to = (self.to / step).ceil() * step;
            }
        }
        self
    }

    /// The scale for the same values on other pixels.
    #[must_use]
    pub fn onto_pixels(mut self, start: f64, end: f64) -> Scale {
        (self.start, self.end) = (start, end);
        self
    }

    /// The pixel of a value, at most at the axis' end; `None` where it cannot be drawn.
    pub fn pixel_of(&self, value: f64) -> Option<f64> {
        is_drawable(value, self.log).then(|| self.clamped(value))
    }

    /// The pixel of an interval's end. Ends beyond the axis, also infinite ones, are at its edge; `None` for no number.
    pub fn pixel_of_end(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            None
        } else if self.log && value <= 0.0 {
            Some(self.start)
        } else {
            Some(self.clamped(value.clamp(-LARGEST, LARGEST)))
        }
    }

    /// Round values on the axis, about `most` of them.
    pub fn round_values(&self, unit: &str, most: usize) -> Vec<f64> {
        let most = most.max(2);
        let mut ticks = match (self.log, unit) {
            (true, "B") => self.powers(2.0, most),
            (true, _) => self.decades(most),
            (false, _) => self.steps(self.step(unit, most)),
        };
        ticks.retain(|tick| is_drawable(*tick, self.log));
        ticks
    }

    /// The distance of ticks on a linear axis, in the axis' unit.
    fn step(&self, unit: &str, most: usize) -> f64 {
        let least = (self.to - self.from) / most as f64;
        if unit == "B" {
            2f64.powf(least.log2().ceil())
        } else {
            round_above(least, &[1.0, 2.0, 2.5, 5.0, 10.0])
        }
    }

    fn inner(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }

    fn clamped(&self, value: f64) -> f64 {
        let (low, high) = (self.inner(self.from), self.inner(self.to));
        let share = ((self.inner(value) - low) / (high - low)).clamp(0.0, 1.0);
        self.start + share * (self.end - self.start)
    }

    fn steps(&self, step: f64) -> Vec<f64> {
        let first = (self.from / step).ceil();
        (0..100)
            .map(|i| (first + f64::from(i)) * step)
            .map(|v| if v.abs() < step * 1e-9 { 0.0 } else { v })
            .take_while(|v| *v <= self.to + step * 1e-9)
            .collect()
    }

    fn powers(&self, base: f64, most: usize) -> Vec<f64> {
        let exponent = |v: f64| v.log(base);
        let (low, high) = ((exponent(self.from) - 1e-9).ceil(), (exponent(self.to) + 1e-9).floor());
        if high < low {
            return Vec::new();
        }
        let stride = ((high - low + 1.0) / most as f64).ceil().max(1.0);
        let count = ((high - low) / stride).floor() as u32;
        (0..=count).map(|i| base.powf(low + f64::from(i) * stride)).collect()
    }

    /// Ticks at powers of ten, and at further mantissas where there are few decades.
    fn decades(&self, most: usize) -> Vec<f64> {
        let (low, high) = (self.from.log10().floor(), self.to.log10().ceil());
        let decades = self.to.log10() - self.from.log10();
        let between: &[f64] = match decades * 3.0 {
            _ if decades < 1.0 => &FINE_TICKS[..],
            thirds if thirds <= most as f64 => &[1.0, 2.0, 5.0],
            _ => return self.powers(10.0, most),
        };
        let within = |v: &f64| *v >= self.from * (1.0 - 1e-9) && *v <= self.to * (1.0 + 1e-9);
        let ticks: Vec<f64> = (0..=(high - low) as u32)
            .flat_map(|i| between.iter().map(move |m| m * 10f64.powf(low + f64::from(i))))
            .filter(within)
            .collect();
        // Within one octave there is at most one such tick: linear steps read better.
        if ticks.len() < 2 { self.steps(self.step("", most)) } else { ticks }
    }
}

/// The last of `mantissas` times a power of ten that is at most `most`.
fn round_below(most: f64, mantissas: &[f64]) -> f64 {
    let power = 10f64.powf(most.log10().floor());
    mantissas.iter().rev().map(|m| m * power).find(|v| *v <= most * (1.0 + 1e-9)).unwrap_or(most)
}

/// The next of `mantissas` times a power of ten that is at least `least`.
fn round_above(least: f64, mantissas: &[f64]) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    mantissas.iter().map(|m| m * power).find(|v| *v >= least * (1.0 - 1e-9)).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scale(from: f64, to: f64, log: bool) -> Scale {
        Scale { from, to, log, start: 0.0, end: 100.0 }
    }

    #[test]
    fn a_log_axis_spaces_factors_evenly() {
        let axis = scale(1e6, 1e10, true);
        assert_eq!(axis.pixel_of(1e8), Some(50.0));
        assert_eq!(axis.pixel_of(0.0), None);
        assert_eq!(axis.pixel_of(f64::NAN), None);
        assert_eq!(axis.pixel_of_end(-3.0), Some(0.0));
        assert_eq!(axis.pixel_of_end(f64::INFINITY), Some(100.0));
    }

    #[test]
    fn ticks_are_round_in_the_unit_at_hand() {
        assert_eq!(scale(1e6, 1e9, true).round_values("bit/s", 5), [1e6, 1e7, 1e8, 1e9]);
        assert_eq!(scale(64.0, 1024.0, true).round_values("B", 6), [64.0, 128.0, 256.0, 512.0, 1024.0]);
        assert_eq!(scale(0.9, 11.0, true).round_values("s", 5), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(scale(0.0, 7.0, false).round_values("s", 4), [0.0, 2.0, 4.0, 6.0]);
        let within_a_decade = [2e9, 3e9, 4e9, 5e9, 6e9, 8e9];
        assert_eq!(scale(1.5e9, 8e9, true).round_values("bit/s", 6), within_a_decade);
        assert_eq!(scale(-0.3, 0.3, false).round_values("ratio", 3), [-0.2, 0.0, 0.2]);
    }

    #[test]
    fn no_values_and_one_value_still_make_an_axis() {
        let empty = Scale::around(std::iter::empty(), false, false);
        assert_eq!((empty.from, empty.to), (0.0, 1.0));
        let one = Scale::around([8.0, f64::NAN].into_iter(), true, false);
        assert_eq!((one.from, one.to), (4.0, 16.0));
        let few = Scale { from: 4.9e-3, to: 6.8e-3, ..scale(0.0, 0.0, true) }.widened_to_round("s", 6);
        assert!((few.from - 4e-3).abs() < 1e-12 && (few.to - 8e-3).abs() < 1e-12, "{few:?}");
        let least = Scale::around([0.0, 5e-324].into_iter(), false, true);
        assert_eq!((least.from, least.to), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn every_drawable_value_lands_on_the_axis(values in proptest::collection::vec(any::<f64>(), 0..8), log: bool, zero: bool) {
            let axis = Scale::around(values.iter().copied(), log, zero).widened_by(0.05).widened_to_round("s", 5).onto_pixels(10.0, 90.0);
            for value in values {
                if let Some(pixel) = axis.pixel_of(value) {
                    prop_assert!((10.0..=90.0).contains(&pixel), "{value} at {pixel} on {axis:?}");
                }
            }
            for unit in ["s", "B"] {
                let ticks = axis.round_values(unit, 5);
                prop_assert!(ticks.len() <= 101);
                for tick in ticks {
                    prop_assert!(axis.pixel_of(tick).is_some_and(|p| p.is_finite()) , "tick {tick} on {axis:?}");
                }
            }
        }
    }
}
