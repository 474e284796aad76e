//! What to measure, and how an end is told.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crosstalk_comm::carried::Carried;
use crosstalk_comm::{dpdk, rdma, xdp};
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::{Params, Value, parameter};
use crosstalk_host::namespace;
use crosstalk_observe::redirect;

use crate::arguments::duration;
use crate::latency::Mode;

/// The parameters of the probe.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "transport",
        "udp",
        "`udp` (kernel sockets), `af-xdp`, DPDK over `dpdk-af-packet`, `dpdk-af-xdp`; without a wire `dpdk-memif`, `shared` (memory); over `devices` `dpdk-pci`, `rdma`",
    ),
    Parameter::new(
        "devices",
        "-",
        "of `dpdk-pci` the addresses of two cards that a cable joins, with a comma; of `rdma` one device or two (else the first)",
    ),
    Parameter::new(
        "mode",
        "blocking",
        "`blocking`: an end sleeps until a message is there; `polling`: it never sleeps (of DPDK always)",
    ),
    Parameter::new(
        "ends",
        "two-processes",
        "`one-thread`: it sends on one end and receives on the other; `two-processes`: each has an end",
    ),
    Parameter::new(
        "size",
        "64 B",
        "of a frame, from its Ethernet header on, without its checksum: 64 to 1514 B; over `shared`, `rdma` of the message",
    ),
    Parameter::new(
        "memory",
        "local",
        "`local` or `remote`: the memory node of the ends' buffers, as seen from their processors",
    ),
    Parameter::new(
        "measure",
        "latency",
        "`latency`, or `bandwidth`: frames without waiting for any (ends = \"two-processes\")",
    ),
    Parameter::new(
        "stages",
        "false",
        "say what of the time the calls that send and receive take (ends = \"one-thread\")",
    ),
    Parameter::new("duration", "1 s", "of measuring"),
]]);

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// UDP through the kernel's sockets.
    Udp,
    /// AF_XDP, in copy mode.
    AfXdp,
    /// DPDK's driver over packet sockets.
    DpdkAfPacket,
    /// DPDK's driver over AF_XDP.
    DpdkAfXdp,
    /// DPDK's driver over shared memory.
    DpdkMemif,
    /// Rings in shared memory.
    Shared,
    /// DPDK's drivers of real cards.
    DpdkPci,
    /// RDMA verbs.
    Rdma,
}

impl Transport {
    const ALL: [Transport; 8] = [
        Transport::Udp,
        Transport::AfXdp,
        Transport::DpdkAfPacket,
        Transport::DpdkAfXdp,
        Transport::DpdkMemif,
        Transport::Shared,
        Transport::DpdkPci,
        Transport::Rdma,
    ];

    /// As it is written in a study.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::AfXdp => "af-xdp",
            Transport::DpdkAfPacket => "dpdk-af-packet",
            Transport::DpdkAfXdp => "dpdk-af-xdp",
            Transport::DpdkMemif => "dpdk-memif",
            Transport::Shared => "shared",
            Transport::DpdkPci => "dpdk-pci",
            Transport::Rdma => "rdma",
        }
    }

    /// DPDK's driver, where it is one.
    pub fn driver(self) -> Option<&'static str> {
        match self {
            Transport::DpdkAfPacket => Some("net_af_packet"),
            Transport::DpdkAfXdp => Some("net_af_xdp"),
            Transport::DpdkMemif => Some("net_memif"),
            Transport::DpdkPci => Some("pci"),
            _ => None,
        }
    }

    /// The program in C that has its ends, where it is not this one.
    pub fn program(self) -> Option<&'static Carried> {
        match self {
            Transport::Rdma => Some(&rdma::PROGRAM),
            _ => self.driver().map(|_| &dpdk::PROGRAM),
        }
    }

    /// Whether messages take a wire that is made for them; else they go through memory, or
    /// over what there is.
    fn is_wired(self) -> bool {
        matches!(self, Transport::Udp | Transport::AfXdp | Transport::DpdkAfPacket | Transport::DpdkAfXdp)
    }

    /// What it needs of a machine.
    pub fn needs(self) -> Vec<Need> {
        let carrier = match self {
            Transport::Udp | Transport::Shared => Need::found(self.name(), "the kernel's"),
            Transport::AfXdp => redirect::need(),
            Transport::Rdma => rdma::need(),
            _ => dpdk::need(),
        };
        let mut needs = vec![carrier];
        let root = |what: &str, consequence: &str| match namespace::is_root() {
            true => Need::found(what, "as root"),
            false => Need::missing(what, consequence, "run as root"),
        };
        if self.is_wired() {
            needs.push(root("a wire (veth)", "two joined devices cannot be made"));
        }
        if self == Transport::DpdkPci {
            needs.push(root("network cards", "they cannot be given to DPDK"));
        }
        needs
    }
}

/// How many take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// One thread has both ends.
    OneThread,
    /// Each end is a process's.
    TwoProcesses,
}

impl Ends {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Ends::OneThread => "one-thread",
            Ends::TwoProcesses => "two-processes",
        }
    }
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// How long a message takes.
    Latency,
    /// The same, and what the calls take.
    Stages,
    /// How many frames arrive.
    Bandwidth,
}

/// Where the buffers of the ends lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// On the ends' own memory node.
    Local,
    /// On another one.
    Remote,
}

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What carries the messages.
    pub transport: Transport,
    /// The devices that it goes over, of each end; none where they are made or found.
    pub devices: Option<[String; 2]>,
    /// How ends wait.
    pub mode: Mode,
    /// How many take part.
    pub ends: Ends,
    /// Bytes of a frame.
    pub size: Bytes,
    /// Where buffers lie.
    pub memory: Memory,
    /// What is looked for.
    pub measure: Measure,
    /// How long to measure.
    pub duration: Seconds,
}

/// Seconds that `crosstalk probe wire` took beside measuring, on two cores: all of it, of an end
/// through DPDK, and after a stream's last frame.
const STARTS: f64 = 0.14;
const DPDK_STARTS: f64 = 0.32;
const STREAM_ENDS: f64 = 0.2;

/// The least size: with the headers of UDP there are 22 bytes left for a message's own.
const LEAST: u64 = 64;

impl Spec {
    /// Seconds beside measuring: until the ends are ready, one after the other, and until a
    /// stream is known to be over.
    pub fn overhead(&self) -> f64 {
        let ends = if self.ends == Ends::TwoProcesses { 2.0 } else { 1.0 };
        let dpdk = if self.transport.driver().is_some() { DPDK_STARTS * ends } else { 0.0 };
        STARTS + dpdk + if self.measure == Measure::Bandwidth { STREAM_ENDS } else { 0.0 }
    }

    /// From a workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.only(PARAMETERS)?;
        let chosen = params.choice("transport", &Transport::ALL.map(Transport::name))?;
        let transport =
            Transport::ALL.into_iter().find(|known| known.name() == chosen).unwrap_or(Transport::Udp);
        let polls = transport.driver().is_some();
        let mode = match params.get("mode") {
            None if polls => Mode::Polling,
            _ => Mode::from_params(params)?,
        };
        if polls && mode == Mode::Blocking {
            return Err(parameter("mode", "DPDK's drivers are asked again and again: none sleeps".into())
                .remedy("take mode = \"polling\", or another transport"));
        }
        let size = params.size("size", Bytes(LEAST))?;
        if !(LEAST..=xdp::LONGEST as u64).contains(&size.0) {
            let found = format!("a frame has {LEAST} to {} bytes, found {}", xdp::LONGEST, size.0);
            return Err(parameter("size", found));
        }
        let ends = match params.choice("ends", &["two-processes", "one-thread"])? {
            "one-thread" => Ends::OneThread,
            _ => Ends::TwoProcesses,
        };
        let measure = measure(params, transport, ends)?;
        Ok(Spec {
            devices: devices(params, transport)?,
            transport,
            mode,
            ends,
            measure,
            size,
            memory: match params.choice("memory", &["local", "remote"])? {
                "remote" => Memory::Remote,
                _ => Memory::Local,
            },
            duration: duration(params, Seconds(1.0))?,
        })
    }
}

/// The parameter `devices`.
fn devices(params: &Params, transport: Transport) -> Result<Option<[String; 2]>, Fault> {
    let told = match params.get("devices") {
        // As `--set devices=A,B` is read.
        Some(Value::List(words)) => words.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        _ => params.text("devices", "-")?.to_string(),
    };
    let given: Vec<&str> =
        told.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "-").collect();
    let found = if given.is_empty() { "none".to_string() } else { format!("{told:?}") };
    let fault = |why: &str| Err(parameter("devices", format!("{why}, found {found}")));
    match (transport, given.as_slice()) {
        (Transport::DpdkPci, [first, second]) if first != second => {
            Ok(Some([first.to_string(), second.to_string()]))
        }
        (Transport::DpdkPci, _) => {
            fault("expected the addresses of two cards that a cable joins, such as 0000:03:00.0,0000:03:00.1")
        }
        (_, []) => Ok(None),
        (Transport::Rdma, [one]) => Ok(Some([one.to_string(), one.to_string()])),
        (Transport::Rdma, [first, second]) => Ok(Some([first.to_string(), second.to_string()])),
        (Transport::Rdma, _) => fault("expected one RDMA device, or two"),
        _ => Err(parameter("devices", format!("`{}` has none to choose", transport.name()))
            .remedy("take transport = \"dpdk-pci\" or \"rdma\", or leave `devices` out")),
    }
}

/// The parameters `measure` and `stages`.
fn measure(params: &Params, transport: Transport, ends: Ends) -> Result<Measure, Fault> {
    let bandwidth = params.choice("measure", &["latency", "bandwidth"])? == "bandwidth";
    let stages = params.flag("stages", false)?;
    match (bandwidth, stages, ends) {
        (true, true, _) => Err(parameter("stages", "a stream's frames are not timed one by one".into())
            .remedy("take measure = \"latency\"")),
        (true, _, Ends::OneThread) => {
            Err(parameter("ends", "one thread cannot send and receive a stream at once".into())
                .remedy("take ends = \"two-processes\""))
        }
        (true, ..) if transport == Transport::Shared => {
            Err(parameter("transport", "a stream over shared memory waits for its reader".into())
                .remedy("crosstalk probe bandwidth --transport shared"))
        }
        (_, true, Ends::TwoProcesses) => {
            Err(parameter("stages", "the calls of two processes overlap".into())
                .remedy("take ends = \"one-thread\""))
        }
        (true, ..) => Ok(Measure::Bandwidth),
        (_, true, _) => Ok(Measure::Stages),
        _ => Ok(Measure::Latency),
    }
}

/// Whose end of the wire it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It sends on the first end, and waits at the second one.
    Alone,
    /// It does the same, and times its calls.
    Stages,
    /// It has the first end: sends, and waits for the answer.
    Asks,
    /// It has the second end: sends back what comes.
    Answers,
    /// It has the first end: sends without waiting for anything.
    Floods,
    /// It has the second end: counts what comes.
    Counts,
}

impl Role {
    /// As the program in C is told.
    pub fn name(self) -> &'static str {
        match self {
            Role::Alone => "alone",
            Role::Stages => "stages",
            Role::Asks => "asks",
            Role::Answers => "answers",
            Role::Floods => "floods",
            Role::Counts => "counts",
        }
    }
}

/// What a process is told that has an end of the wire, or both.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// Whose end it is.
    pub role: Role,
    /// What carries the messages.
    pub transport: Transport,
    /// How to wait.
    pub mode: Mode,
    /// Bytes of a frame.
    pub size: usize,
    /// How long to measure, in nanoseconds.
    pub duration: u64,
    /// The most times that are kept.
    pub most: usize,
    /// Whether DPDK's buffers are to lie in huge pages.
    pub huge: bool,
    /// The two ends: a network namespace's file each, of what has no wire the memory's.
    pub ends: [PathBuf; 2],
}
