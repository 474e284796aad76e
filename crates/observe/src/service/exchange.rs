//! What a client sent until it was answered, and since when it was where.

use aya::Pod;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Where an exchange is from a time on; as `enum stamp` of `bpf/service.bpf.c`. From
/// [`Stamp::Answer`] on, what happens to the request happens to the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Stamp {
    /// The client begins to send.
    Send,
    /// Its packet is given to the queueing discipline.
    Queue,
    /// And to the driver.
    Xmit,
    /// The server's stack takes it in.
    Receive,
    /// It lies in the socket's queue.
    Ready,
    /// The server's thread is about to be woken.
    Waking,
    /// It is runnable.
    Wakeup,
    /// It runs.
    Run,
    /// It has read for the first time.
    Read,
    /// And for the last time before it answers.
    LastRead,
    /// It begins to send the answer.
    Answer,
    /// The answer's first packet is given to the queueing discipline.
    AnswerQueue,
    /// And to the driver.
    AnswerXmit,
    /// The client's stack takes it in.
    AnswerReceive,
    /// It lies in the client's socket's queue.
    AnswerReady,
    /// The client's thread is about to be woken.
    AnswerWaking,
    /// It is runnable.
    AnswerWakeup,
    /// It runs.
    AnswerRun,
    /// It has read for the first time.
    AnswerRead,
    /// And for the last time before it sends again.
    AnswerLastRead,
}

/// How many there are.
pub const STAMPS: usize = 20;

impl Stamp {
    /// All of them, in the order of an exchange.
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

/// As `struct key`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Key {
    client: [u8; 16],
    server: u32,
    client_port: u16,
    server_port: u16,
}

/// As `struct exchange`.
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

/// As `struct connection`.
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

/// One exchange. Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The client's address.
    pub client: SocketAddr,
    /// The server's port.
    pub port: u16,
    /// Zero where not seen.
    pub at: [u64; STAMPS],
    /// Nanoseconds that the server's thread was on no CPU between its last read and the answer;
    /// not known where another thread answered.
    pub off: Option<u64>,
    /// The server's thread, by number.
    pub reader: u32,
    /// The client's, where it was seen.
    pub asker: Option<u32>,
    /// Packets of the request that came while it was not answered.
    pub packets: u32,
    /// The CPU that took the request in.
    pub cpu: u16,
    /// The device's queue that it came in by, where the device tells.
    pub queue: Option<u16>,
    /// The CPU on which it was read.
    pub read_cpu: u16,
}

impl Exchange {
    /// When it came there, if that was seen.
    pub fn at(&self, stamp: Stamp) -> Option<u64> {
        let at = self.at[stamp as usize];
        (at > 0).then_some(at)
    }

    /// Whether its client was seen, too: it is on this machine.
    pub fn has_client(&self) -> bool {
        self.at(Stamp::Send).is_some()
    }
}

impl Raw {
    /// From a record of the ring buffer; `None` where it is not of this kind.
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

/// How far an exchange has come that a connection still holds.
pub(super) enum Held {
    /// There is none.
    None,
    /// It is not over.
    UnderWay,
    /// All that can be seen of it has been.
    Whole(Box<Exchange>),
}

impl Connection {
    /// As `finish` of `bpf/service.bpf.c` would decide.
    pub(super) fn held(self) -> Held {
        let exchange = Exchange::from(self.now);
        let whole = exchange.at(Stamp::AnswerXmit).is_some()
            && (!exchange.has_client() || exchange.at(Stamp::AnswerRead).is_some());
        match self.phase {
            0 => Held::None,
            _ if whole => Held::Whole(Box::new(exchange)),
            _ => Held::UnderWay,
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
    fn what_is_not_told_is_not_there() {
        let exchange = Exchange::from(raw());
        assert_eq!(exchange.client, "10.1.2.3:40000".parse().expect("an address"));
        assert_eq!((exchange.off, exchange.queue, exchange.asker), (None, None, None));
        let told = Exchange::from(Raw { off: 1, queue: 1, asker: 9, ..raw() });
        assert_eq!((told.off, told.queue, told.asker), (Some(0), Some(0), Some(9)));
    }

    #[test]
    fn an_exchange_is_whole_when_the_answer_is_on_its_way_and_a_client_here_has_read_it() {
        let held = |phase, stamps: &[Stamp]| {
            let mut now = raw();
            stamps.iter().for_each(|stamp| now.at[*stamp as usize] = 5);
            Connection { now, off_before: 0, phase, seen: 0, based: 0, unused: 0 }.held()
        };
        assert!(matches!(held(0, &[Stamp::AnswerXmit]), Held::None));
        assert!(matches!(held(1, &[Stamp::Receive]), Held::UnderWay));
        assert!(matches!(held(2, &[Stamp::AnswerXmit]), Held::Whole(_)));
        assert!(matches!(held(2, &[Stamp::Send, Stamp::AnswerXmit]), Held::UnderWay));
        let all = [Stamp::Send, Stamp::AnswerXmit, Stamp::AnswerRead];
        assert!(matches!(held(2, &all), Held::Whole(_)));
    }
}
