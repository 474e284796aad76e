//! One message at a time over one wire, through the kernel's sockets and past them: what
//! polling saves, and what bypassing the kernel does, each by itself.
//!
//! | metric | unit | what |
//! |---|---|---|
//! | `one_way` | s | distribution: from before a message is handed over until after it has been taken in |
//! | `bandwidth` | bit/s | with `measure = "bandwidth"`: of frames that arrive, from their Ethernet headers on |
//! | `frame_rate` | /s | how many of them a second |
//! | `lost` | ratio | share of the messages that did not arrive within 100 ms, or of a stream's frames that did not arrive |
//! | `huge_pages` | ratio | of DPDK: 1 where its buffers lie in huge pages, else 0 |
//! | `stage_time` | s | with `stages`: what handing a message over took, what lies between, what the call took that found it; labels as of `latency` |
//! | `own_overhead` | s | what reading the clock costs |
//!
//! The wire is a pair of devices that are joined to each other, each in a network
//! namespace of its own. Whatever carries the messages does so at the same cadence: a
//! message goes out only after the one before has come. Between two processes it is sent
//! back, and both ways are timed. A message is copied from a buffer of the sender, and
//! into one of the receiver, whatever carries it. Time is told by the processor's
//! time-stamp counter where the kernel trusts it.

mod cards;
mod end;
mod exchange;
mod ground;
mod messages;
mod outcome;
mod port;
mod process;
mod spec;
mod stream;
mod ways;

use std::os::fd::{AsRawFd, OwnedFd};

use crosstalk_comm::ring::memory;
use crosstalk_comm::{dpdk, rdma};
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::Prepared;
use crosstalk_host::cpu::allowed;
use crosstalk_host::huge;
use crosstalk_host::pages::{FromNode, memory_nodes, node_of};
use crosstalk_host::process::fresh_mark;

use cards::Cards;
pub use end::serve;
use ground::Ground;
use outcome::readings;
use process::Process;
use spec::{Ends, Measure, Memory, Order, PARAMETERS, Role, Spec, Transport};
pub use ways::{Numbers, ROUNDS, State, Way, Ways, are_all_asked_for, every_way};

use super::{Readings, alone};
use crosstalk_work::Declared;
use crosstalk_work::peer::Until;

/// The probe.
pub const WIRE: Declared<Spec> = Declared {
    name: "wire",
    title: "One way over one wire: kernel sockets, polling and bypass",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| {
        let metrics = vec![
            Metric::new("one_way", "s", Better::Lower),
            Metric::new("bandwidth", "bit/s", Better::Higher),
            Metric::new("frame_rate", "/s", Better::Higher),
            Metric::new("lost", "ratio", Better::Lower),
            Metric::new("huge_pages", "ratio", Better::Neither),
            Metric::new("stage_time", "s", Better::Neither),
            Metric::new("own_overhead", "s", Better::Neither),
        ];
        alone::deployment(metrics, spec.duration.0 + spec.overhead())
    },
    needs: |spec| {
        let two = (spec.ends == Ends::TwoProcesses).then(two_processors);
        spec.transport.needs().into_iter().chain(two).collect()
    },
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        alone::prepare(part, move |until| measure(&spec, until))
    },
};

/// The most times of one way that are kept: where there are more, of every so manyth message.
const MOST: usize = 1 << 20;

/// What is measured on.
enum Between {
    Wire(Ground),
    Memory(OwnedFd),
    /// A name in the network's namespace, which goes with the socket (unix(7)).
    Name(String),
    /// RDMA devices, and such a name at which their ends meet.
    Devices([String; 2], String),
    Cards(Box<Cards>),
}

impl Between {
    fn make(spec: &Spec) -> Result<Self, Fault> {
        // Others in this network's namespace may see the same number, or guess it.
        let name = || fresh_mark().map(|mark| format!("crosstalk-{mark}"));
        Ok(match spec.transport {
            Transport::Shared => {
                let memory = memory().map_err(|e| Fault::environment(format!("no memory to share: {e}")))?;
                Between::Memory(memory)
            }
            Transport::DpdkMemif => Between::Name(name()?),
            Transport::DpdkPci => {
                let devices = spec.devices.as_ref().ok_or_else(|| Fault::usage("which cards?"))?;
                Between::Cards(Box::new(Cards::take(devices)?))
            }
            Transport::Rdma => {
                let found = || rdma::devices().into_iter().next().map(|first| [first.clone(), first]);
                let devices = spec.devices.clone().or_else(found);
                let devices = devices.ok_or_else(|| {
                    Fault::environment("no port of an RDMA device is active").remedy(rdma::REMEDY)
                })?;
                Between::Devices(devices, name()?)
            }
            _ => Between::Wire(Ground::new()?),
        })
    }

    fn ends(&self) -> [std::path::PathBuf; 2] {
        match self {
            Between::Wire(ground) => ground.paths(),
            Between::Memory(file) => {
                let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
                [path.clone().into(), path.into()]
            }
            Between::Name(name) => [name.into(), name.into()],
            Between::Devices(devices, name) => {
                devices.each_ref().map(|device| format!("{name},{device}").into())
            }
            Between::Cards(cards) => cards.addresses().map(Into::into),
        }
    }
}

fn measure(spec: &Spec, until: &Until) -> Result<Readings, Fault> {
    let between = Between::make(spec)?;
    let (near, far) = processors(spec.ends)?;
    let processes = 1 + u64::from(spec.ends == Ends::TwoProcesses);
    // Both ends alike, asked for before the first takes its share.
    let huge = spec.transport.driver().is_some() && huge::free() >= processes * dpdk::MEMORY;
    let order = |role: Role| Order {
        role,
        transport: spec.transport,
        mode: spec.mode,
        size: spec.size.0 as usize,
        duration: (spec.duration.0 * 1e9) as u64,
        most: MOST,
        huge,
        ends: between.ends(),
    };
    // What has the buffers is started from where their memory is to be.
    let start = |role: Role, cpu: usize| {
        let _from = remote(spec.memory, cpu)?;
        Process::start(&order(role), cpu, until)
    };
    match (spec.ends, spec.measure) {
        (Ends::OneThread, Measure::Stages) => readings(spec, &start(Role::Stages, near)?.result()?, None),
        (Ends::OneThread, _) => readings(spec, &start(Role::Alone, near)?.result()?, None),
        (Ends::TwoProcesses, Measure::Bandwidth) => {
            let mut counts = start(Role::Counts, far)?;
            let mut floods = start(Role::Floods, near)?;
            let sent = floods.result()?;
            readings(spec, &counts.result()?, Some(&sent))
        }
        (Ends::TwoProcesses, _) => {
            let answers = start(Role::Answers, far)?;
            let mut asks = start(Role::Asks, near)?;
            let asked = asks.result()?;
            answers.still_runs()?;
            readings(spec, &asked, None)
        }
    }
}

const ONE_PROCESSOR: &str = "two ends need a processor each, and this process may use one";
const TWO_PROCESSORS: &str = "take ends = \"one-thread\", or let it use two (taskset)";

fn two_processors() -> Need {
    match processors(Ends::TwoProcesses) {
        Ok((near, far)) => Need::found("two processors", format!("{far} and {near}")),
        Err(_) => Need::missing("two processors", ONE_PROCESSOR, TWO_PROCESSORS),
    }
}

/// The processors of the two ends; the first alone where one thread has both.
fn processors(ends: Ends) -> Result<(usize, usize), Fault> {
    let cpus = allowed();
    match (cpus.last(), cpus.first()) {
        (Some(near), Some(far)) if near != far || ends == Ends::OneThread => Ok((*near, *far)),
        (Some(_), _) => Err(Fault::environment(ONE_PROCESSOR).remedy(TWO_PROCESSORS)),
        _ => Err(Fault::environment("the kernel does not say which processors may be used")),
    }
}

/// Has buffers of what is started from now on lie on another memory node than that of the
/// processor.
fn remote(memory: Memory, cpu: usize) -> Result<Option<FromNode>, Fault> {
    if memory == Memory::Local {
        return Ok(None);
    }
    let own = node_of(cpu);
    let other = memory_nodes().into_iter().find(|node| Some(*node) != own);
    let other = other.ok_or_else(|| {
        Fault::environment("this machine has one memory node: none is remote")
            .of_parameter("memory")
            .remedy("take memory = \"local\"")
    })?;
    FromNode::begin(other).map(Some)
}
