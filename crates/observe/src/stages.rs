//! Since when a message of our own is where: its times at the kernel's tracepoints on
//! the way there and back, one record a message.

use aya::maps::{Array, MapData};
use aya::{Ebpf, Pod};
use crosstalk_core::Fault;
use std::net::SocketAddr;

use crate::object::{STAGES, attach, failed, load, map};

pub use crate::object::need;

/// Where a message is from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Stamp {
    /// The packet is given to the queueing discipline.
    Queue,
    /// And to the driver.
    Xmit,
    /// It is taken in by the receiver's stack.
    Receive,
    /// It lies in the socket's queue.
    Ready,
    /// The receiver is about to be woken: at once where it waited for the message.
    Waking,
    /// It is runnable.
    Wakeup,
    /// It runs.
    Run,
}

impl Stamp {
    /// All of them, in the order of a message's way.
    pub const ALL: [Stamp; 7] =
        [Stamp::Queue, Stamp::Xmit, Stamp::Receive, Stamp::Ready, Stamp::Waking, Stamp::Wakeup, Stamp::Run];
}

/// The tracepoints at which they are taken.
const TRACEPOINTS: [&str; 6] = [
    "net_dev_queue",
    "net_dev_start_xmit",
    "netif_receive_skb",
    "sk_data_ready",
    "sched_wakeup",
    "sched_switch",
];

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

/// One way as the kernel keeps it: `struct leg` of `bpf/stages.bpf.c`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Leg {
    number: u64,
    queued: u64,
    after: [u32; 5],
    awaited: u32,
    phase: u32,
    unused: u32,
}

/// Both.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Raw([Leg; 2]);

// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for Raw {}

impl Leg {
    /// Times in the order of [`Stamp::ALL`]; zero where not seen.
    fn times(&self) -> [u64; STAMPS] {
        let [xmit, receive, ready, wakeup, run] = self.after.map(|after| match after {
            // Never, or so late that it cannot be told.
            0 | u32::MAX => 0,
            after => self.queued + u64::from(after),
        });
        // Who waited is woken by the message. Who did something else comes by itself: until then
        // the message lies in the queue.
        let waking = if wakeup > 0 && self.awaited != 0 { ready } else { wakeup };
        [self.queued, xmit, receive, ready, waking, wakeup, run]
    }
}

/// One message's times, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The message.
    pub number: u64,
    /// On its way there, and on the reply's way back; zero where not seen.
    at: [[u64; STAMPS]; 2],
    /// Whether somebody waited at the socket when it was ready.
    awaited: [bool; 2],
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
    /// Of stamps there and back, zero where there is none, and whether it was waited for.
    pub fn new(number: u64, at: [[u64; STAMPS]; 2], awaited: [bool; 2]) -> Self {
        Record { number, at, awaited }
    }

    /// Whether its receiver waited for it, and so must have been woken.
    pub fn awaited(&self, way: Way) -> bool {
        self.awaited[way as usize]
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
    /// Attaches to every tracepoint on the way of `flow`. Of the first message it is not seen when
    /// its receivers are woken: the ends' threads are known by it.
    ///
    /// # Errors
    /// An environment fault that says what this machine lacks.
    pub fn attach(flow: &Flow) -> Result<Tracer, Fault> {
        if !flow.here.is_ipv4() || !flow.there.is_ipv4() {
            return Err(Fault::usage("stages are seen over IPv4 only").remedy("give IPv4 addresses"));
        }
        let protocol = match flow.protocol {
            Protocol::Tcp => 6_u32,
            Protocol::Udp => 17,
        };
        let (here, there) = (flow.here.port(), flow.there.port());
        let ports = [as_sent(here, there), as_sent(there, here)];
        let socks = [of_socket(there, here), of_socket(here, there)];
        let (mut programs, types) = load(
            STAGES,
            [
                ("protocol", (&protocol).into()),
                ("size", (&flow.size).into()),
                ("ports", (&ports).into()),
                ("socks", (&socks).into()),
            ],
        )?;
        for tracepoint in TRACEPOINTS {
            attach(&mut programs, &types, tracepoint)?;
        }
        Ok(Tracer { programs })
    }

    /// The records of the messages before `number`, as many as were kept: the last 65,536. A
    /// message is in them once the next one has been sent.
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
            if raw.0.iter().all(|leg| leg.number == number + 1) {
                let (at, awaited) = (raw.0.map(|leg| leg.times()), raw.0.map(|leg| leg.awaited != 0));
                found.push(Record { number, at, awaited });
            }
        }
        Ok(found)
    }
}

/// Both ports as they stand in a packet from one to the other, read as this machine does.
fn as_sent(from: u16, to: u16) -> u32 {
    let ([a, b], [c, d]) = (from.to_be_bytes(), to.to_be_bytes());
    u32::from_ne_bytes([a, b, c, d])
}

/// Both ports as the kernel's `skc_portpair` has them in a socket: the other's as it stands in
/// a packet, then its own as a number.
fn of_socket(own: u16, other: u16) -> u32 {
    let ([a, b], [c, d]) = (other.to_be_bytes(), own.to_ne_bytes());
    u32::from_ne_bytes([a, b, c, d])
}
