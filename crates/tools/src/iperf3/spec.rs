//! What iperf3 measures: the parameters of the workload, and the options that they become.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{BitRate, Bytes, Seconds};
use crosstalk_core::value::{Params, Value, parameter_fault};

/// The parameters of the workload `iperf3`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("transport", "tcp", "`tcp` or `udp` (`-u`)"),
    Parameter::new("size", "iperf3's", "of a write, over UDP of a datagram (`-l`)"),
    Parameter::new("duration", "2 s", "whole seconds (`-t`)"),
    Parameter::new(
        "omit",
        "0 s",
        "left out at the beginning, in addition to `duration`; whole seconds (`-O`)",
    ),
    Parameter::new("rate", "as fast as it goes", "of each stream, in bits a second (`-b`)"),
    Parameter::new("streams", "1", "parallel streams, 1 to 128 (`-P`)"),
    Parameter::new("reverse", "false", "whether the server sends and the client receives (`-R`)"),
    Parameter::new(
        "congestion",
        "the system's",
        "the congestion control of sender and receiver, over TCP, such as `reno` (`-C`)",
    ),
]]);

/// The most parallel streams: iperf3's `MAX_STREAMS`.
const MOST_STREAMS: u64 = 128;

/// The longest run, in seconds: iperf3's `MAX_TIME`, and its `MAX_OMIT_TIME`.
const LONGEST: u64 = 86_400;
const LONGEST_OMITTED: u64 = 600;

/// A run of iperf3.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Whether it sends datagrams.
    pub udp: bool,
    /// Bytes of a write.
    pub size: Option<Bytes>,
    /// Seconds that it measures.
    pub duration: u64,
    /// Seconds before that which it leaves out.
    pub omit: u64,
    /// The rate of each stream; `None`: as fast as it goes.
    pub rate: Option<BitRate>,
    /// Parallel streams.
    pub streams: u64,
    /// Whether the server sends.
    pub reverse: bool,
    /// The congestion control of sender and receiver.
    pub congestion: Option<String>,
}

impl Spec {
    /// Reads and checks the workload's parameters.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let udp = params.choice("transport", &["tcp", "udp"])? == "udp";
        let congestion = params.get("congestion").map(|_| params.text("congestion", "")).transpose()?;
        if udp && congestion.is_some() {
            return Err(parameter_fault("congestion", "`udp` has no congestion control".into())
                .remedy("leave it out, or take transport = \"tcp\""));
        }
        Ok(Spec {
            udp,
            size: params.get("size").map(|_| params.size("size", Bytes(1))).transpose()?,
            duration: whole_seconds(params, "duration", 2, 1, LONGEST)?,
            omit: whole_seconds(params, "omit", 0, 0, LONGEST_OMITTED)?,
            rate: rate(params)?,
            streams: params.bounded("streams", 1, 1, MOST_STREAMS)?,
            reverse: params.flag("reverse", false)?,
            congestion: congestion.map(str::to_string),
        })
    }

    /// About how long it takes, in seconds.
    pub fn seconds(&self) -> f64 {
        (self.duration + self.omit) as f64 + 0.5
    }

    /// The options of iperf3's client.
    pub fn options(&self) -> Vec<String> {
        // One interval for the whole run: without them the report has what is read here, and stays short.
        let mut options = vec!["--json".into(), "--interval=0".into(), format!("--time={}", self.duration)];
        options.extend((self.omit > 0).then(|| format!("--omit={}", self.omit)));
        options.extend(self.udp.then(|| "--udp".into()));
        // By default iperf3 sends 1 Mbit/s over UDP; 0 is as fast as it goes.
        options.push(format!("--bitrate={:.0}", self.rate.map_or(0.0, |rate| rate.0)));
        options.extend(self.size.map(|size| format!("--length={}", size.0)));
        options.extend((self.streams > 1).then(|| format!("--parallel={}", self.streams)));
        options.extend(self.reverse.then(|| "--reverse".into()));
        options.extend(self.congestion.as_ref().map(|name| format!("--congestion={name}")));
        options
    }
}

/// A parameter in whole seconds.
fn whole_seconds(params: &Params, name: &str, default: u64, least: u64, most: u64) -> Result<u64, Fault> {
    let seconds = params.seconds(name, Seconds(default as f64))?.0;
    if seconds.fract() == 0.0 && (least as f64..=most as f64).contains(&seconds) {
        return Ok(seconds as u64);
    }
    Err(parameter_fault(name, format!("expected {least} to {most} whole seconds, found {seconds} s"))
        .remedy("for shorter runs take the probe `bandwidth`"))
}

fn rate(params: &Params) -> Result<Option<BitRate>, Fault> {
    let rate = match params.get("rate") {
        None => return Ok(None),
        Some(Value::Text(text)) => text.parse().map_err(|f: Fault| f.of_parameter("rate"))?,
        Some(_) => BitRate(params.float("rate", 0.0)?),
    };
    if rate.0 >= 1.0 && rate.0.is_finite() {
        return Ok(Some(rate));
    }
    Err(parameter_fault("rate", format!("expected at least 1 bit/s, found {}", rate.0))
        .remedy("write for example rate = \"100 Mbit/s\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(params: &Params) -> String {
        Spec::from_params(params).expect("reads").options().join(" ")
    }

    #[test]
    fn parameters_become_iperf3s_options() {
        assert_eq!(options(&Params::default()), "--json --interval=0 --time=2 --bitrate=0");
        let all = Params::default()
            .with("size", "64 KiB")
            .with("duration", "3 s")
            .with("omit", "1 s")
            .with("rate", "1 Gbit/s")
            .with("streams", 4)
            .with("reverse", true)
            .with("congestion", "cubic");
        assert_eq!(
            options(&all),
            "--json --interval=0 --time=3 --omit=1 --bitrate=1000000000 --length=65536 --parallel=4 --reverse \
             --congestion=cubic"
        );
        let udp = Params::default().with("transport", "udp");
        assert_eq!(options(&udp), "--json --interval=0 --time=2 --udp --bitrate=0");
    }

    #[test]
    fn what_iperf3_cannot_do_is_refused_by_name() {
        for (name, value) in [
            ("duration", Value::from("0.5 s")),
            ("duration", "0 s".into()),
            ("omit", "1500 ms".into()),
            ("rate", "0 bit/s".into()),
            ("streams", 129.into()),
            ("congestion", "reno".into()),
        ] {
            let params = Params::default().with("transport", "udp").with(name, value);
            let fault = Spec::from_params(&params).expect_err(name);
            assert_eq!(fault.parameter.as_deref(), Some(name), "{fault}");
        }
        assert!(Spec::from_params(&Params::default().with("transport", "unix")).is_err());
    }
}
