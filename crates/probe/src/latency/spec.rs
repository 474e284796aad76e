//! What to measure: the parameters of the probe.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::{Params, parameter_fault};

use super::session::Session;
use crate::arguments::{PIN, check_duration, parse_duration, parse_pins, parse_sizes};
use crate::message::ServerStamps;
use crate::mode::Mode;
use crate::session::limits::LONGEST_SILENCE;
use crate::transport::{TRANSPORT, Transport};

/// The parameters of the probe `latency`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    TRANSPORT,
    Parameter::new("size", "64 B", "of a message: one, or a list"),
    Parameter::new(
        "mode",
        "blocking",
        "how client and server wait: `blocking` sleeps until a message is there, `polling` never sleeps",
    ),
    PIN,
    Parameter::new("duration", "1 s", "of each size"),
    Parameter::new(
        "stages",
        "false",
        "report where the time goes, by the kernel's tracepoints (tcp, udp; on one host)",
    ),
    Parameter::new(
        "patience",
        "200 ms over UDP, else 5 s",
        "after which a reply counts as lost, or the server as gone",
    ),
]]);

/// What a latency probe measures, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What carries the messages.
    pub transport: Transport,
    /// Sizes of a message, measured one after the other.
    pub sizes: Vec<Bytes>,
    /// How client and server wait.
    pub mode: Mode,
    /// Processors of the client and the server; `None`: not pinned.
    pub pin: [Option<usize>; 2],
    /// How long each size is measured.
    pub duration: Seconds,
    /// How long to wait for a reply. Over UDP it then counts as lost, else the server counts as gone.
    pub patience: Seconds,
    /// Whether to report where each message's time goes.
    pub stages: bool,
}

impl Spec {
    /// Reads and checks the workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let transport = Transport::from_params(params)?;
        let sizes = parse_sizes(params, Bytes(64))?;
        sizes.iter().try_for_each(|size| transport.check_size(*size))?;
        let mode = Mode::from_params(params)?;
        let stages = params.flag("stages", false)?;
        if stages {
            check_stages(transport, &sizes)?;
        }
        let patience = if transport.is_lossy() { Seconds(0.2) } else { Seconds(5.0) };
        Ok(Spec {
            transport,
            sizes,
            mode,
            pin: parse_pins(params)?,
            duration: parse_duration(params, Seconds(1.0))?,
            stages,
            patience: check_duration("patience", params.seconds("patience", patience)?)?,
        })
    }

    /// About how long the measurement takes, in seconds.
    pub fn seconds(&self) -> f64 {
        self.sizes.len() as f64 * self.duration.0 + 0.1
    }

    /// The session that measures one size.
    pub fn session(&self, size: Bytes, stamps: ServerStamps) -> Session {
        Session {
            transport: self.transport,
            size: size.0,
            mode: self.mode,
            stamps,
            pin: self.pin[1],
            seconds: self.duration.0 + self.patience.0,
            idle: self.patience.0 + LONGEST_SILENCE.as_secs_f64(),
        }
    }
}

/// The most bytes of a message that is one packet on an Ethernet, whatever its headers.
const ONE_PACKET: u64 = 1400;

/// Refuses `stages` of messages that the kernel's tracepoints cannot follow.
fn check_stages(transport: Transport, sizes: &[Bytes]) -> Result<(), Fault> {
    let wrong = |why: String, remedy: &str| Err(parameter_fault("stages", why).remedy(remedy));
    if !matches!(transport, Transport::Tcp | Transport::Udp) {
        let why =
            format!("messages are followed over TCP and UDP sockets only, not over `{}`", transport.name());
        return wrong(why, "take transport = \"tcp\" or \"udp\", or leave `stages` out");
    }
    if let Some(size) = sizes.iter().find(|size| size.0 > ONE_PACKET) {
        let why = format!("a message of {} B is more than one packet on an Ethernet", size.0);
        return wrong(why, "take at most 1400 B");
    }
    match sizes.iter().find(|size| !ServerStamps::Both.fits_into(size.0)) {
        Some(size) => wrong(
            format!("a message of {} B has no room for the server's times", size.0),
            "take at least 24 B",
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_a_default() {
        let spec = Spec::from_params(&Params::default()).expect("reads");
        assert_eq!(
            (spec.transport, spec.sizes, spec.mode),
            (Transport::Tcp, vec![Bytes(64)], Mode::Blocking)
        );
    }

    #[test]
    fn sizes_that_cannot_be_sent_are_refused() {
        let over = Params::default().with("transport", "udp").with("size", 65_508);
        assert!(Spec::from_params(&over).is_err());
        assert!(Spec::from_params(&Params::default().with("size", 0)).is_err());
        assert!(Spec::from_params(&Params::default().with("patience", "0 s")).is_err());
    }

    #[test]
    fn a_misspelt_word_has_its_nearest_as_remedy() {
        let remedy = |name, value: &str| {
            Spec::from_params(&Params::default().with(name, value)).expect_err("is refused").remedy
        };
        assert_eq!(remedy("mode", "poling").as_deref(), Some("did you mean `polling`?"));
        assert_eq!(remedy("sise", "64 B").as_deref(), Some("did you mean `size`?"));
    }
}
