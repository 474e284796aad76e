//! The result for one size, and its readings.

use crosstalk_core::histogram::Histogram;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::units::Bytes;

use super::samples::Samples;
use super::spec::Spec;
use super::stages::Stages;
use crate::mode::Mode;
use crate::settle::{find_settling, percentile};
use crate::transport::Transport;

/// What was measured for one size of message. Times are nanoseconds in histograms, seconds
/// elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Bytes of a message.
    pub size: Bytes,
    /// What carried it.
    pub transport: Transport,
    /// How client and server waited.
    pub mode: Mode,
    /// The round trip.
    pub round_trip: Histogram,
    /// Half of each round trip.
    pub half_round_trip: Histogram,
    /// The time to the server, or why it is unknown.
    pub one_way: Result<Histogram, String>,
    /// Percentiles of the round trip for which there are enough messages: quantile, seconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Messages sent.
    pub sent: u64,
    /// Not answered in time.
    pub lost: u64,
    /// Replies that arrived after their message counted as lost.
    pub late: u64,
    /// Messages left out at the beginning.
    pub warm_up: u64,
    /// Whether a steady state was found. If not, half of the messages was left out, or none of few.
    pub settled: bool,
    /// What timing one message costs, in seconds.
    pub own_overhead: f64,
    /// Where the time went, if `stages` is set.
    pub stages: Option<Stages>,
}

/// The percentiles that are reported, and the metrics that carry them.
const PERCENTILES: [(f64, &str); 3] =
    [(0.5, "round_trip_p50"), (0.99, "round_trip_p99"), (0.999, "round_trip_p999")];

impl Outcome {
    /// Sums up the samples of one size. `no_one_way`: why the time to the server is unknown.
    pub(super) fn new(
        spec: &Spec,
        size: Bytes,
        samples: &Samples,
        no_one_way: Option<String>,
        own_overhead: f64,
    ) -> Self {
        let settling = find_settling(&samples.round_trips);
        let kept = &samples.round_trips[settling.at..];
        let round_trip = histogram(kept.iter().copied());
        let one_way = match no_one_way {
            Some(reason) => Err(reason),
            None => Ok(histogram(samples.one_ways[settling.at..].iter().copied())),
        };
        let percentiles =
            PERCENTILES.iter().filter_map(|(q, _)| Some((*q, percentile(&round_trip, *q)? * 1e-9))).collect();
        Outcome {
            size,
            transport: spec.transport,
            mode: spec.mode,
            half_round_trip: histogram(kept.iter().map(|ns| ns / 2)),
            round_trip,
            one_way,
            percentiles,
            sent: samples.sent,
            lost: samples.lost,
            late: samples.late,
            warm_up: settling.at as u64,
            settled: settling.found,
            own_overhead,
            stages: spec.stages.then(|| Stages::of(samples, settling.at)),
        }
    }

    /// The readings for the journal, each with the number of its observations.
    pub fn readings(&self) -> Vec<(Reading, u64)> {
        let n = self.round_trip.count();
        let measured =
            |name, h: &Histogram| (Reading::histogram(name, h.clone(), Origin::Measured), h.count());
        let value = |name, v, n| (Reading::value(name, v, Origin::Measured), n);
        let mut readings = vec![measured("round_trip", &self.round_trip)];
        let half = Reading::histogram("half_round_trip", self.half_round_trip.clone(), Origin::Computed);
        readings.push((half, n));
        readings.extend(self.one_way.iter().map(|h| measured("one_way", h)));
        for (q, v) in &self.percentiles {
            let name = PERCENTILES.iter().find(|(known, _)| known == q).map(|(_, name)| *name);
            readings.extend(name.map(|name| value(name, *v, n)));
        }
        if self.transport.is_lossy() {
            readings.push(value("lost", self.lost as f64 / self.sent.max(1) as f64, self.sent));
        }
        let (warm_up, n) = value("warm_up", self.warm_up as f64, 1);
        readings.push((warm_up.label("settled", self.settled), n));
        readings.push(value("own_overhead", self.own_overhead, 1));
        readings.extend(self.stages.iter().flat_map(Stages::readings));
        readings.into_iter().map(|(reading, n)| (self.labelled(reading), n)).collect()
    }

    fn labelled(&self, reading: Reading) -> Reading {
        reading
            .label("size", self.size.0)
            .label("transport", self.transport.name())
            .label("mode", self.mode.name())
    }
}

fn histogram(values: impl Iterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::default();
    values.for_each(|v| histogram.record(v));
    histogram
}
