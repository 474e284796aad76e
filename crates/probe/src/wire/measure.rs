//! Starting the endpoints, and reading their results.

use crosstalk_comm::dpdk;
use crosstalk_core::Fault;
use crosstalk_host::huge;
use crosstalk_host::pages::{MemoryFromNode, memory_nodes, node_of};

use super::config::{EndpointConfig, Role};
use super::link::Link;
use super::process::Process;
use super::processors::processors;
use super::readings::readings;
use super::spec::{BufferMemory, EndpointProcesses, Measure, Spec};
use crate::readings::Readings;
use crosstalk_work::peer::Deadline;

/// The most times that are kept. If there are more, those of every second message are kept, and so on.
const MOST: usize = 1 << 20;

/// Measures as `spec` says.
///
/// # Errors
/// Where the link cannot be made or an endpoint fails; where nothing arrives; interrupted.
pub fn measure(spec: &Spec, until: &Deadline) -> Result<Readings, Fault> {
    let link = Link::create(spec)?;
    let (first, second) = processors(spec.ends)?;
    let processes = 1 + u64::from(spec.ends == EndpointProcesses::TwoProcesses);
    // Both endpoints alike; checked before the first reserves its share.
    let huge = spec.transport.dpdk_driver().is_some() && huge::free_bytes() >= processes * dpdk::MEMORY;
    let config = |role: Role| EndpointConfig {
        role,
        transport: spec.transport,
        mode: spec.mode,
        size: spec.size.0 as usize,
        duration: (spec.duration.0 * 1e9) as u64,
        most: MOST,
        huge,
        places: link.endpoint_paths(),
    };
    // A process has its buffers on the memory node that it is started with.
    let start = |role: Role, cpu: usize| {
        let _from = remote(spec.memory, cpu)?;
        Process::start(&config(role), cpu, until)
    };
    match (spec.ends, spec.measure) {
        (EndpointProcesses::OneThread, Measure::Stages) => {
            readings(spec, &start(Role::OneThreadCalls, first)?.result()?, None)
        }
        (EndpointProcesses::OneThread, _) => readings(spec, &start(Role::OneThread, first)?.result()?, None),
        (EndpointProcesses::TwoProcesses, Measure::Bandwidth) => {
            let mut receiver = start(Role::Count, second)?;
            let mut sender = start(Role::Send, first)?;
            let sent = sender.result()?;
            readings(spec, &receiver.result()?, Some(&sent))
        }
        (EndpointProcesses::TwoProcesses, _) => {
            let server = start(Role::Echo, second)?;
            let mut client = start(Role::Ping, first)?;
            let times = client.result()?;
            server.check_running()?;
            readings(spec, &times, None)
        }
    }
}

/// Has processes that are started from now on use memory of another node than the processor's, if
/// `memory` is remote.
fn remote(memory: BufferMemory, cpu: usize) -> Result<Option<MemoryFromNode>, Fault> {
    if memory == BufferMemory::Local {
        return Ok(None);
    }
    let local = node_of(cpu);
    let other = memory_nodes().into_iter().find(|node| Some(*node) != local);
    let other = other.ok_or_else(|| {
        Fault::environment("this machine has one memory node: none is remote")
            .of_parameter("memory")
            .remedy("take memory = \"local\"")
    })?;
    MemoryFromNode::begin(other).map(Some)
}
