//! What to measure: the parameters of the probe.

use crosstalk_comm::xdp;
use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::{Bytes, Seconds};
use crosstalk_core::value::{Params, Value, parameter_fault};

use super::transport::Transport;
use crate::arguments::parse_duration;
use crate::mode::Mode;

/// The parameters of the probe `wire`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "transport",
        "udp",
        "`udp` (kernel sockets), `af-xdp`, DPDK over `dpdk-af-packet`, `dpdk-af-xdp`; without a wire `dpdk-memif`, `shared` (memory); over `devices` `dpdk-pci`, `rdma`",
    ),
    Parameter::new(
        "devices",
        "-",
        "for `dpdk-pci` the addresses of two cards that a cable joins, with a comma; for `rdma` one or two devices [default: the first]",
    ),
    Parameter::new(
        "mode",
        "blocking",
        "how endpoints wait: `blocking` sleeps until a message is there, `polling` never sleeps (DPDK: always)",
    ),
    Parameter::new(
        "ends",
        "two-processes",
        "`one-thread` sends on one endpoint and receives on the other; `two-processes`: each has an endpoint",
    ),
    Parameter::new(
        "size",
        "64 B",
        "of a frame, with its Ethernet header, without its checksum: 64 to 1514 B; for `shared` and `rdma` of the message",
    ),
    Parameter::new(
        "memory",
        "local",
        "the memory node of the buffers, as seen from the processors: `local` or `remote`",
    ),
    Parameter::new(
        "measure",
        "latency",
        "`latency`, or `bandwidth`: frames without waiting for any (ends = \"two-processes\")",
    ),
    Parameter::new(
        "stages",
        "false",
        "report how long the calls take that send and receive (ends = \"one-thread\")",
    ),
    Parameter::new("duration", "1 s", "how long to measure"),
]]);

/// Whether one thread, or one or two processes, run the endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointProcesses {
    /// One thread runs both.
    OneThread,
    /// Two processes, one endpoint each.
    TwoProcesses,
}

impl EndpointProcesses {
    /// Its name in a study file.
    pub fn name(self) -> &'static str {
        match self {
            EndpointProcesses::OneThread => "one-thread",
            EndpointProcesses::TwoProcesses => "two-processes",
        }
    }
}

/// What is measured on the wire: latency, or the rate of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// How long a message takes.
    Latency,
    /// The same, with the time of each call.
    Stages,
    /// How many frames arrive a second.
    Bandwidth,
}

/// On which memory node the buffers of endpoints are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferMemory {
    /// On the memory node of the endpoint's processor.
    Local,
    /// On another one.
    Remote,
}

/// What a probe of the wire measures, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// What carries the messages.
    pub transport: Transport,
    /// The device of each endpoint; `None`: they are made or found.
    pub devices: Option<[String; 2]>,
    /// How endpoints wait.
    pub mode: Mode,
    /// Who runs the endpoints.
    pub ends: EndpointProcesses,
    /// Bytes of a frame.
    pub size: Bytes,
    /// Where the buffers are.
    pub memory: BufferMemory,
    /// What is measured.
    pub measure: Measure,
    /// How long to measure.
    pub duration: Seconds,
}

/// Seconds that `crosstalk probe wire` took in addition to measuring, on two cores: in all, for each
/// endpoint of DPDK, and after the last frame of a stream.
const STARTS: f64 = 0.14;
const DPDK_STARTS: f64 = 0.32;
const STREAM_ENDS: f64 = 0.2;

/// The smallest frame: with the headers of UDP it has 22 bytes for the message.
const LEAST: u64 = 64;

impl Spec {
    /// Seconds in addition to measuring: until the endpoints are ready, one after the other, and until a
    /// stream has ended.
    pub fn overhead_seconds(&self) -> f64 {
        let ends = if self.ends == EndpointProcesses::TwoProcesses { 2.0 } else { 1.0 };
        let dpdk = if self.transport.dpdk_driver().is_some() { DPDK_STARTS * ends } else { 0.0 };
        STARTS + dpdk + if self.measure == Measure::Bandwidth { STREAM_ENDS } else { 0.0 }
    }

    /// Reads and checks the workload's parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let chosen = params.choice("transport", &Transport::ALL.map(Transport::name))?;
        let transport =
            Transport::ALL.into_iter().find(|known| known.name() == chosen).unwrap_or(Transport::Udp);
        let polls = transport.dpdk_driver().is_some();
        let mode = match params.get("mode") {
            None if polls => Mode::Polling,
            _ => Mode::from_params(params)?,
        };
        if polls && mode == Mode::Blocking {
            return Err(parameter_fault("mode", "DPDK's drivers poll: none can block".into())
                .remedy("take mode = \"polling\", or another transport"));
        }
        let size = params.size("size", Bytes(LEAST))?;
        if !(LEAST..=xdp::LONGEST_FRAME as u64).contains(&size.0) {
            let found = format!("a frame has {LEAST} to {} bytes, found {}", xdp::LONGEST_FRAME, size.0);
            return Err(parameter_fault("size", found));
        }
        let ends = match params.choice("ends", &["two-processes", "one-thread"])? {
            "one-thread" => EndpointProcesses::OneThread,
            _ => EndpointProcesses::TwoProcesses,
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
                "remote" => BufferMemory::Remote,
                _ => BufferMemory::Local,
            },
            duration: parse_duration(params, Seconds(1.0))?,
        })
    }
}

/// The parameter `devices`.
fn devices(params: &Params, transport: Transport) -> Result<Option<[String; 2]>, Fault> {
    let text = match params.get("devices") {
        // `--set devices=A,B` is a list.
        Some(Value::List(words)) => words.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
        _ => params.text("devices", "-")?.to_string(),
    };
    let names: Vec<&str> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "-").collect();
    let found = if names.is_empty() { "none".to_string() } else { format!("{text:?}") };
    let fault = |why: &str| Err(parameter_fault("devices", format!("{why}, found {found}")));
    match (transport, names.as_slice()) {
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
        _ => Err(parameter_fault("devices", format!("`{}` has no devices to choose", transport.name()))
            .remedy("take transport = \"dpdk-pci\" or \"rdma\", or leave `devices` out")),
    }
}

/// The parameters `measure` and `stages`.
fn measure(params: &Params, transport: Transport, ends: EndpointProcesses) -> Result<Measure, Fault> {
    let bandwidth = params.choice("measure", &["latency", "bandwidth"])? == "bandwidth";
    let stages = params.flag("stages", false)?;
    match (bandwidth, stages, ends) {
        (true, true, _) => {
            Err(parameter_fault("stages", "a stream's frames are not timed one by one".into())
                .remedy("take measure = \"latency\""))
        }
        (true, _, EndpointProcesses::OneThread) => {
            Err(parameter_fault("ends", "one thread cannot send and receive a stream at once".into())
                .remedy("take ends = \"two-processes\""))
        }
        (true, ..) if transport == Transport::Shared => {
            Err(parameter_fault("transport", "a stream over shared memory waits for its reader".into())
                .remedy("crosstalk probe bandwidth --transport shared"))
        }
        (_, true, EndpointProcesses::TwoProcesses) => {
            Err(parameter_fault("stages", "the calls of two processes overlap".into())
                .remedy("take ends = \"one-thread\""))
        }
        (true, ..) => Ok(Measure::Bandwidth),
        (_, true, _) => Ok(Measure::Stages),
        _ => Ok(Measure::Latency),
    }
}
