//! Since when a message of our own is where: its times at the kernel's tracepoints on
//! the way there and back, one record a message.

use aya::maps::{Array, MapData};
use aya::{Ebpf, Pod};
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use std::net::SocketAddr;

use crate::object::{STAGES, attach, failed, load, map, map_mut};

pub use crate::object::need;

/// Where a message is from a time on; as `enum stamp` of `bpf/stages.bpf.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Stamp {
    /// The sender enters its system call.
    Enter,
    /// The packet is given to the queueing discipline.
    Queue,
    /// And to the driver.
    Xmit,
    /// It is taken in by the receiver's stack.
    Receive,
    /// It lies in the socket's queue.
    Ready,
    /// The receiver is about to be woken.
    Waking,
    /// It is runnable.
    Wakeup,
    /// It runs.
    Run,
    /// The message's bytes are copied. (Of a UDP datagram in one piece that is not seen.)
    Copy,
    /// The receiver leaves its system call.
    Exit,
}

impl Stamp {
    /// All of them, in the order of a message's way.
    pub const ALL: [Stamp; 10] = [
        Stamp::Enter,
        Stamp::Queue,
        Stamp::Xmit,
        Stamp::Receive,
        Stamp::Ready,
        Stamp::Waking,
        Stamp::Wakeup,
        Stamp::Run,
        Stamp::Copy,
        Stamp::Exit,
    ];

    /// The tracepoints at which it is taken.
    const TRACEPOINTS: [&str; 10] = [
        "sys_enter",
        "net_dev_queue",
        "net_dev_start_xmit",
        "netif_receive_skb",
        "sk_data_ready",
        "sched_waking",
        "sched_wakeup",
        "sched_switch",
        "skb_copy_datagram_iovec",
        "sys_exit",
    ];
}

/// Which protocol carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A message is known by its place in the stream.
    Tcp,
    /// A message is known by the number in its first eight bytes.
    Udp,
}

/// Messages between two ends.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// What carries them.
    pub protocol: Protocol,
    /// The measuring end's address.
    pub here: SocketAddr,
    /// The serving end's.
    pub there: SocketAddr,
    /// Bytes of a message.
    pub size: u32,
}

/// Messages of which the kernel keeps a record, the last ones; as in `bpf/stages.bpf.c`.
pub const RECORDS: u64 = 1 << 16;
/// Stamps in a direction.
const STAMPS: usize = Stamp::ALL.len();

/// A record as the kernel keeps it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Raw {
    number: u64,
    at: [[u64; STAMPS]; 2],
}

/// As `struct state` of `bpf/stages.bpf.c`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct State {
    protocol: u32,
    size: u32,
    port: [u16; 2],
    sender: [u32; 2],
    last: [u32; 2],
    based: [u32; 2],
    unused: u32,
    place: [u64; 2],
    entered: [u64; 2],
    call: [u64; 2],
    sending: [u64; 2],
    current: [u64; 2],
    phase: [u32; 2],
}

// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for Raw {}
// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for State {}

/// One message's times, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The message.
    pub number: u64,
    /// On its way there, and on the reply's way back; zero where not seen.
    at: [[u64; STAMPS]; 2],
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From the measuring end.
    There,
    /// To it.
    Back,
}

impl Record {
    /// Of stamps there and back, zero where there is none.
    pub fn new(number: u64, at: [[u64; STAMPS]; 2]) -> Self {
        Record { number, at }
    }

    /// When it came there, if that was seen.
    pub fn at(&self, way: Way, stamp: Stamp) -> Option<u64> {
        let at = self.at[way as usize][stamp as usize];
        (at > 0).then_some(at)
    }
}

/// Attached tracepoints; detached with the drop, and with the process.
pub struct Tracer {
    programs: Ebpf,
}

impl Tracer {
    /// Attaches to every tracepoint on the way of `flow`. The first message is not matched
    /// whole: the ends' threads are known by it.
    ///
    /// # Errors
    /// An environment fault that says what this machine lacks.
    pub fn attach(flow: &Flow) -> Result<Tracer, Fault> {
        if !flow.here.is_ipv4() || !flow.there.is_ipv4() {
            return Err(Fault::usage("stages are seen over IPv4 only").remedy("give IPv4 addresses"));
        }
        let (mut programs, types) = load(STAGES)?;
        let state = State {
            protocol: match flow.protocol {
                Protocol::Tcp => 6,
                Protocol::Udp => 17,
            },
            size: flow.size,
            port: [flow.here.port(), flow.there.port()],
            sender: [0; 2],
            last: [0; 2],
            based: [0; 2],
            unused: 0,
            place: [0; 2],
            entered: [0; 2],
            call: [0; 2],
            sending: [0; 2],
            current: [0; 2],
            phase: [0; 2],
        };
        let map = map_mut(&mut programs, "states")?;
        let mut states: Array<_, State> = map.try_into().map_err(|e| failed("use the map `states`", &e))?;
        states.set(0, state, 0).map_err(|e| failed("write the map `states`", &e))?;
        for tracepoint in Stamp::TRACEPOINTS {
            attach(&mut programs, &types, tracepoint)?;
        }
        Ok(Tracer { programs })
    }

    /// The records of the messages before `number`, as many as were kept: the last 65,536.
    ///
    /// # Errors
    /// An environment fault where the kernel does not give them.
    pub fn records(&self, before: u64) -> Result<Vec<Record>, Fault> {
        let records: Array<&MapData, Raw> =
            map(&self.programs, "records")?.try_into().map_err(|e| failed("use the map `records`", &e))?;
        let mut found = Vec::new();
        for number in before.saturating_sub(RECORDS)..before {
            let raw = records
                .get(&((number % RECORDS) as u32), 0)
                .map_err(|e| failed("read the map `records`", &e))?;
            if raw.number == number + 1 {
                found.push(Record { number, at: raw.at });
            }
        }
        Ok(found)
    }
}

/// Whether stages can be seen here.
pub fn needs() -> Vec<Need> {
    vec![need()]
}
