//! Fits a fabric's parameters to measured times.
//!
//! Three times of a message of `s` bytes can be measured. LogGOPS predicts:
//! - half a round trip: `2o + L + (s−1)·max(O, G)`;
//! - the gap between messages of a stream: `max(g + (s−1)·G, o + (s−1)·O)`;
//! - how long a send keeps the CPU: `o + (s−1)·O` (optional).
//!
//! Each is a line over `s − 1`, fitted by least *relative* absolute deviations.
//! Relative, because times span five decades and every size has the same weight.
//! Absolute deviations, because a few disturbed measurements must not change the
//! line. Iteratively reweighted least squares finds it (Schlossmacher 1973). G is
//! the slope of the half round trips if the CPU does not bound them.
//!
//! Without the time of sends, o and g cannot be separated: the greater of them
//! bounds a stream of small messages. Then o is taken to be g, but at most half
//! of the shortest half round trip, and O to be zero.

use crosstalk_core::Fault;
use crosstalk_core::fabric::{Costs, Step};
use crosstalk_core::units::{Bytes, Seconds};

/// Iterations of reweighting; it converges in about ten.
const ROUNDS: usize = 100;
/// Relative deviations below this have the same weight: avoids division by zero.
const NEGLIGIBLE: f64 = 1e-9;

/// Measured times: each a size in bytes and a time in seconds. A size may have several times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredTimes {
    /// Half round trips.
    pub half_round_trip: Vec<(u64, f64)>,
    /// Times between two messages of a stream.
    pub gap: Vec<(u64, f64)>,
    /// Times for which a send occupies the CPU; may be empty.
    pub send: Vec<(u64, f64)>,
}

impl MeasuredTimes {
    /// The times of sizes from `least` on, below `end`.
    fn between(&self, least: u64, end: u64) -> MeasuredTimes {
        let select = |times: &[(u64, f64)]| {
            times.iter().copied().filter(|(size, _)| (least..end).contains(size)).collect()
        };
        MeasuredTimes {
            half_round_trip: select(&self.half_round_trip),
            gap: select(&self.gap),
            send: select(&self.send),
        }
    }
}

/// `time = first_byte + (size − 1) · per_byte`, both at least zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Seconds for a message of one byte.
    pub first_byte: f64,
    /// Seconds for each further byte.
    pub per_byte: f64,
}

impl Line {
    /// The line of least relative absolute deviations from `times`, each a size in bytes and a
    /// time in seconds.
    ///
    /// # Errors
    /// An attempt fault that names `what`: there are no positive times of at least two sizes.
    pub fn fit(times: &[(u64, f64)], what: &str) -> Result<Self, Fault> {
        let points: Vec<(f64, f64)> = times
            .iter()
            .filter(|(_, time)| time.is_finite() && *time > 0.0)
            .map(|(size, time)| (size.saturating_sub(1) as f64, *time))
            .collect();
        if points.iter().all(|point| point.0 == points[0].0) {
            return Err(Fault::attempt(format!(
                "expected times of {what} for at least two sizes, found {} times of one",
                points.len()
            )));
        }
        let mut line = Self::weighted(&points, |(_, time)| 1.0 / (time * time));
        for _ in 0..ROUNDS {
            line = Self::weighted(&points, |(x, time)| {
                let deviation = (line.at(x) - time).abs().max(NEGLIGIBLE * time);
                1.0 / (time * deviation)
            });
        }
        Ok(line)
    }

    fn at(&self, x: f64) -> f64 {
        self.first_byte + x * self.per_byte
    }

    /// Weighted least squares; a negative slope or intercept is replaced by zero.
    fn weighted(points: &[(f64, f64)], weight: impl Fn((f64, f64)) -> f64) -> Self {
        let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&point| weight(point) * term(point.0, point.1)).sum()
        };
        let (w, wx, wy) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
        let (wxx, wxy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
        let per_byte = (w * wxy - wx * wy) / (w * wxx - wx * wx);
        let first_byte = (wy - per_byte * wx) / w;
        if per_byte.is_nan() || per_byte <= 0.0 {
            Line { first_byte: wy / w, per_byte: 0.0 }
        } else if first_byte < 0.0 {
            Line { first_byte: 0.0, per_byte: wxy / wxx }
        } else {
            Line { first_byte, per_byte }
        }
    }
}

/// The costs that explain the times best.
///
/// # Errors
/// An attempt fault: half round trips, gaps or sends have no times of at least two sizes.
pub fn fit(measured: &MeasuredTimes) -> Result<Costs, Fault> {
    let half = Line::fit(&measured.half_round_trip, "half round trips")?;
    let gap = Line::fit(&measured.gap, "gaps")?;
    let send = if measured.send.is_empty() {
        Line { first_byte: gap.first_byte.min(half.first_byte / 2.0), per_byte: 0.0 }
    } else {
        Line::fit(&measured.send, "sends")?
    };
    let overhead = send.first_byte.min(half.first_byte / 2.0);
    Ok(Costs {
        latency: Seconds(half.first_byte - 2.0 * overhead),
        overhead: Seconds(overhead),
        gap: Seconds(gap.first_byte),
        gap_per_byte: Seconds(half.per_byte),
        overhead_per_byte: Seconds(send.per_byte.min(half.per_byte)),
    })
}

/// Costs for sizes below the first of `bounds`, and a step from each bound on, in
/// bytes: for transports with different lines for different sizes.
///
/// # Errors
/// As [`fit`], for each range.
pub fn fit_steps(measured: &MeasuredTimes, bounds: &[u64]) -> Result<(Costs, Vec<Step>), Fault> {
    let ends = bounds.iter().copied().chain([u64::MAX]);
    let starts = [0].into_iter().chain(bounds.iter().copied());
    let mut costs = starts
        .zip(ends)
        .map(|(start, end)| Ok((start, fit(&measured.between(start, end))?)))
        .collect::<Result<Vec<(u64, Costs)>, Fault>>()?;
    let (_, first) = costs.remove(0);
    Ok((first, costs.into_iter().map(|(from, costs)| Step { from: Bytes(from), costs }).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZES: [u64; 8] = [1, 64, 256, 1024, 4096, 16_384, 65_536, 1 << 20];

    /// The times that LogGOPS predicts, in nanoseconds, each multiplied by a factor.
    fn measured(l: f64, o: f64, g: f64, gb: f64, ob: f64, factor: impl Fn(usize) -> f64) -> MeasuredTimes {
        let times = |first_byte: f64, per_byte: f64| {
            let time =
                |(i, s): (usize, &u64)| (*s, (first_byte + (s - 1) as f64 * per_byte) * 1e-9 * factor(i));
            SIZES.iter().enumerate().map(time).collect()
        };
        MeasuredTimes {
            half_round_trip: times(l + 2.0 * o, gb.max(ob)),
            gap: times(g, gb),
            send: times(o, ob),
        }
    }

    fn close(found: Seconds, expected_ns: f64, tolerance: f64) -> bool {
        (found.0 * 1e9 - expected_ns).abs() <= tolerance * expected_ns
    }

    #[test]
    fn exact_times_give_the_parameters_back() {
        let costs = fit(&measured(5000.0, 1000.0, 2000.0, 8.0, 0.5, |_| 1.0)).expect("fits");
        assert!(close(costs.latency, 5000.0, 1e-6), "{costs:?}");
        assert!(close(costs.overhead, 1000.0, 1e-6));
        assert!(close(costs.gap, 2000.0, 1e-6));
        assert!(close(costs.gap_per_byte, 8.0, 1e-6));
        assert!(close(costs.overhead_per_byte, 0.5, 1e-6));
    }

    #[test]
    fn two_disturbed_sizes_do_not_change_the_line() {
        let disturbance = |i| if i == 2 || i == 6 { 3.0 } else { 1.0 };
        let costs = fit(&measured(5000.0, 1000.0, 2000.0, 8.0, 0.5, disturbance)).expect("fits");
        assert!(close(costs.latency, 5000.0, 0.01) && close(costs.gap_per_byte, 8.0, 0.01), "{costs:?}");
    }

    #[test]
    fn without_send_times_the_overhead_is_the_gap() {
        let times = MeasuredTimes { send: Vec::new(), ..measured(5000.0, 1000.0, 2000.0, 8.0, 0.0, |_| 1.0) };
        let costs = fit(&times).expect("fits");
        assert!(close(costs.overhead, 2000.0, 1e-6) && close(costs.latency, 3000.0, 1e-6), "{costs:?}");
    }

    #[test]
    fn steps_fit_each_range_by_itself() {
        let (mut short, long) = (
            measured(5000.0, 1000.0, 2000.0, 8.0, 0.0, |_| 1.0),
            measured(9000.0, 3000.0, 4000.0, 2.0, 0.0, |_| 1.0),
        );
        for (short, long) in [
            (&mut short.half_round_trip, &long.half_round_trip),
            (&mut short.gap, &long.gap),
            (&mut short.send, &long.send),
        ] {
            short.splice(5.., long[5..].iter().copied());
        }
        let (first, steps) = fit_steps(&short, &[16_384]).expect("fits");
        assert!(close(first.gap_per_byte, 8.0, 1e-6));
        assert_eq!((steps.len(), steps[0].from), (1, Bytes(16_384)));
        assert!(close(steps[0].costs.gap_per_byte, 2.0, 1e-6) && close(steps[0].costs.latency, 9000.0, 1e-6));
    }

    #[test]
    fn one_size_is_too_few() {
        let times = MeasuredTimes { half_round_trip: vec![(64, 1e-6); 9], ..MeasuredTimes::default() };
        assert!(fit(&times).expect_err("refused").to_string().contains("two sizes"));
        assert!(Line::fit(&[], "anything").is_err());
    }

    proptest! {
        #[test]
                fn noise_of_two_percent_changes_no_prediction_by_four(
            l in 1e3..1e5, o in 1e2..1e4, gb in 0.05..10.0, noise in proptest::collection::vec(0.98..1.02, 8),
        ) {
            let costs = fit(&measured(l, o, 2.0 * o, gb, 0.0, |i| noise[i])).expect("fits");
            for size in SIZES {
                let found = 2.0 * costs.overhead.0 + costs.latency.0 + (size - 1) as f64 * costs.gap_per_byte.0;
                let exact = (l + 2.0 * o + (size - 1) as f64 * gb) * 1e-9;
                prop_assert!((found / exact - 1.0).abs() < 0.04, "{size}: {found} {exact}");
            }
        }
    }
}
