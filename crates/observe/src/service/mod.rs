//! Where requests to a live service are, and since when: exchanges on its TCP connections
//! at the kernel's tracepoints. The service is not touched, and need not know.
//!
//! Where the client is on this machine, in the same network namespace, its part is seen
//! too; of other clients the server's part alone.

mod cost;
mod counts;
mod exchange;

pub use cost::{Counting, Runs};
pub use counts::{Count, Counts};
pub use exchange::{Exchange, STAMPS, Stamp};

use aya::maps::{Array, HashMap, MapData, PerCpuArray, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Ebpf, Pod};
use crosstalk_core::Fault;

use crate::object::{SERVICE, attach, failed, has_tracepoint, load, map, map_mut};
use exchange::{Connection, Held, Key, Raw};

pub use crate::object::need;

/// Which exchanges are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The service's TCP ports.
    pub ports: Vec<u16>,
    /// The inode of its network namespace (`/proc/PID/ns/net`).
    pub namespace: u32,
    /// Processes that may read the requests, and their children; empty: any.
    pub processes: Vec<u32>,
}

/// As `struct config` of `bpf/service.bpf.c`.
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

/// The tracepoint at which a program begins to send: since Linux 6.16.
const SENDS: &str = "tcp_sendmsg_locked";

/// The others.
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

/// Attached tracepoints; detached with the drop, and with the process.
pub struct Tracer {
    programs: Ebpf,
    finished: RingBuf<MapData>,
    sees_sends: bool,
}

/// What there is when tracing ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remainder {
    /// Exchanges that were over, but for their client's sending again.
    pub whole: Vec<Exchange>,
    /// Those that were not.
    pub under_way: u64,
    /// What became of all the others.
    pub counts: Counts,
    /// Runs of programs that the kernel left out.
    pub missed: u64,
}

impl Tracer {
    /// Attaches to every tracepoint on the way of `target`'s requests.
    ///
    /// # Errors
    /// An environment fault that says what this machine lacks.
    pub fn attach(target: &Target) -> Result<Tracer, Fault> {
        Self::attach_to(target, true)
    }

    fn attach_to(target: &Target, sees_sends: bool) -> Result<Tracer, Fault> {
        let (mut programs, types) = load(SERVICE, [])?;
        let sees_sends = sees_sends && has_tracepoint(SENDS);
        admit(&mut programs, &target.processes)?;
        let finished = programs
            .take_map("finished")
            .ok_or_else(|| Fault::environment("there is no map `finished`"))?
            .try_into()
            .map_err(|e| failed("use the map `finished`", &e))?;
        if sees_sends {
            attach(&mut programs, &types, SENDS)?;
        }
        for tracepoint in TRACEPOINTS {
            attach(&mut programs, &types, tracepoint)?;
        }
        // Attaching takes milliseconds each: all of them begin at once, by what they are told.
        configure(&mut programs, target, sees_sends)?;
        Ok(Tracer { programs, finished, sees_sends })
    }

    /// Whether it is seen when a program begins to send. Else (before Linux 6.16) that is
    /// when its packet is queued: what the call takes until then belongs to what is before.
    pub fn sees_sends(&self) -> bool {
        self.sees_sends
    }

    /// Gives every exchange that is over to `take`. To be called again before 70,000 more are.
    pub fn drain(&mut self, mut take: impl FnMut(Exchange)) {
        while let Some(record) = self.finished.next() {
            if let Some(raw) = Raw::read(&record) {
                take(raw.into());
            }
        }
    }

    /// What became of the exchanges so far.
    ///
    /// # Errors
    /// An environment fault where the kernel does not tell.
    pub fn counts(&self) -> Result<Counts, Fault> {
        let counts: PerCpuArray<&MapData, u64> =
            map(&self.programs, "counts")?.try_into().map_err(|e| failed("use the map `counts`", &e))?;
        let mut found = Counts::default();
        for count in Count::ALL {
            let by_cpu = counts.get(&(count as u32), 0).map_err(|e| failed("read the map `counts`", &e))?;
            found.0[count as usize] = by_cpu.iter().sum();
        }
        Ok(found)
    }

    /// What the programs have cost while that was counted.
    pub fn runs(&self) -> Runs {
        cost::runs(&self.programs)
    }

    /// Detaches from every tracepoint, and gives what was not drained and what is left.
    ///
    /// # Errors
    /// An environment fault where the kernel does not give it.
    pub fn end(mut self, take: impl FnMut(Exchange)) -> Result<Remainder, Fault> {
        // And end at once: what is seen in parts while they are detached would be of no use.
        let nothing = Target { ports: Vec::new(), namespace: 0, processes: Vec::new() };
        configure(&mut self.programs, &nothing, self.sees_sends)?;
        let missed = cost::missed(&self.programs);
        for (_, program) in self.programs.programs_mut() {
            let program: &mut BtfTracePoint = program.try_into().map_err(|e| failed("detach", &e))?;
            // What was never attached cannot be unloaded.
            let _ = program.unload();
        }
        self.drain(take);
        let connections: HashMap<&MapData, Key, Connection> = map(&self.programs, "connections")?
            .try_into()
            .map_err(|e| failed("use the map `connections`", &e))?;
        let (mut whole, mut under_way) = (Vec::new(), 0);
        for entry in connections.iter() {
            let (_, connection) = entry.map_err(|e| failed("read the map `connections`", &e))?;
            match connection.held() {
                Held::None => {}
                Held::UnderWay => under_way += 1,
                Held::Whole(exchange) => whole.push(*exchange),
            }
        }
        Ok(Remainder { whole, under_way, counts: self.counts()?, missed })
    }
}

/// Tells the programs what to look for.
fn configure(programs: &mut Ebpf, target: &Target, sees_sends: bool) -> Result<(), Fault> {
    let mut ports = [0; 1024];
    for port in &target.ports {
        ports[usize::from(port >> 6)] |= 1 << (port & 63);
    }
    let some = u32::from(!target.processes.is_empty());
    let config = Config { namespace: target.namespace, some, sends: u32::from(sees_sends), unused: 0, ports };
    let mut configs: Array<_, Config> =
        map_mut(programs, "configs")?.try_into().map_err(|e| failed("use the map `configs`", &e))?;
    configs.set(0, config, 0).map_err(|e| failed("write the map `configs`", &e))
}

/// Lets these processes' reading count.
fn admit(programs: &mut Ebpf, processes: &[u32]) -> Result<(), Fault> {
    let mut members: HashMap<_, u32, u32> =
        map_mut(programs, "members")?.try_into().map_err(|e| failed("use the map `members`", &e))?;
    for process in processes {
        members.insert(process, 1, 0).map_err(|e| {
            failed("write the map `members`", &e).remedy("trace by port where there are over 1,024 processes")
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
    fn a_kernel_that_does_not_tell_when_sending_begins_tells_the_rest() {
        let need: Need = need();
        if !need.is_found() {
            eprintln!("skipped: {need:?}");
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = listener.local_addr().expect("has one");
        let namespace = network_namespace(std::process::id()).expect("ours") as u32;
        let target = Target { ports: vec![address.port()], namespace, processes: vec![] };
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
            assert!(exchange.has_client() && exchange.at(Stamp::AnswerLastRead).is_some(), "{exchange:?}");
            assert_eq!(exchange.at(Stamp::Send), exchange.at(Stamp::Queue));
            assert_eq!(exchange.at(Stamp::Answer), exchange.at(Stamp::AnswerQueue));
        }
    }
}
