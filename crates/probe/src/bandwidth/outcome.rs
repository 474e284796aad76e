//! The result for one size, and its readings.

use crosstalk_core::Fault;
use crosstalk_core::record::{Observation, Origin, Reading};
use crosstalk_core::units::Bytes;

use super::counts::{ReceivedCount, ReportedInterval, SentCount};
use super::spec::Spec;
use crate::settle::{find_settling, median};
use crate::transport::Transport;

/// What was measured for one size of write. Rates are bits a second, times seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Bytes of a write.
    pub size: Bytes,
    /// What carried them.
    pub transport: Transport,
    /// Received after warm-up, over the time it took.
    pub bandwidth: f64,
    /// Median of the whole intervals after warm-up, where there are enough.
    pub p50: Option<f64>,
    /// Every whole interval in order, warm-up included.
    pub series: Vec<f64>,
    /// Seconds of an interval.
    pub interval: f64,
    /// Sent, over the time of sending.
    pub offered: f64,
    /// Datagrams not received, of those sent; `None` over TCP, which loses none.
    pub lost: Option<f64>,
    /// Datagrams received.
    pub arrived: Option<u64>,
    /// Writes or datagrams sent.
    pub sent: u64,
    /// Writes or datagrams that were due by the rate, and not sent.
    pub not_sent: Option<u64>,
    /// Retransmitted segments of TCP, on all streams.
    pub retransmitted: Option<u64>,
    /// The sender's congestion control, over TCP.
    pub congestion: Option<String>,
    /// The receiver's congestion control, over TCP, if it reports it.
    pub receiver_congestion: Option<String>,
    /// Parallel streams.
    pub streams: usize,
    /// Whether the server sent.
    pub reverse: bool,
    /// All bytes received.
    pub received: Bytes,
    /// Seconds left out at the beginning.
    pub warm_up: f64,
    /// Whether a steady state was found. If not, half of the intervals was left out, or none of few.
    pub settled: bool,
    /// What counting one write costs at the slower of client and server.
    pub own_overhead: f64,
}

/// A report while a size is measured, as a reading.
pub fn interval_reading(spec: &Spec, size: Bytes, interval: ReportedInterval) -> (Reading, u64) {
    let rate = interval.bytes as f64 * 8.0 / interval.seconds.max(1e-9);
    let reading = Reading::value("bandwidth_lately", rate, Origin::Measured)
        .label("begin", format!("{:.2}", interval.begin))
        .label("end", format!("{:.2}", interval.begin + interval.seconds))
        .label("size", size.0)
        .label("transport", spec.transport.name());
    (reading, 1)
}

impl Outcome {
    /// Sums up what was sent and counted for one size.
    pub(super) fn new(
        spec: &Spec,
        size: Bytes,
        sent: &SentCount,
        counted: &ReceivedCount,
    ) -> Result<Self, Fault> {
        if counted.seconds <= 0.0 {
            return Err(Fault::attempt(format!(
                "{} bytes were received in {} calls: too few for a rate",
                counted.bytes, counted.receives
            ))
            .remedy("send more, or for longer"));
        }
        let interval = spec.interval.0;
        // The last interval is shorter.
        let whole = &counted.intervals[..counted.intervals.len().saturating_sub(1)];
        let series: Vec<f64> = whole.iter().map(|bytes| *bytes as f64 * 8.0 / interval).collect();
        let settling = find_settling(whole);
        let at = settling.at;
        let warm_up = at as f64 * interval;
        let early: u64 = whole[..at].iter().sum();
        let arrived = spec.transport.is_lossy().then_some(counted.receives);
        let lost = arrived.map(|arrived| 1.0 - (arrived as f64 / sent.writes.max(1) as f64).min(1.0));
        Ok(Outcome {
            size,
            transport: spec.transport,
            bandwidth: (counted.bytes - early) as f64 * 8.0 / (counted.seconds - warm_up),
            p50: median(&series[at..]),
            series,
            interval,
            offered: sent.bytes as f64 * 8.0 / sent.seconds.max(1e-9),
            lost,
            arrived,
            sent: sent.writes,
            not_sent: sent.due.map(|due| due - sent.writes.min(due)),
            retransmitted: sent.retransmitted,
            congestion: sent.congestion.clone(),
            receiver_congestion: counted.congestion.clone(),
            streams: spec.streams,
            reverse: spec.reverse,
            received: Bytes(counted.bytes),
            warm_up,
            settled: settling.found,
            own_overhead: sent.overhead.max(counted.overhead),
        })
    }

    /// The readings for the journal, each with the number of its observations.
    pub fn readings(&self) -> Vec<(Reading, u64)> {
        let n = self.series.len() as u64;
        let value = |name, v, n| (Reading::value(name, v, Origin::Measured), n);
        let (mut bandwidth, observations) = value("bandwidth", self.bandwidth, n.max(1));
        for (label, control) in
            [("congestion", &self.congestion), ("receiver_congestion", &self.receiver_congestion)]
        {
            bandwidth = control.iter().fold(bandwidth, |reading, control| reading.label(label, control));
        }
        let mut readings = vec![(bandwidth, observations)];
        readings.extend(self.p50.map(|v| value("bandwidth_p50", v, n)));
        if !self.series.is_empty() {
            let mut series =
                Reading::value("bandwidth_series", 0.0, Origin::Measured).label("interval", self.interval);
            series.observation = Observation::Series(self.series.clone());
            readings.push((series, n));
        }
        readings.push(value("offered", self.offered, self.sent));
        if let Some(arrived) = self.arrived {
            readings.push(value("sent", self.sent as f64, 1));
            readings.push(value("received", arrived as f64, 1));
        }
        readings.extend(self.lost.map(|v| value("lost", v, self.sent)));
        readings.extend(self.not_sent.map(|n| value("not_sent", n as f64, 1)));
        if let (Some(segments), Some(congestion)) = (self.retransmitted, &self.congestion) {
            let (reading, n) = value("retransmitted", segments as f64, 1);
            readings.push((reading.label("congestion", congestion), n));
        }
        let (warm_up, n) = value("warm_up", self.warm_up, 1);
        readings.push((warm_up.label("settled", self.settled), n));
        readings.push(value("own_overhead", self.own_overhead, 1));
        readings.into_iter().map(|(reading, n)| (self.labelled(reading), n)).collect()
    }

    fn labelled(&self, reading: Reading) -> Reading {
        let named = reading.label("size", self.size.0).label("transport", self.transport.name());
        let named = if self.streams > 1 { named.label("streams", self.streams) } else { named };
        if self.reverse { named.label("direction", "reverse") } else { named }
    }
}
