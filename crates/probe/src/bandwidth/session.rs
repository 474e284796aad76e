//! One size of write, as the client describes it to the server.

use serde::{Deserialize, Serialize};

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;

use crate::transport::Transport;

/// The largest number of parallel streams.
pub const MOST_STREAMS: usize = 128;

/// The shortest time between two reports, in seconds: more of them would load the network.
pub const LEAST_REPORT: f64 = 0.1;

/// What client and server agree on to measure one size of write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What carries the bytes.
    pub transport: Transport,
    /// Bytes of a write.
    pub size: u64,
    /// How long it takes at most, in seconds.
    pub seconds: f64,
    /// The most bytes of each stream.
    pub bytes: Option<u64>,
    /// The rate of each stream, in bits a second; `None`: as fast as the transport takes it.
    pub rate: Option<f64>,
    /// Seconds of an interval of the series.
    pub interval: f64,
    /// Seconds between two reports of the receiver; `None`: no reports.
    pub report: Option<f64>,
    /// Parallel streams.
    pub streams: usize,
    /// Whether the server sends.
    pub reverse: bool,
    /// The congestion control of sender and receiver.
    pub congestion: Option<String>,
    /// Whether the sender's writes leave at once, without Nagle's delay.
    pub no_delay: bool,
    /// The server's processor.
    pub pin: Option<usize>,
}

impl Session {
    /// Refuses a session that cannot be served: any values may come from another host.
    ///
    /// # Errors
    /// A usage fault.
    pub fn check(&self) -> Result<(), Fault> {
        self.transport.check_size(Bytes(self.size))?;
        let at_least = |value: Option<f64>, least: f64| value.is_none_or(|it| it.is_finite() && it >= least);
        let is_possible = (1..=MOST_STREAMS).contains(&self.streams)
            && at_least(self.rate, f64::MIN_POSITIVE)
            && at_least(self.report, LEAST_REPORT);
        if is_possible {
            Ok(())
        } else {
            Err(Fault::usage(format!("this session cannot be served: {self:?}")))
        }
    }

    /// Nanoseconds between two writes of a stream.
    pub fn gap(&self) -> f64 {
        self.rate.map_or(0.0, |rate| self.size as f64 * 8e9 / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session {
            transport: Transport::Tcp,
            size: 1,
            seconds: 1.0,
            bytes: None,
            rate: None,
            interval: 0.01,
            report: None,
            streams: 1,
            reverse: false,
            congestion: None,
            no_delay: false,
            pin: None,
        }
    }

    #[test]
    fn values_from_another_host_are_checked() {
        assert_eq!(session().check(), Ok(()));
        assert!(Session { size: 0, ..session() }.check().is_err());
        assert!(Session { streams: 0, ..session() }.check().is_err());
        assert!(Session { streams: 1 << 40, ..session() }.check().is_err());
        assert!(Session { rate: Some(-1.0), ..session() }.check().is_err());
        assert!(Session { report: Some(1e-9), ..session() }.check().is_err());
    }
}
