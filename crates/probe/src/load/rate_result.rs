//! The result of one rate.

use crosstalk_core::histogram::Histogram;

/// What was measured at one rate of messages. Times in histograms are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct RateResult {
    /// From when a message was due to its reply.
    pub latency: Histogram,
    /// From when a message was due to when the transport had taken all of it.
    pub sent_late: Histogram,
    /// Messages due.
    pub due: u64,
    /// Messages sent, of those.
    pub sent: u64,
    /// How long messages were due: to the last one, and one gap more, in nanoseconds.
    pub span: u64,
    /// From the first message that was due to the last reply, in nanoseconds.
    pub elapsed: u64,
}

/// The share of messages that may be missing at a rate that is kept up with.
const MISSING: f64 = 0.001;
/// How much later than due the last reply may be: as a share of the span, and in nanoseconds.
const BEHIND: (f64, u64) = (0.01, 2_000_000);

impl RateResult {
    /// The number of replies a second.
    pub fn achieved_rate(&self) -> f64 {
        self.latency.count() as f64 / (self.elapsed.max(self.span).max(1) as f64 * 1e-9)
    }

    /// The share of those sent that was not answered.
    pub fn lost_share(&self) -> f64 {
        1.0 - self.latency.count() as f64 / self.sent.max(1) as f64
    }

    /// The share of those due that was not answered, sent or not.
    fn missing(&self) -> f64 {
        1.0 - self.latency.count() as f64 / self.due.max(1) as f64
    }

    /// Whether the replies came as fast as the messages were due.
    pub fn kept_up(&self) -> bool {
        let slack = BEHIND.1.max((self.span as f64 * BEHIND.0) as u64);
        self.missing() <= MISSING && self.elapsed <= self.span + slack
    }
}
