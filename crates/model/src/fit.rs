//! A fabric's parameters from measured times.
//!
//! What can be measured from outside, and what LogGOPS says of it, for `s` bytes:
//! - half a round trip: `2o + L + (s−1)·max(O, G)`;
//! - the gap between messages of a stream: `max(g + (s−1)·G, o + (s−1)·O)`;
//! - how long a send keeps the CPU: `o + (s−1)·O` (optional).
//!
//! Each is a line over `s − 1`. Lines are fitted by least *relative* absolute
//! deviations: relative, because times span five decades and every size is to
//! count the same; absolute deviations, because a few disturbed measurements
//! must not bend the line. They are found by iteratively reweighted least
//! squares (Schlossmacher 1973). G is the slope of the half round trips where
//! the CPU does not bound them.
//!
//! Without the time of sends, o cannot be told from g: a stream of small
//! messages is bound by the greater of both. o is then taken to be g, at most
//! half of the shortest half round trip, and O to be zero.

use crosstalk_core::Fault;
use crosstalk_core::fabric::{Costs, Step};
use crosstalk_core::units::{Bytes, Seconds};

/// Rounds of reweighting; it converges in about ten.
const ROUNDS: usize = 100;
/// Deviations below this part of the value weigh the same: avoids division by zero.
const NEGLIGIBLE: f64 = 1e-9;

/// Times by size, in seconds and bytes. Several times of one size are welcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Half round trips.
    pub half_round_trip: Vec<(u64, f64)>,
    /// Time between two messages of a stream.
    pub gap: Vec<(u64, f64)>,
    /// Time that a send keeps the CPU; may be empty.
    pub send: Vec<(u64, f64)>,
}

impl Measured {
    /// The times of sizes from `least` on, below `end`.
    fn between(&self, least: u64, end: u64) -> Measured {
        let cut = |times: &[(u64, f64)]| {
            times.iter().copied().filter(|(size, _)| (least..end).contains(size)).collect()
        };
        Measured { half_round_trip: cut(&self.half_round_trip), gap: cut(&self.gap), send: cut(&self.send) }
    }
}

/// `time = start + (size − 1) · each`, both at least zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Seconds for a message of one byte.
    pub start: f64,
    /// Seconds for each further byte.
    pub each: f64,
}

impl Line {
    /// The line of least relative absolute deviations. A fault unless there
    /// are positive times of two sizes at least.
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
                let off = (line.at(x) - time).abs().max(NEGLIGIBLE * time);
                1.0 / (time * off)
            });
        }
        Ok(line)
    }

    fn at(&self, x: f64) -> f64 {
        self.start + x * self.each
    }

    /// Weighted least squares; a negative slope or start is held at zero.
    fn weighted(points: &[(f64, f64)], weight: impl Fn((f64, f64)) -> f64) -> Self {
        let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&point| weight(point) * term(point.0, point.1)).sum()
        };
        let (w, wx, wy) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
        let (wxx, wxy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
        let each = (w * wxy - wx * wy) / (w * wxx - wx * wx);
        let start = (wy - each * wx) / w;
        if each.is_nan() || each <= 0.0 {
            Line { start: wy / w, each: 0.0 }
        } else if start < 0.0 {
            Line { start: 0.0, each: wxy / wxx }
        } else {
            Line { start, each }
        }
    }
}

/// The costs that explain the times best.
pub fn fit(measured: &Measured) -> Result<Costs, Fault> {
    let trip = Line::fit(&measured.half_round_trip, "half round trips")?;
    let gap = Line::fit(&measured.gap, "gaps")?;
    let send = if measured.send.is_empty() {
        Line { start: gap.start.min(trip.start / 2.0), each: 0.0 }
    } else {
        Line::fit(&measured.send, "sends")?
    };
    let overhead = send.start.min(trip.start / 2.0);
    Ok(Costs {
        latency: Seconds(trip.start - 2.0 * overhead),
        overhead: Seconds(overhead),
        gap: Seconds(gap.start),
        gap_per_byte: Seconds(trip.each),
        overhead_per_byte: Seconds(send.each.min(trip.each)),
    })
}

/// Costs for sizes below the first of `bounds`, and steps from each bound on:
/// for transports whose times are no single line. Every range needs times of
/// two sizes at least.
pub fn fit_steps(measured: &Measured, bounds: &[u64]) -> Result<(Costs, Vec<Step>), Fault> {
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

    /// What LogGOPS says, in nanoseconds, each time off by a factor.
    fn measured(l: f64, o: f64, g: f64, gb: f64, ob: f64, off: impl Fn(usize) -> f64) -> Measured {
        let times = |start: f64, each: f64| {
            let time = |(i, s): (usize, &u64)| (*s, (start + (s - 1) as f64 * each) * 1e-9 * off(i));
            SIZES.iter().enumerate().map(time).collect()
        };
        Measured { half_round_trip: times(l + 2.0 * o, gb.max(ob)), gap: times(g, gb), send: times(o, ob) }
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
    fn two_disturbed_sizes_do_not_bend_the_line() {
        let strike = |i| if i == 2 || i == 6 { 3.0 } else { 1.0 };
        let costs = fit(&measured(5000.0, 1000.0, 2000.0, 8.0, 0.5, strike)).expect("fits");
        assert!(close(costs.latency, 5000.0, 0.01) && close(costs.gap_per_byte, 8.0, 0.01), "{costs:?}");
    }

    #[test]
    fn without_send_times_the_overhead_is_the_gap() {
        let times = Measured { send: Vec::new(), ..measured(5000.0, 1000.0, 2000.0, 8.0, 0.0, |_| 1.0) };
        let costs = fit(&times).expect("fits");
        assert!(close(costs.overhead, 2000.0, 1e-6) && close(costs.latency, 3000.0, 1e-6), "{costs:?}");
    }

    #[test]
    fn steps_fit_each_range_by_itself() {
        let (mut low, high) = (
            measured(5000.0, 1000.0, 2000.0, 8.0, 0.0, |_| 1.0),
            measured(9000.0, 3000.0, 4000.0, 2.0, 0.0, |_| 1.0),
        );
        for (low, high) in [
            (&mut low.half_round_trip, &high.half_round_trip),
            (&mut low.gap, &high.gap),
            (&mut low.send, &high.send),
        ] {
            low.splice(5.., high[5..].iter().copied());
        }
        let (first, steps) = fit_steps(&low, &[16_384]).expect("fits");
        assert!(close(first.gap_per_byte, 8.0, 1e-6));
        assert_eq!((steps.len(), steps[0].from), (1, Bytes(16_384)));
        assert!(close(steps[0].costs.gap_per_byte, 2.0, 1e-6) && close(steps[0].costs.latency, 9000.0, 1e-6));
    }

    #[test]
    fn one_size_is_too_few() {
        let times = Measured { half_round_trip: vec![(64, 1e-6); 9], ..Measured::default() };
        assert!(fit(&times).expect_err("refused").to_string().contains("two sizes"));
        assert!(Line::fit(&[], "anything").is_err());
    }

    proptest! {
        #[test]
        fn noise_within_two_percent_moves_no_prediction_beyond_four(
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
