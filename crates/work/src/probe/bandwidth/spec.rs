//! What to measure, as parameters say it and as the serving end is told.

use serde::{Deserialize, Serialize};

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{BitRate, Bytes, Seconds};
use crosstalk_core::value::{Params, Value};

use crate::probe::arguments::{PIN, TRANSPORT, Transport, duration, pins, positive, sizes};

/// The parameters of the probe.
pub const PARAMETERS: Parameters = Parameters(&[&[
    TRANSPORT,
    Parameter::new("size", "1400 B over UDP, else 64 KiB", "of a write: one, or a list"),
    Parameter::new("duration", "2 s", "of each size, at most"),
    Parameter::new("bytes", "no limit", "sent at most"),
    Parameter::new("rate", "what the socket takes", "of datagrams, in bits a second (UDP)"),
    Parameter::new("interval", "10 ms", "of the series"),
    PIN,
]]);

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What carries the bytes.
    pub transport: Transport,
    /// Sizes of a write (over UDP of a datagram), one after the other.
    pub sizes: Vec<Bytes>,
    /// How long to send at most.
    pub duration: Seconds,
    /// How much to send at most; `None`: as much as goes in the time.
    pub bytes: Option<Bytes>,
    /// How fast to send datagrams; `None`: as fast as the socket takes them.
    pub rate: Option<BitRate>,
    /// How long an interval of the series is.
    pub interval: Seconds,
    /// Processors of the measuring and the serving end; `None`: not pinned.
    pub pin: [Option<usize>; 2],
}

impl Spec {
    /// From a workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.only(PARAMETERS)?;
        let transport = Transport::from_params(params)?;
        // A datagram that fits an Ethernet frame is one packet.
        let default = if transport == Transport::Udp { Bytes(1400) } else { Bytes(65_536) };
        let sizes = sizes(params, default)?;
        sizes.iter().try_for_each(|size| transport.carries(*size))?;
        let bytes = params.get("bytes").map(|_| params.size("bytes", Bytes(1))).transpose()?;
        let interval = positive("interval", params.seconds("interval", Seconds(0.01))?)?;
        let duration = duration(params, Seconds(2.0))?;
        if duration.0 / interval.0 > 1e5 {
            return Err(Fault::usage("expected at most 100,000 intervals").at("parameter `interval`"));
        }
        Ok(Spec {
            transport,
            sizes,
            duration,
            bytes,
            rate: rate(params, transport)?,
            interval,
            pin: pins(params)?,
        })
    }

    /// About how long it takes in all, in seconds.
    pub fn seconds(&self) -> f64 {
        self.sizes.len() as f64 * (self.duration.0 + 0.1) + 0.1
    }

    /// What the serving end is told for one size.
    pub fn session(&self, size: Bytes) -> Session {
        Session {
            transport: self.transport,
            size: size.0,
            seconds: self.duration.0,
            interval: self.interval.0,
            pin: self.pin[1],
        }
    }
}

/// The parameter `rate`.
fn rate(params: &Params, transport: Transport) -> Result<Option<BitRate>, Fault> {
    let rate = match params.get("rate") {
        None => return Ok(None),
        Some(_) if transport != Transport::Udp => {
            return Err(Fault::usage(format!("`{}` finds its rate by itself", transport.name()))
                .at("parameter `rate`")
                .remedy("leave `rate` out, or take transport = \"udp\""));
        }
        Some(Value::Text(text)) => text.parse().map_err(|f: Fault| f.at("parameter `rate`"))?,
        Some(_) => BitRate(params.float("rate", 0.0)?),
    };
    if rate.0 > 0.0 {
        return Ok(Some(rate));
    }
    Err(Fault::usage(format!("expected a rate above zero, found {} bit/s", rate.0))
        .at("parameter `rate`")
        .remedy("write for example rate = \"100 Mbit/s\""))
}

/// One size, as the serving end is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What carries the bytes.
    pub transport: Transport,
    /// Bytes of a write.
    pub size: u64,
    /// How long it will go on at most.
    pub seconds: f64,
    /// Seconds of an interval.
    pub interval: f64,
    /// Processor to run on.
    pub pin: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, value: impl Into<Value>) -> Fault {
        Spec::from_params(&Params::default().with("transport", "udp").with(name, value))
            .expect_err("is refused")
    }

    #[test]
    fn it_needs_no_parameter() {
        let spec = Spec::from_params(&Params::default()).expect("reads");
        assert_eq!((spec.transport, spec.sizes, spec.rate), (Transport::Tcp, vec![Bytes(65_536)], None));
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anything_runs() {
        assert!(refused("size", 65_508).message.contains("65507"));
        assert_eq!(refused("size", 0).place.as_deref(), Some("parameter `size`"));
        assert_eq!(refused("bytes", "0 B").place.as_deref(), Some("parameter `bytes`"));
        assert_eq!(refused("rate", "0 bit/s").place.as_deref(), Some("parameter `rate`"));
        assert_eq!(refused("rate", -1).place.as_deref(), Some("parameter `rate`"));
        assert_eq!(refused("interval", "1 ns").place.as_deref(), Some("parameter `interval`"));
    }

    #[test]
    fn a_rate_is_for_datagrams() {
        let params = Params::default().with("rate", "1 Gbit/s");
        assert!(Spec::from_params(&params).expect_err("is refused").remedy.is_some());
        let spec = Spec::from_params(&params.with("transport", "udp")).expect("reads");
        assert_eq!(spec.rate, Some(BitRate(1e9)));
    }
}
