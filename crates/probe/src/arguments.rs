//! Parameters that the probes have in common.

use serde::{Deserialize, Serialize};

use crosstalk_comm::uring;
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameter;
use crosstalk_core::units::{Bytes, Seconds, human};
use crosstalk_core::value::{Params, Value};

/// The largest UDP payload over IPv4: 65,535 bytes less the IP header of 20
/// and the UDP header of 8 (RFC 791, RFC 768).
pub const LARGEST_DATAGRAM: u64 = 65_507;

/// The largest message over TCP that is taken: it is held in memory.
pub const LARGEST_MESSAGE: u64 = 1 << 30;

/// What carries the messages, as a parameter.
pub const TRANSPORT: Parameter = Parameter::new(
    "transport",
    "tcp",
    "`tcp`, `io-uring` (TCP through it), `udp`; between two ends on one host `unix` (a socket), `pipe`, `shared` (memory)",
);

/// Where both ends run, as a parameter.
pub const PIN: Parameter =
    Parameter::new("pin", "none", "processors of the measuring and of the serving end, \"0,1\"");

/// Where a probe of one machine runs, as a parameter.
pub const PIN_ONE: Parameter = Parameter::new("pin", "none", "a processor to run on");

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A TCP connection without Nagle's delay.
    Tcp,
    /// The same through io_uring.
    IoUring,
    /// UDP datagrams, one a message.
    Udp,
    /// A Unix socket, between two ends on one host.
    Unix,
    /// A pipe each way, between two ends on one host.
    Pipe,
    /// Rings in shared memory, between two ends on one host.
    Shared,
}

impl Transport {
    /// Every one; what is not said is the first.
    const ALL: [Transport; 6] = [
        Transport::Tcp,
        Transport::IoUring,
        Transport::Udp,
        Transport::Unix,
        Transport::Pipe,
        Transport::Shared,
    ];

    /// As it is written in a study.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::IoUring => "io-uring",
            Transport::Udp => "udp",
            Transport::Unix => "unix",
            Transport::Pipe => "pipe",
            Transport::Shared => "shared",
        }
    }

    /// The parameter `transport`.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        let chosen = params.choice("transport", &Transport::ALL.map(Transport::name))?;
        Ok(Transport::ALL.into_iter().find(|known| known.name() == chosen).unwrap_or(Transport::Tcp))
    }

    /// What it needs of each machine.
    pub fn need(self) -> Need {
        let name = self.name();
        if self != Transport::IoUring {
            return Need::found(name, "the kernel's");
        }
        match uring::available() {
            Ok(()) => Need::found(name, "the kernel's"),
            Err(e) => Need::missing(
                name,
                format!("messages through io_uring cannot be timed: {e}"),
                "sysctl kernel.io_uring_disabled=0; in a container, allow io_uring_setup(2)",
            ),
        }
    }

    /// Whether messages may be lost on the way, or come twice.
    pub fn loses(self) -> bool {
        self == Transport::Udp
    }

    /// Refuses a message that this transport cannot carry.
    pub fn carries(self, size: Bytes) -> Result<(), Fault> {
        let largest = if self == Transport::Udp { LARGEST_DATAGRAM } else { LARGEST_MESSAGE };
        if (1..=largest).contains(&size.0) {
            return Ok(());
        }
        let fault = Fault::usage(format!(
            "a message over {} has 1 to {largest} bytes, found {}",
            self.name(),
            size.0
        ))
        .of_parameter("size");
        Err(match self {
            Transport::Udp => fault.remedy("take a smaller size, or transport = \"tcp\""),
            _ => fault.remedy("take a smaller size"),
        })
    }
}

/// The parameter `size`: one, or a list.
pub fn sizes(params: &Params, default: Bytes) -> Result<Vec<Bytes>, Fault> {
    match params.get("size") {
        Some(Value::List(list)) if list.is_empty() => {
            Err(Fault::usage("expected at least one size, found none").of_parameter("size"))
        }
        Some(Value::List(list)) => {
            list.iter().map(|v| Params::default().with("size", v.clone()).size("size", default)).collect()
        }
        _ => Ok(vec![params.size("size", default)?]),
    }
}

/// The parameter `pin`: the processors of the measuring and of the serving
/// end (`"0,1"`, `[0, 1]`); one number is the measuring end's.
pub fn pins(params: &Params) -> Result<[Option<usize>; 2], Fault> {
    let wrong = |found: &Value| {
        Fault::usage(format!("expected \"none\" or one or two processors, found `{found}`"))
            .of_parameter("pin")
            .remedy("write for example pin = \"0,1\": the measuring end on 0, the serving end on 1")
    };
    let Some(value) = params.get("pin") else {
        return Ok([None, None]);
    };
    let words: Vec<String> = match value {
        Value::Text(t) if t == "none" => return Ok([None, None]),
        Value::Text(t) => t.split(',').map(|w| w.trim().to_string()).collect(),
        Value::List(list) => list.iter().map(ToString::to_string).collect(),
        other => vec![other.to_string()],
    };
    let cpus: Vec<usize> =
        words.iter().map(|w| w.parse().map_err(|_| wrong(value))).collect::<Result<_, _>>()?;
    match cpus[..] {
        [measuring] => Ok([Some(measuring), None]),
        [measuring, serving] => Ok([Some(measuring), Some(serving)]),
        _ => Err(wrong(value)),
    }
}

/// The parameter `pin` of a probe of one machine.
pub fn one_pin(params: &Params) -> Result<Option<usize>, Fault> {
    match pins(params)? {
        [one, None] => Ok(one),
        _ => Err(Fault::usage("expected one processor")
            .of_parameter("pin")
            .remedy("write for example pin = 0")),
    }
}

/// The parameter `duration`, above zero.
pub fn duration(params: &Params, default: Seconds) -> Result<Seconds, Fault> {
    positive("duration", params.seconds("duration", default)?)
}

/// Refuses a duration of zero, or longer than a day.
pub fn positive(name: &str, seconds: Seconds) -> Result<Seconds, Fault> {
    if seconds.0 > 0.0 && seconds.0 <= 86_400.0 {
        return Ok(seconds);
    }
    let found = human(seconds.0, "s");
    Err(Fault::usage(format!("expected a duration above zero and of at most a day, found {found}"))
        .of_parameter(name)
        .remedy(format!("write for example {name} = \"1 s\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: &[&str]) -> Value {
        Value::List(values.iter().map(|v| Value::from(*v)).collect())
    }

    #[test]
    fn sizes_are_one_or_many() {
        let read = |value: Value| sizes(&Params::default().with("size", value), Bytes(64));
        assert_eq!(sizes(&Params::default(), Bytes(64)), Ok(vec![Bytes(64)]));
        assert_eq!(read("1 KiB".into()), Ok(vec![Bytes(1024)]));
        assert_eq!(read(list(&["1 B", "2 B"])), Ok(vec![Bytes(1), Bytes(2)]));
    }

    #[test]
    fn sizes_of_zero_and_empty_lists_are_refused() {
        for bad in [Value::Int(0), list(&["0 B"]), list(&["64 B", "0 B"]), list(&[])] {
            let fault = sizes(&Params::default().with("size", bad), Bytes(64)).expect_err("is refused");
            assert_eq!(fault.parameter.as_deref(), Some("size"), "{fault}");
        }
    }

    #[test]
    fn a_datagram_has_at_most_65507_bytes() {
        assert_eq!(Transport::Udp.carries(Bytes(65_507)), Ok(()));
        assert_eq!(Transport::Tcp.carries(Bytes(65_508)), Ok(()));
        let fault = Transport::Udp.carries(Bytes(65_508)).expect_err("is refused");
        assert!(fault.message.contains("65507") && fault.message.contains("65508"), "{fault}");
    }

    #[test]
    fn processors_are_read_as_written() {
        let read = |value: Value| pins(&Params::default().with("pin", value));
        assert_eq!(pins(&Params::default()), Ok([None, None]));
        assert_eq!(read("none".into()), Ok([None, None]));
        assert_eq!(read("0,1".into()), Ok([Some(0), Some(1)]));
        assert_eq!(read(Value::List(vec![Value::Int(1), Value::Int(0)])), Ok([Some(1), Some(0)]));
        assert_eq!(read(Value::Int(1)), Ok([Some(1), None]));
        for bad in ["x", "0,1,2", "-1", ""] {
            assert!(read(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_duration_of_zero_is_refused() {
        assert!(duration(&Params::default().with("duration", "0 s"), Seconds(1.0)).is_err());
        assert!(duration(&Params::default().with("duration", 1e9), Seconds(1.0)).is_err());
    }
}
