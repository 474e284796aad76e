//! What to measure, as parameters say it and as the serving end is told.

use serde::{Deserialize, Serialize};

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{BitRate, Bytes, Seconds, human};
use crosstalk_core::value::{Params, Value, parameter};

use crate::arguments::{PIN, TRANSPORT, Transport, duration, pins, positive, sizes};

/// The parameters of the probe.
pub const PARAMETERS: Parameters = Parameters(&[&[
    TRANSPORT,
    Parameter::new("size", "1400 B over UDP, else 64 KiB", "of a write: one, or a list"),
    Parameter::new("duration", "2 s", "of each size, at most"),
    Parameter::new("bytes", "no limit", "sent at most, by each stream"),
    Parameter::new("rate", "what the socket takes", "of each stream, in bits a second"),
    Parameter::new("streams", "1", "side by side, each with a thread at either end"),
    Parameter::new("reverse", "false", "whether the serving end sends and the measuring end receives"),
    Parameter::new("congestion", "the system's", "control of the end that sends, over TCP, such as `reno`"),
    Parameter::new("interval", "10 ms", "of the series"),
    Parameter::new("report", "never", "how often to tell, while it goes on, what has come"),
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
    /// How much each stream sends at most; `None`: as much as goes in the time.
    pub bytes: Option<Bytes>,
    /// How fast each stream sends; `None`: as fast as the socket takes it.
    pub rate: Option<BitRate>,
    /// How many go side by side.
    pub streams: usize,
    /// Whether the serving end sends.
    pub reverse: bool,
    /// The congestion control of the end that sends; `None`: the system's.
    pub congestion: Option<String>,
    /// How often to tell what has come; `None`: at the end alone.
    pub report: Option<Seconds>,
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
            return Err(Fault::usage("expected at most 100,000 intervals").of_parameter("interval"));
        }
        Ok(Spec {
            transport,
            sizes,
            duration,
            bytes,
            rate: rate(params)?,
            streams: params.bounded("streams", 1, 1, MOST_STREAMS as u64)? as usize,
            reverse: params.flag("reverse", false)?,
            congestion: congestion(params, transport)?,
            report: report(params, interval)?,
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
            bytes: self.bytes.map(|bytes| bytes.0),
            rate: self.rate.map(|rate| rate.0),
            interval: self.interval.0,
            report: self.report.map(|report| report.0),
            streams: self.streams,
            reverse: self.reverse,
            congestion: self.congestion.clone(),
            pin: self.pin[1],
        }
    }
}

/// The most streams side by side.
const MOST_STREAMS: usize = 128;

/// The highest rate that is held to, in bits a second: no machine reaches it.
const MOST_RATE: f64 = 1e13;

/// The parameter `rate`.
fn rate(params: &Params) -> Result<Option<BitRate>, Fault> {
    let rate = match params.get("rate") {
        None => return Ok(None),
        Some(Value::Text(text)) => text.parse().map_err(|f: Fault| f.of_parameter("rate"))?,
        Some(_) => BitRate(params.float("rate", 0.0)?),
    };
    if rate.0 > MOST_RATE {
        return Err(Fault::usage(format!(
            "expected a rate of at most 10 Tbit/s, found {}",
            human(rate.0, "bit/s")
        ))
        .of_parameter("rate")
        .remedy("leave it out: then a stream goes as fast as it can"));
    }
    if rate.0 > 0.0 {
        return Ok(Some(rate));
    }
    Err(Fault::usage(format!("expected a rate above zero, found {}", human(rate.0, "bit/s")))
        .of_parameter("rate")
        .remedy("write for example rate = \"100 Mbit/s\""))
}

/// The parameter `congestion`.
fn congestion(params: &Params, transport: Transport) -> Result<Option<String>, Fault> {
    if params.get("congestion").is_none() {
        return Ok(None);
    }
    if !matches!(transport, Transport::Tcp | Transport::IoUring) {
        let why = format!("`{}` has no congestion control", transport.name());
        return Err(parameter("congestion", why).remedy("leave it out, or take transport = \"tcp\""));
    }
    params.text("congestion", "").map(|name| Some(name.to_string()))
}

/// The parameter `report`.
fn report(params: &Params, interval: Seconds) -> Result<Option<Seconds>, Fault> {
    match params.get("report") {
        None => Ok(None),
        Some(Value::Text(never)) if never == "never" => Ok(None),
        Some(_) => {
            let report = positive("report", params.seconds("report", interval)?)?;
            if report.0 < LEAST_REPORT {
                let why = format!("expected at least {LEAST_REPORT} s, found {} s", report.0);
                return Err(
                    parameter("report", why).remedy("`interval` is that of the series, and may be shorter")
                );
            }
            Ok(Some(report))
        }
    }
}

/// More often it would load the wire that is measured.
const LEAST_REPORT: f64 = 0.1;

/// One size, as the serving end is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What carries the bytes.
    pub transport: Transport,
    /// Bytes of a write.
    pub size: u64,
    /// How long it will go on at most.
    pub seconds: f64,
    /// How many bytes each stream sends at most.
    pub bytes: Option<u64>,
    /// Bits a second that each stream sends at most.
    pub rate: Option<f64>,
    /// Seconds of an interval.
    pub interval: f64,
    /// Seconds after which the end that counts tells what has come, again and again.
    pub report: Option<f64>,
    /// How many streams go side by side.
    pub streams: usize,
    /// Whether the serving end sends.
    pub reverse: bool,
    /// The congestion control of the end that sends.
    pub congestion: Option<String>,
    /// Processor to run on.
    pub pin: Option<usize>,
}

impl Session {
    /// Refuses what cannot be served.
    pub fn check(&self) -> Result<(), Fault> {
        self.transport.carries(Bytes(self.size))?;
        let least = |what: Option<f64>, least: f64| what.is_none_or(|it| it.is_finite() && it >= least);
        let is_possible = (1..=MOST_STREAMS).contains(&self.streams)
            && least(self.rate, f64::MIN_POSITIVE)
            && least(self.report, LEAST_REPORT);
        if is_possible { Ok(()) } else { Err(Fault::usage(format!("no such session can be had: {self:?}"))) }
    }

    /// Nanoseconds between two writes of a stream.
    pub fn gap(&self) -> f64 {
        self.rate.map_or(0.0, |rate| self.size as f64 * 8e9 / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bandwidth::send::payload;

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
        assert_eq!(refused("size", 0).parameter.as_deref(), Some("size"));
        assert_eq!(refused("bytes", "0 B").parameter.as_deref(), Some("bytes"));
        assert_eq!(refused("rate", "0 bit/s").parameter.as_deref(), Some("rate"));
        for rate in [1e13 * 1.01, 1e30] {
            assert!(refused("rate", rate).message.contains("at most 10 Tbit/s"));
        }
        assert_eq!(refused("rate", -1).parameter.as_deref(), Some("rate"));
        assert_eq!(refused("streams", 0).parameter.as_deref(), Some("streams"));
        assert_eq!(refused("report", "1 ms").parameter.as_deref(), Some("report"));
        assert_eq!(refused("interval", "1 ns").parameter.as_deref(), Some("interval"));
    }

    #[test]
    fn a_rate_is_for_streams_and_datagrams_and_congestion_control_for_tcp() {
        for transport in ["tcp", "udp", "unix"] {
            let params = Params::default().with("rate", "1 Gbit/s").with("transport", transport);
            assert_eq!(Spec::from_params(&params).expect("reads").rate, Some(BitRate(1e9)));
        }
        assert!(refused("congestion", "reno").remedy.is_some());
        let reno = Spec::from_params(&Params::default().with("congestion", "reno")).expect("reads");
        assert_eq!(reno.congestion.as_deref(), Some("reno"));
    }

    #[test]
    fn what_may_come_from_anybody_is_checked() {
        let session = Spec::from_params(&Params::default()).expect("reads").session(Bytes(1));
        assert_eq!(session.check(), Ok(()));
        assert!(Session { streams: 0, ..session.clone() }.check().is_err());
        assert!(Session { streams: 1 << 40, ..session.clone() }.check().is_err());
        assert!(Session { rate: Some(-1.0), ..session.clone() }.check().is_err());
        assert!(Session { report: Some(1e-9), ..session.clone() }.check().is_err());
        // A serving end has no more memory for it than this.
        assert_eq!(payload(&Session { size: 1 << 30, reverse: true, ..session }).len(), 16 << 20);
    }
}
