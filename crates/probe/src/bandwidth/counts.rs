//! What sender and receiver have counted.

use serde::{Deserialize, Serialize};

/// What the receiver has counted, on all streams together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReceivedCount {
    /// Bytes of payload in all.
    pub bytes: u64,
    /// Receive calls that returned bytes; over UDP the datagrams.
    pub receives: u64,
    /// From the first byte to the last, in seconds.
    pub seconds: f64,
    /// Bytes in each interval since the first byte; the last interval is shorter.
    pub intervals: Vec<u64>,
    /// What counting one receive costs, in seconds.
    pub overhead: f64,
    /// The congestion control of the receiver, over TCP.
    pub congestion: Option<String>,
}

/// What the receiver has counted since its last report.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReportedInterval {
    /// Seconds since the first byte.
    pub begin: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// Bytes of payload.
    pub bytes: u64,
}

/// What the sender has counted, on all streams together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SentCount {
    /// Bytes of payload.
    pub bytes: u64,
    /// Writes, or datagrams.
    pub writes: u64,
    /// From before the first to after the last, in seconds.
    pub seconds: f64,
    /// Writes that were due by then, if there is a rate.
    pub due: Option<u64>,
    /// Retransmitted segments, over TCP.
    pub retransmitted: Option<u64>,
    /// The congestion control of the sender, over TCP, as the kernel says after the last write.
    pub congestion: Option<String>,
    /// What timing one write costs, in seconds.
    pub overhead: f64,
}

impl SentCount {
    /// Adds the counts of another stream.
    pub fn add(&mut self, other: SentCount) {
        self.bytes += other.bytes;
        self.writes += other.writes;
        self.seconds = self.seconds.max(other.seconds);
        self.due = self.due.or(other.due.map(|_| 0)).map(|due| due + other.due.unwrap_or(0));
        self.retransmitted = match (self.retransmitted, other.retransmitted) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
        self.congestion = self.congestion.take().or(other.congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(retransmitted: Option<u64>) -> SentCount {
        let congestion = retransmitted.map(|_| "reno".to_string());
        SentCount { bytes: 10, writes: 1, seconds: 1.0, retransmitted, congestion, ..SentCount::default() }
    }

    #[test]
    fn retransmissions_of_streams_add_up() {
        let mut sum = SentCount::default();
        [3, 0, 4].into_iter().for_each(|segments| sum.add(stream(Some(segments))));
        assert_eq!((sum.retransmitted, sum.congestion.as_deref()), (Some(7), Some("reno")));
    }

    proptest! {
        #[test]
        fn streams_that_are_no_tcp_add_none(streams in proptest::collection::vec(any::<Option<u32>>(), 0..20)) {
            let mut sum = SentCount::default();
            streams.iter().for_each(|segments| sum.add(stream(segments.map(u64::from))));
            let known: Vec<u64> = streams.iter().flatten().map(|segments| u64::from(*segments)).collect();
            prop_assert_eq!(sum.retransmitted, (!known.is_empty()).then(|| known.iter().sum()));
            prop_assert_eq!(sum.congestion.is_some(), sum.retransmitted.is_some());
        }
    }
}
