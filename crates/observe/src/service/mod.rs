//! Traces a live service: times of the exchanges on its TCP connections, at the kernel's
//! tracepoints. An exchange is a request and its answer. The service itself is not changed.
//!
//! The client's steps are seen if it is on this machine, in the same network namespace.
//! Otherwise only the server's are.

mod cost;
mod counts;
mod exchange;

pub use cost::{ProgramRuns, RunTimeCounting};
pub use counts::{Count, Counts};
pub use exchange::{Exchange, STAMPS, Stamp};

use aya::maps::{Array, HashMap, MapData, PerCpuArray, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Ebpf, Pod};
use crosstalk_core::Fault;

use crate::object::{MESSAGES, SERVICE_OBJECT, attach, failed_fault, has_tracepoint, load, map, map_mut};
use exchange::{Connection, Key, Progress, Raw};

pub use crate::object::need;

/// The service whose exchanges are traced: its ports and network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceTarget {
    /// The service's TCP ports.
    pub ports: Vec<u16>,
    /// The inode number of its network namespace (`/proc/PID/ns/net`).
    pub namespace: u32,
    /// The service's processes; their children belong to it, too. Empty: every process.
    pub processes: Vec<u32>,
}

/// As `struct config` of `bpf/service/state.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Config {
    namespace: u32,
    some: u32,
    sends: u32,
    unused: u32,
    ports: [u64; 1024],
}

// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for Config {}

/// The tracepoint at which a process begins to send: since Linux 6.16.
const SENDS: &str = "tcp_sendmsg_locked";

/// The tracepoints that every supported kernel has.
const TRACEPOINTS: [&str; 9] = [
    "sched_waking",
    "sched_wakeup",
    "sched_switch",
    "net_dev_queue",
    "net_dev_start_xmit",
    "sk_data_ready",
    "sock_recv_length",
    "inet_sock_set_state",
    "netif_receive_skb",
];

/// Tracepoints that follow a service's requests, attached until this is dropped or the process
/// ends.
pub struct Tracer {
    programs: Ebpf,
    finished: RingBuf<MapData>,
    sees_sends: bool,
}

/// The counts and the exchanges that are left when tracing ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRemainder {
    /// Exchanges whose answer has arrived, and whose client has not sent again.
    pub whole: Vec<Exchange>,
    /// How many exchanges were not over.
    pub under_way: u64,
    /// The programs' counts.
    pub counts: Counts,
    /// Calls of programs that the kernel skipped.
    pub missed: u64,
}

impl Tracer {
    /// Attaches to every tracepoint on the way of `target`'s requests.
    ///
    /// # Errors
    /// An environment fault: [`need`] is missing, or the kernel refuses.
    pub fn attach(target: &TraceTarget) -> Result<Tracer, Fault> {
        Self::attach_to(target, true)
    }

    fn attach_to(target: &TraceTarget, sees_sends: bool) -> Result<Tracer, Fault> {
        let (mut programs, types) = load(MESSAGES, SERVICE_OBJECT, [])?;
        let sees_sends = sees_sends && has_tracepoint(SENDS);
        set_processes(&mut programs, &target.processes)?;
        let finished = programs
            .take_map("finished")
            .ok_or_else(|| Fault::environment("there is no map `finished`"))?
            .try_into()
            .map_err(|e| failed_fault("use the map `finished`", &e))?;
        if sees_sends {
            attach(&mut programs, &types, SENDS)?;
        }
        for tracepoint in TRACEPOINTS {
            attach(&mut programs, &types, tracepoint)?;
        }
        // Attaching takes milliseconds per program. The configuration starts all of them at once.
        configure(&mut programs, target, sees_sends)?;
        Ok(Tracer { programs, finished, sees_sends })
    }

    /// Whether [`Stamp::Send`] and [`Stamp::Answer`] are when the call begins. Before Linux 6.16
    /// they are when the packet is queued: the call's time is part of the step before.
    pub fn sees_sends(&self) -> bool {
        self.sees_sends
    }

    /// Gives every exchange that is over to `take`. The ring buffer has room for about 70,000:
    /// call this more often than that.
    pub fn drain(&mut self, mut take: impl FnMut(Exchange)) {
        while let Some(record) = self.finished.next() {
            if let Some(raw) = Raw::read(&record) {
                take(raw.into());
            }
        }
    }

    /// The programs' counts so far.
    ///
    /// # Errors
    /// An environment fault: the kernel's map cannot be read.
    pub fn counts(&self) -> Result<Counts, Fault> {
        let counts: PerCpuArray<&MapData, u64> = map(&self.programs, "counts")?
            .try_into()
            .map_err(|e| failed_fault("use the map `counts`", &e))?;
        let mut found = Counts::default();
        for count in Count::ALL {
            let by_cpu =
                counts.get(&(count as u32), 0).map_err(|e| failed_fault("read the map `counts`", &e))?;
            found.0[count as usize] = by_cpu.iter().sum();
        }
        Ok(found)
    }

    /// What the programs have cost while [`RunTimeCounting`] was on.
    pub fn runs(&self) -> ProgramRuns {
        cost::runs(&self.programs)
    }

    /// Detaches from every tracepoint. Gives the exchanges that were not drained to `take`, and
    /// returns what is left.
    ///
    /// # Errors
    /// An environment fault: the kernel's maps cannot be read or written.
    pub fn end(mut self, take: impl FnMut(Exchange)) -> Result<TraceRemainder, Fault> {
        // All programs stop at once: while they are detached one by one, exchanges would lack
        // steps.
        let nothing = TraceTarget { ports: Vec::new(), namespace: 0, processes: Vec::new() };
        configure(&mut self.programs, &nothing, self.sees_sends)?;
        let missed = cost::missed(&self.programs);
        for (_, program) in self.programs.programs_mut() {
            let program: &mut BtfTracePoint = program.try_into().map_err(|e| failed_fault("detach", &e))?;
            // A program that was not attached cannot be unloaded: that is no error here.
            let _ = program.unload();
        }
        self.drain(take);
        let connections: HashMap<&MapData, Key, Connection> = map(&self.programs, "connections")?
            .try_into()
            .map_err(|e| failed_fault("use the map `connections`", &e))?;
        let (mut whole, mut under_way) = (Vec::new(), 0);
        for entry in connections.iter() {
            let (_, connection) = entry.map_err(|e| failed_fault("read the map `connections`", &e))?;
            match connection.progress() {
                Progress::Idle => {}
                Progress::UnderWay => under_way += 1,
                Progress::Whole(exchange) => whole.push(*exchange),
            }
        }
        Ok(TraceRemainder { whole, under_way, counts: self.counts()?, missed })
    }
}

/// Sets what the programs trace.
fn configure(programs: &mut Ebpf, target: &TraceTarget, sees_sends: bool) -> Result<(), Fault> {
    let mut ports = [0; 1024];
    for port in &target.ports {
        ports[usize::from(port >> 6)] |= 1 << (port & 63);
    }
    let some = u32::from(!target.processes.is_empty());
    let config = Config { namespace: target.namespace, some, sends: u32::from(sees_sends), unused: 0, ports };
    let mut configs: Array<_, Config> =
        map_mut(programs, "configs")?.try_into().map_err(|e| failed_fault("use the map `configs`", &e))?;
    configs.set(0, config, 0).map_err(|e| failed_fault("write the map `configs`", &e))
}

/// Sets the processes of the service.
fn set_processes(programs: &mut Ebpf, processes: &[u32]) -> Result<(), Fault> {
    let mut members: HashMap<_, u32, u32> =
        map_mut(programs, "members")?.try_into().map_err(|e| failed_fault("use the map `members`", &e))?;
    for process in processes {
        members.insert(process, 1, 0).map_err(|e| {
            failed_fault("write the map `members`", &e)
                .remedy("trace by port where there are over 1,024 processes")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::need::Need;
    use crosstalk_host::listening::network_namespace;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn without_the_tracepoint_of_sending_the_other_steps_are_seen() {
        let need: Need = need();
        if !need.is_found() {
            eprintln!("skipped: {need:?}");
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = listener.local_addr().expect("has one");
        let namespace = network_namespace(std::process::id()).expect("ours") as u32;
        let target = TraceTarget { ports: vec![address.port()], namespace, processes: vec![] };
        let tracer = Tracer::attach_to(&target, false).expect("attaches");
        let mut client = TcpStream::connect(address).expect("listens");
        let mut server = listener.accept().expect("is asked").0;
        for _ in 0..5 {
            client.write_all(&[1]).expect("is served");
            server.read_exact(&mut [0]).expect("is asked");
            server.write_all(&[1]).expect("answers");
            client.read_exact(&mut [0]).expect("is answered");
        }
        assert!(!tracer.sees_sends());
        let mut seen = Vec::new();
        let remainder = tracer.end(|exchange| seen.push(exchange)).expect("ends");
        seen.extend(remainder.whole);
        assert_eq!(seen.len(), 5, "{:?}", remainder.counts);
        for exchange in &seen {
            assert!(
                exchange.has_client() && exchange.time_of(Stamp::AnswerLastRead).is_some(),
                "{exchange:?}"
            );
            assert_eq!(exchange.time_of(Stamp::Send), exchange.time_of(Stamp::Queue));
            assert_eq!(exchange.time_of(Stamp::Answer), exchange.time_of(Stamp::AnswerQueue));
        }
    }
}
