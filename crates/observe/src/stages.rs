//! Times of the foreground messages at the kernel's tracepoints, on the way to the server and
//! back: one record per message.

use aya::maps::{Array, MapData};
use aya::{Ebpf, Pod};
use crosstalk_core::Fault;
use std::net::SocketAddr;

use crate::object::{MESSAGES, STAGES_OBJECT, attach, failed_fault, load, map};

pub use crate::object::need;

/// A step on the way of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Stamp {
    /// The packet enters the queueing discipline.
    Queue,
    /// The packet is given to the driver.
    Xmit,
    /// The receiver's network stack gets the packet.
    Receive,
    /// The message is in the socket's queue.
    Ready,
    /// The kernel starts to wake the receiver: at [`Stamp::Ready`] if it waited for the message.
    Waking,
    /// The receiver is runnable.
    Wakeup,
    /// The receiver runs.
    Run,
}

impl Stamp {
    /// All steps, in the order of a message's way.
    pub const ALL: [Stamp; 7] =
        [Stamp::Queue, Stamp::Xmit, Stamp::Receive, Stamp::Ready, Stamp::Waking, Stamp::Wakeup, Stamp::Run];
}

/// The tracepoints at which the stamps are taken.
const TRACEPOINTS: [&str; 6] = [
    "net_dev_queue",
    "net_dev_start_xmit",
    "netif_receive_skb",
    "sk_data_ready",
    "sched_wakeup",
    "sched_switch",
];

/// The transport protocol of the traced messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A message is identified by its position in the stream.
    Tcp,
    /// A message is identified by the number in its first eight bytes.
    Udp,
}

/// The messages to be traced: between one client and one server.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    /// Their protocol.
    pub protocol: Protocol,
    /// The client's address; the client measures.
    pub client: SocketAddr,
    /// The server's address.
    pub server: SocketAddr,
    /// Bytes per message.
    pub size: u32,
}

/// How many records the kernel keeps: those of the last messages. As in `bpf/stages.bpf.c`.
pub const RECORDS: u64 = 1 << 16;
/// Stamps per direction.
const STAMPS: usize = Stamp::ALL.len();

/// A message's way in one direction: `struct leg` of `bpf/stages.bpf.c`.
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

/// Both directions: `struct record` of `bpf/stages.bpf.c`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct RawRecord([Leg; 2]);

// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for RawRecord {}

impl Leg {
    /// Times in the order of [`Stamp::ALL`], in nanoseconds; zero: not seen.
    fn times(&self) -> [u64; STAMPS] {
        let [xmit, receive, ready, wakeup, run] = self.after.map(|after| match after {
            // Not seen, or too late for 32 bits of nanoseconds.
            0 | u32::MAX => 0,
            after => self.queued + u64::from(after),
        });
        // A receiver that waited is woken by the message. One that was busy takes the message
        // later, from the queue.
        let waking = if wakeup > 0 && self.awaited != 0 { ready } else { wakeup };
        [self.queued, xmit, receive, ready, waking, wakeup, run]
    }
}

/// One message's times, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRecord {
    /// The message's number, from 0 on.
    pub number: u64,
    /// The message's times, then its reply's; zero: not seen.
    at: [[u64; STAMPS]; 2],
    /// Whether the receiver waited at the socket when the message, or the reply, was ready.
    awaited: [bool; 2],
}

/// The direction of a message: to the server, or back to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the client to the server: the message.
    There,
    /// From the server to the client: the reply.
    Back,
}

impl MessageRecord {
    /// A record of the message `number`. `at` and `awaited` have the message's values, then its
    /// reply's. Times are nanoseconds of `CLOCK_MONOTONIC`; zero: not seen.
    pub fn new(number: u64, at: [[u64; STAMPS]; 2], awaited: [bool; 2]) -> Self {
        MessageRecord { number, at, awaited }
    }

    /// Whether the receiver waited at the socket, so that it must have been woken.
    pub fn awaited(&self, way: Direction) -> bool {
        self.awaited[way as usize]
    }

    /// When it reached this step, in nanoseconds of `CLOCK_MONOTONIC`; `None`: not seen.
    pub fn time_of(&self, way: Direction, stamp: Stamp) -> Option<u64> {
        let at = self.at[way as usize][stamp as usize];
        (at > 0).then_some(at)
    }
}

/// Tracepoints that follow the messages of one flow, attached until this is dropped or the
/// process ends.
pub struct Tracer {
    programs: Ebpf,
}

impl Tracer {
    /// Attaches to every tracepoint on the way of `flow`. The first message identifies the
    /// threads of client and server: its record has no wake-ups.
    ///
    /// # Errors
    /// A usage fault: an address is not IPv4. An environment fault: [`need`] is missing, or the
    /// kernel refuses.
    pub fn attach(flow: &Flow) -> Result<Tracer, Fault> {
        if !flow.client.is_ipv4() || !flow.server.is_ipv4() {
            return Err(Fault::usage("stages are seen over IPv4 only").remedy("give IPv4 addresses"));
        }
        let protocol = match flow.protocol {
            Protocol::Tcp => 6_u32,
            Protocol::Udp => 17,
        };
        let (client, server) = (flow.client.port(), flow.server.port());
        let ports = [packet_ports(client, server), packet_ports(server, client)];
        let socks = [socket_ports(server, client), socket_ports(client, server)];
        let (mut programs, types) = load(
            MESSAGES,
            STAGES_OBJECT,
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

    /// The records of the last [`RECORDS`] messages before number `before`. A message has a
    /// record once the next one has been sent.
    ///
    /// # Errors
    /// An environment fault: the kernel's map cannot be read.
    pub fn records(&self, before: u64) -> Result<Vec<MessageRecord>, Fault> {
        let records: Array<&MapData, RawRecord> = map(&self.programs, "records")?
            .try_into()
            .map_err(|e| failed_fault("use the map `records`", &e))?;
        let mut found = Vec::new();
        for number in before.saturating_sub(RECORDS)..before {
            let raw = records
                .get(&((number % RECORDS) as u32), 0)
                .map_err(|e| failed_fault("read the map `records`", &e))?;
            if raw.0.iter().all(|leg| leg.number == number + 1) {
                let (at, awaited) = (raw.0.map(|leg| leg.times()), raw.0.map(|leg| leg.awaited != 0));
                found.push(MessageRecord { number, at, awaited });
            }
        }
        Ok(found)
    }
}

/// Both ports as in a packet between them, read in this machine's byte order.
fn packet_ports(from: u16, to: u16) -> u32 {
    let ([a, b], [c, d]) = (from.to_be_bytes(), to.to_be_bytes());
    u32::from_ne_bytes([a, b, c, d])
}

/// Both ports as in a socket's `skc_portpair`: the remote one in network byte order, then the
/// local one in this machine's.
fn socket_ports(local: u16, remote: u16) -> u32 {
    let ([a, b], [c, d]) = (remote.to_be_bytes(), local.to_ne_bytes());
    u32::from_ne_bytes([a, b, c, d])
}
