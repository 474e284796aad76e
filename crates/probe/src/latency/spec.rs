//! What to measure, as parameters say it and as the serving end is told.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::{Params, parameter};

use super::wire::Stamps;
use crate::arguments::{PIN, TRANSPORT, Transport, duration, pins, positive, sizes};
use crate::server::IDLE;

/// The parameters of the probe.
pub const PARAMETERS: Parameters = Parameters(&[&[
    TRANSPORT,
    Parameter::new("size", "64 B", "of a message: one, or a list"),
    Parameter::new(
        "mode",
        "blocking",
        "`blocking`: an end sleeps until a message is there; `polling`: it never sleeps",
    ),
    PIN,
    Parameter::new("duration", "1 s", "of each size"),
    Parameter::new(
        "stages",
        "false",
        "say where the time goes, by the kernel's tracepoints (tcp, udp; both ends on one host)",
    ),
    Parameter::new(
        "patience",
        "200 ms over UDP, else 5 s",
        "after which a reply counts as lost, or the other end as gone",
    ),
]]);

/// How an end waits for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It sleeps in the kernel until the message is there.
    Blocking,
    /// It asks again and again, and never sleeps.
    Polling,
}

impl Mode {
    /// The parameter `mode`.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        Ok(match params.choice("mode", &["blocking", "polling"])? {
            "polling" => Mode::Polling,
            _ => Mode::Blocking,
        })
    }

    /// How long a wait lasts that sleeps for `nap` at most; `None`: it does not sleep.
    pub fn nap(self, nap: Duration) -> Option<Duration> {
        (self == Mode::Blocking).then_some(nap)
    }

    /// As it is written in a study.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Blocking => "blocking",
            Mode::Polling => "polling",
        }
    }
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What carries the messages.
    pub transport: Transport,
    /// Sizes of a message, one after the other.
    pub sizes: Vec<Bytes>,
    /// How both ends wait.
    pub mode: Mode,
    /// Processors of the measuring and the serving end; `None`: not pinned.
    pub pin: [Option<usize>; 2],
    /// How long each size is measured.
    pub duration: Seconds,
    /// How long to wait for a reply: over UDP it then counts as lost, else the
    /// other end counts as gone.
    pub patience: Seconds,
    /// Whether to see where each message's time goes.
    pub stages: bool,
}

impl Spec {
    /// From a workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.only(PARAMETERS)?;
        let transport = Transport::from_params(params)?;
        let sizes = sizes(params, Bytes(64))?;
        sizes.iter().try_for_each(|size| transport.carries(*size))?;
        let mode = Mode::from_params(params)?;
        let stages = params.flag("stages", false)?;
        if stages {
            stages_possible(transport, &sizes)?;
        }
        let patience = if transport.loses() { Seconds(0.2) } else { Seconds(5.0) };
        Ok(Spec {
            transport,
            sizes,
            mode,
            pin: pins(params)?,
            duration: duration(params, Seconds(1.0))?,
            stages,
            patience: positive("patience", params.seconds("patience", patience)?)?,
        })
    }

    /// About how long it takes in all, in seconds.
    pub fn seconds(&self) -> f64 {
        self.sizes.len() as f64 * self.duration.0 + 0.1
    }

    /// What the serving end is told for one size.
    pub fn session(&self, size: Bytes, stamps: Stamps) -> Session {
        Session {
            transport: self.transport,
            size: size.0,
            mode: self.mode,
            stamps,
            pin: self.pin[1],
            seconds: self.duration.0 + self.patience.0,
            idle: self.patience.0 + IDLE.as_secs_f64(),
        }
    }
}

/// The most bytes of a message that is one packet on an Ethernet, whatever its headers.
const ONE_PACKET: u64 = 1400;

/// Stages are seen of packets that carry numbers and times.
fn stages_possible(transport: Transport, sizes: &[Bytes]) -> Result<(), Fault> {
    let wrong = |why: String, remedy: &str| Err(parameter("stages", why).remedy(remedy));
    if !matches!(transport, Transport::Tcp | Transport::Udp) {
        let why =
            format!("messages are followed over TCP and UDP sockets only, not over `{}`", transport.name());
        return wrong(why, "take transport = \"tcp\" or \"udp\", or leave `stages` out");
    }
    if let Some(size) = sizes.iter().find(|size| size.0 > ONE_PACKET) {
        let why = format!("a message of {} B is more than one packet on an Ethernet", size.0);
        return wrong(why, "take at most 1400 B");
    }
    match sizes.iter().find(|size| !Stamps::Both.fit(size.0)) {
        Some(size) => wrong(
            format!("a message of {} B has no room for the serving end's times", size.0),
            "take at least 24 B",
        ),
        None => Ok(()),
    }
}

/// One size, as the serving end is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// What carries the messages.
    pub transport: Transport,
    /// Bytes of a message.
    pub size: u64,
    /// How to wait.
    pub mode: Mode,
    /// Which times to write into the reply.
    pub stamps: Stamps,
    /// Processor to run on.
    pub pin: Option<usize>,
    /// About how long it will go on: long after, the measuring end is gone.
    pub seconds: f64,
    /// Seconds without a message after which the measuring end counts as stopped.
    pub idle: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_needs_no_parameter() {
        let spec = Spec::from_params(&Params::default()).expect("reads");
        assert_eq!(
            (spec.transport, spec.sizes, spec.mode),
            (Transport::Tcp, vec![Bytes(64)], Mode::Blocking)
        );
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anything_runs() {
        let over = Params::default().with("transport", "udp").with("size", 65_508);
        assert!(Spec::from_params(&over).is_err());
        assert!(Spec::from_params(&Params::default().with("size", 0)).is_err());
        assert!(Spec::from_params(&Params::default().with("patience", "0 s")).is_err());
    }

    #[test]
    fn slips_name_the_nearest() {
        let slip = |name, value: &str| {
            Spec::from_params(&Params::default().with(name, value)).expect_err("is refused").remedy
        };
        assert_eq!(slip("mode", "poling").as_deref(), Some("did you mean `polling`?"));
        assert_eq!(slip("sise", "64 B").as_deref(), Some("did you mean `size`?"));
    }
}
