//! An exchange: a request and its answer, with their times at the kernel's tracepoints.

use aya::Pod;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A step of an exchange; as `enum stamp` of `bpf/service/state.h`. The steps of the request
/// come first, then, from [`Stamp::Answer`] on, the same ones of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Stamp {
    /// The client begins to send the request.
    Send,
    /// The request's first packet enters the queueing discipline.
    Queue,
    /// The packet is given to the driver.
    Xmit,
    /// The server's network stack gets the packet.
    Receive,
    /// The request is in the server's socket's queue.
    Ready,
    /// The kernel starts to wake the server's thread.
    Waking,
    /// The server's thread is runnable.
    Wakeup,
    /// The server's thread runs.
    Run,
    /// The server has read for the first time.
    Read,
    /// The server has read for the last time before it answers.
    LastRead,
    /// The server begins to send the answer.
    Answer,
    /// The answer's first packet enters the queueing discipline.
    AnswerQueue,
    /// The packet is given to the driver.
    AnswerXmit,
    /// The client's network stack gets the packet.
    AnswerReceive,
    /// The answer is in the client's socket's queue.
    AnswerReady,
    /// The kernel starts to wake the client's thread.
    AnswerWaking,
    /// The client's thread is runnable.
    AnswerWakeup,
    /// The client's thread runs.
    AnswerRun,
    /// The client has read for the first time.
    AnswerRead,
    /// The client has read for the last time before it sends again.
    AnswerLastRead,
}

/// The number of steps ([`Stamp`]) of an exchange.
pub const STAMPS: usize = 20;

impl Stamp {
    /// All steps, in the order of an exchange.
    pub const ALL: [Stamp; STAMPS] = [
        Stamp::Send,
        Stamp::Queue,
        Stamp::Xmit,
        Stamp::Receive,
        Stamp::Ready,
        Stamp::Waking,
        Stamp::Wakeup,
        Stamp::Run,
        Stamp::Read,
        Stamp::LastRead,
        Stamp::Answer,
        Stamp::AnswerQueue,
        Stamp::AnswerXmit,
        Stamp::AnswerReceive,
        Stamp::AnswerReady,
        Stamp::AnswerWaking,
        Stamp::AnswerWakeup,
        Stamp::AnswerRun,
        Stamp::AnswerRead,
        Stamp::AnswerLastRead,
    ];
}

/// A connection's addresses; as `struct key` of `bpf/service/state.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Key {
    client: [u8; 16],
    server: u32,
    client_port: u16,
    server_port: u16,
}

/// As `struct exchange` of `bpf/service/state.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Raw {
    key: Key,
    at: [u64; STAMPS],
    off: u64,
    reader: u32,
    asker: u32,
    packets: u32,
    cpu: u16,
    queue: u16,
    read_cpu: u16,
    unused: [u16; 3],
}

/// As `struct connection` of `bpf/service/state.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Connection {
    now: Raw,
    off_before: u64,
    phase: u32,
    seen: u32,
    based: u32,
    unused: u32,
}

// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for Key {}
// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for Raw {}
// SAFETY: integers only, without padding between them: every pattern of bits is valid.
unsafe impl Pod for Connection {}

/// One request to a traced service and its answer. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The client's address.
    pub client: SocketAddr,
    /// The server's port.
    pub port: u16,
    /// The times in the order of [`Stamp::ALL`]; zero: not seen.
    pub at: [u64; STAMPS],
    /// Nanoseconds for which the server's thread was on no CPU between its last read and the
    /// answer; `None`: another thread answered.
    pub off: Option<u64>,
    /// The thread id of the server's thread.
    pub reader: u32,
    /// The thread id of the client's thread; `None`: not seen.
    pub asker: Option<u32>,
    /// Packets of the request that were received before the answer.
    pub packets: u32,
    /// The CPU that received the request.
    pub cpu: u16,
    /// The device's receive queue; `None`: the device does not report it.
    pub queue: Option<u16>,
    /// The CPU on which the request was read.
    pub read_cpu: u16,
}

impl Exchange {
    /// When it reached this step, in nanoseconds of `CLOCK_MONOTONIC`; `None`: not seen.
    pub fn time_of(&self, stamp: Stamp) -> Option<u64> {
        let at = self.at[stamp as usize];
        (at > 0).then_some(at)
    }

    /// Whether its client was seen, too: whether it is on this machine.
    pub fn has_client(&self) -> bool {
        self.time_of(Stamp::Send).is_some()
    }
}

impl Raw {
    /// Reads a record of the ring buffer; `None`: it has another size.
    pub(super) fn read(bytes: &[u8]) -> Option<Raw> {
        if bytes.len() != size_of::<Raw>() {
            return None;
        }
        // SAFETY: there are as many bytes as are read, at any alignment, and every pattern of
        // bits is valid.
        Some(unsafe { bytes.as_ptr().cast::<Raw>().read_unaligned() })
    }
}

impl From<Raw> for Exchange {
    fn from(raw: Raw) -> Self {
        let address = Ipv6Addr::from(raw.key.client);
        let address = address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4);
        Exchange {
            client: SocketAddr::new(address, raw.key.client_port),
            port: raw.key.server_port,
            at: raw.at,
            off: raw.off.checked_sub(1),
            reader: raw.reader,
            asker: (raw.asker > 0).then_some(raw.asker),
            packets: raw.packets,
            cpu: raw.cpu,
            queue: raw.queue.checked_sub(1),
            read_cpu: raw.read_cpu,
        }
    }
}

/// A connection's exchange when tracing ends.
pub(super) enum Progress {
    /// The connection has none.
    Idle,
    /// It is not over.
    UnderWay,
    /// Every step that can be seen has been.
    Whole(Box<Exchange>),
}

impl Connection {
    /// Decides as `finish` of `bpf/service/exchanges.h`.
    pub(super) fn progress(self) -> Progress {
        let exchange = Exchange::from(self.now);
        let whole = exchange.time_of(Stamp::AnswerXmit).is_some()
            && (!exchange.has_client() || exchange.time_of(Stamp::AnswerRead).is_some());
        match self.phase {
            0 => Progress::Idle,
            _ if whole => Progress::Whole(Box::new(exchange)),
            _ => Progress::UnderWay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> Raw {
        let client = "::ffff:10.1.2.3".parse::<Ipv6Addr>().expect("an address").octets();
        let key = Key { client, server: 0, client_port: 40_000, server_port: 6379 };
        let at = [0; STAMPS];
        Raw {
            key,
            at,
            off: 0,
            reader: 7,
            asker: 0,
            packets: 1,
            cpu: 1,
            queue: 0,
            read_cpu: 0,
            unused: [0; 3],
        }
    }

    #[test]
    fn a_record_is_what_the_programs_write() {
        assert_eq!((size_of::<Key>(), size_of::<Raw>(), size_of::<Connection>()), (24, 216, 240));
        assert_eq!(Stamp::ALL.map(|stamp| stamp as usize).to_vec(), (0..STAMPS).collect::<Vec<_>>());
        assert!(Raw::read(&[0; 215]).is_none() && Raw::read(&[0; 216]).is_some() && Raw::read(&[]).is_none());
    }

    #[test]
    fn what_was_not_seen_is_none() {
        let exchange = Exchange::from(raw());
        assert_eq!(exchange.client, "10.1.2.3:40000".parse().expect("an address"));
        assert_eq!((exchange.off, exchange.queue, exchange.asker), (None, None, None));
        let seen = Exchange::from(Raw { off: 1, queue: 1, asker: 9, ..raw() });
        assert_eq!((seen.off, seen.queue, seen.asker), (Some(0), Some(0), Some(9)));
    }

    #[test]
    fn an_exchange_is_whole_when_the_answer_is_on_its_way_and_a_client_here_has_read_it() {
        let progress = |phase, stamps: &[Stamp]| {
            let mut now = raw();
            stamps.iter().for_each(|stamp| now.at[*stamp as usize] = 5);
            Connection { now, off_before: 0, phase, seen: 0, based: 0, unused: 0 }.progress()
        };
        assert!(matches!(progress(0, &[Stamp::AnswerXmit]), Progress::Idle));
        assert!(matches!(progress(1, &[Stamp::Receive]), Progress::UnderWay));
        assert!(matches!(progress(2, &[Stamp::AnswerXmit]), Progress::Whole(_)));
        assert!(matches!(progress(2, &[Stamp::Send, Stamp::AnswerXmit]), Progress::UnderWay));
        let all = [Stamp::Send, Stamp::AnswerXmit, Stamp::AnswerRead];
        assert!(matches!(progress(2, &all), Progress::Whole(_)));
    }
}
