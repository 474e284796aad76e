//! What to measure: the parameters of the probe.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{BitRate, Bytes, Seconds, human};
use crosstalk_core::value::{Params, Value, parameter_fault};

use super::session::{LEAST_REPORT, MOST_STREAMS, Session};
use crate::arguments::{PIN, check_duration, parse_duration, parse_pins, parse_sizes};
use crate::transport::{TRANSPORT, Transport};

/// The parameters of the probe `bandwidth`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    TRANSPORT,
    Parameter::new("size", "1400 B over UDP, else 64 KiB", "of a write: one, or a list"),
    Parameter::new("duration", "2 s", "of each size, at most"),
    Parameter::new("bytes", "no limit", "the most that each stream sends"),
    Parameter::new("rate", "as fast as the socket takes it", "of each stream, in bits a second"),
    Parameter::new("streams", "1", "parallel streams, each with a thread at client and server"),
    Parameter::new("reverse", "false", "whether the server sends and the client receives"),
    Parameter::new(
        "congestion",
        "the system's",
        "the congestion control of sender and receiver, over TCP, such as `reno`",
    ),
    Parameter::new(
        "no_delay",
        "false",
        "over TCP: send the rest of each write at once, without Nagle's delay",
    ),
    Parameter::new("interval", "10 ms", "of the series"),
    Parameter::new("report", "never", "how often to report what has been received meanwhile"),
    PIN,
]]);

/// What a bandwidth probe measures, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What carries the bytes.
    pub transport: Transport,
    /// Sizes of a write (over UDP of a datagram), one after the other.
    pub sizes: Vec<Bytes>,
    /// The longest time to send.
    pub duration: Seconds,
    /// The most that each stream sends; `None`: as much as it can in the time.
    pub bytes: Option<Bytes>,
    /// The rate of each stream; `None`: as fast as the socket takes it.
    pub rate: Option<BitRate>,
    /// Parallel streams.
    pub streams: usize,
    /// Whether the server sends.
    pub reverse: bool,
    /// The congestion control of sender and receiver; `None`: the system's.
    pub congestion: Option<String>,
    /// Whether the rest of each write leaves at once, without Nagle's delay.
    pub no_delay: bool,
    /// The time between two reports; `None`: no reports.
    pub report: Option<Seconds>,
    /// The length of an interval of the series.
    pub interval: Seconds,
    /// Processors of the client and the server; `None`: not pinned.
    pub pin: [Option<usize>; 2],
}

impl Spec {
    /// Reads and checks the workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let transport = Transport::from_params(params)?;
        // A datagram that fits an Ethernet frame is one packet.
        let default = if transport == Transport::Udp { Bytes(1400) } else { Bytes(65_536) };
        let sizes = parse_sizes(params, default)?;
        sizes.iter().try_for_each(|size| transport.check_size(*size))?;
        let bytes = params.get("bytes").map(|_| params.size("bytes", Bytes(1))).transpose()?;
        let interval = check_duration("interval", params.seconds("interval", Seconds(0.01))?)?;
        let duration = parse_duration(params, Seconds(2.0))?;
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
            no_delay: no_delay(params, transport)?,
            report: report(params, interval)?,
            interval,
            pin: parse_pins(params)?,
        })
    }

    /// About how long the measurement takes, in seconds.
    pub fn seconds(&self) -> f64 {
        self.sizes.len() as f64 * (self.duration.0 + 0.1) + 0.1
    }

    /// The session that measures one size.
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
            no_delay: self.no_delay,
            pin: self.pin[1],
        }
    }
}

/// The highest rate, in bits a second: no machine reaches it.
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
        .remedy("leave it out: a stream then sends as fast as it can"));
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
    if !transport.is_tcp() {
        let why = format!("`{}` has no congestion control", transport.name());
        return Err(parameter_fault("congestion", why).remedy("leave it out, or take transport = \"tcp\""));
    }
    params.text("congestion", "").map(|name| Some(name.to_string()))
}

/// The parameter `no_delay`.
fn no_delay(params: &Params, transport: Transport) -> Result<bool, Fault> {
    let no_delay = params.flag("no_delay", false)?;
    if no_delay && !transport.is_tcp() {
        let why = format!("`{}` has no delay by Nagle", transport.name());
        return Err(parameter_fault("no_delay", why).remedy("leave it out, or take transport = \"tcp\""));
    }
    Ok(no_delay)
}

/// The parameter `report`.
fn report(params: &Params, interval: Seconds) -> Result<Option<Seconds>, Fault> {
    match params.get("report") {
        None => Ok(None),
        Some(Value::Text(never)) if never == "never" => Ok(None),
        Some(_) => {
            let report = check_duration("report", params.seconds("report", interval)?)?;
            if report.0 < LEAST_REPORT {
                let why = format!("expected at least {LEAST_REPORT} s, found {} s", report.0);
                return Err(parameter_fault("report", why)
                    .remedy("for a finer series set `interval`, which may be shorter"));
            }
            Ok(Some(report))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, value: impl Into<Value>) -> Fault {
        Spec::from_params(&Params::default().with("transport", "udp").with(name, value))
            .expect_err("is refused")
    }

    #[test]
    fn every_parameter_has_a_default() {
        let spec = Spec::from_params(&Params::default()).expect("reads");
        assert_eq!((spec.transport, spec.sizes, spec.rate), (Transport::Tcp, vec![Bytes(65_536)], None));
    }

    #[test]
    fn values_that_cannot_be_measured_are_refused_by_name() {
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
    fn any_transport_has_a_rate_and_only_tcp_has_congestion_control() {
        for transport in ["tcp", "udp", "unix"] {
            let params = Params::default().with("rate", "1 Gbit/s").with("transport", transport);
            assert_eq!(Spec::from_params(&params).expect("reads").rate, Some(BitRate(1e9)));
        }
        assert!(refused("congestion", "reno").remedy.is_some() && refused("no_delay", true).remedy.is_some());
        let reno = Spec::from_params(&Params::default().with("congestion", "reno")).expect("reads");
        assert_eq!(reno.congestion.as_deref(), Some("reno"));
    }
}
