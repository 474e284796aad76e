//! One message's way out and in, over a stream or in datagrams, sleeping or spinning.
//!
//! A message carries its number in its first eight bytes (fewer where it is
//! shorter), so that a late reply is not taken for another's, and, where both
//! ends share a clock and it has room, times of the serving end ([`Stamps`])
//! in the next ones. Little-endian.

use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::ops::Range;
use std::time::Duration;

use super::Mode;
use crate::clock;
use crosstalk_work::peer::socket::passing;

/// Where the time of arrival at the serving end stands.
pub const ARRIVAL: Range<usize> = 8..16;
/// Where the time stands at which it began to send the reply.
pub const DEPARTURE: Range<usize> = 16..24;

/// Which of its times the serving end writes into a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stamps {
    /// None.
    None,
    /// When the message had come.
    Arrival,
    /// And when it began to send the reply.
    Both,
}

impl Stamps {
    /// Bytes that a message needs for them.
    pub fn room(self) -> usize {
        match self {
            Stamps::None => 0,
            Stamps::Arrival => ARRIVAL.end,
            Stamps::Both => DEPARTURE.end,
        }
    }

    /// Whether a message of `size` bytes has room for them.
    pub fn fit(self, size: u64) -> bool {
        size >= self.room() as u64
    }
}

/// The time that stands in a message at `place`, which it has.
pub fn time(message: &[u8], place: Range<usize>) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&message[place]);
    u64::from_le_bytes(bytes)
}

/// Writes a message's number.
pub fn number(message: &mut [u8], number: u64) {
    let digits = message.len().min(8);
    message[..digits].copy_from_slice(&number.to_le_bytes()[..digits]);
}

/// The number that a message of at least eight bytes carries.
pub fn numbered(message: &[u8]) -> u64 {
    message.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes))
}

/// Whether a reply carries this number.
pub fn is_number(reply: &[u8], number: u64) -> bool {
    let digits = reply.len().min(8);
    reply[..digits] == number.to_le_bytes()[..digits]
}

/// What came of waiting for a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A whole message, of so many bytes.
    Whole(usize),
    /// Nothing yet. After a while asleep, or a while of spinning.
    NotYet,
    /// The other end has closed.
    Closed,
}

/// What messages travel on.
pub trait Wire {
    /// Sends a whole message; gives up at `deadline` (nanoseconds of the probes'
    /// clock) where the other end does not take it.
    fn put(&mut self, message: &[u8], deadline: u64) -> io::Result<()>;
    /// Waits a while for a message of at most `into.len()` bytes: over a stream for
    /// exactly as many, keeping what came of it for the next call.
    fn take(&mut self, into: &mut [u8]) -> io::Result<Arrival>;
}

/// How long to ask again and again before looking whether to go on, in nanoseconds; and how
/// often before looking at the time.
const SPIN: u64 = 100_000;
const SPINS: u32 = 256;

/// Asks `receive` for bytes, until there are some or a while has passed.
#[inline]
fn wait(mode: Mode, mut receive: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    let tries = if mode == Mode::Polling { SPINS } else { 1 };
    let mut end = None;
    loop {
        for _ in 0..tries {
            match receive() {
                Ok(n) => return Ok(Some(n)),
                Err(e) if passing(&e) => {}
                Err(e) => return Err(e),
            }
        }
        if mode == Mode::Blocking || clock::now() >= *end.get_or_insert_with(|| clock::now() + SPIN) {
            return Ok(None);
        }
    }
}

/// Messages as stretches of a stream of bytes.
pub struct Stream<S> {
    stream: S,
    mode: Mode,
    filled: usize,
}

impl<S> Stream<S> {
    /// Over a stream whose reading and writing end after a while (asleep) or at once (polling).
    pub fn new(stream: S, mode: Mode) -> Self {
        Stream { stream, mode, filled: 0 }
    }
}

impl<S: Read + Write> Wire for Stream<S> {
    #[inline]
    fn put(&mut self, mut message: &[u8], deadline: u64) -> io::Result<()> {
        while !message.is_empty() {
            match self.stream.write(message) {
                Ok(n) => message = &message[n..],
                Err(e) if passing(&e) && clock::now() < deadline => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, into: &mut [u8]) -> io::Result<Arrival> {
        while self.filled < into.len() {
            let (stream, rest) = (&mut self.stream, &mut into[self.filled..]);
            match wait(self.mode, || stream.read(rest))? {
                Some(0) => return Ok(Arrival::Closed),
                Some(n) => self.filled += n,
                None => return Ok(Arrival::NotYet),
            }
        }
        self.filled = 0;
        Ok(Arrival::Whole(into.len()))
    }
}

/// Messages as UDP datagrams to and from one peer.
pub struct Datagrams {
    socket: UdpSocket,
    mode: Mode,
}

impl Datagrams {
    /// Over a connected `socket`; asleep, a wait lasts at most `nap`.
    pub fn new(socket: UdpSocket, mode: Mode, nap: Duration) -> io::Result<Self> {
        socket.set_nonblocking(mode == Mode::Polling)?;
        socket.set_read_timeout(Some(nap))?;
        socket.set_write_timeout(Some(nap))?;
        Ok(Datagrams { socket, mode })
    }
}

impl Wire for Datagrams {
    #[inline]
    fn put(&mut self, message: &[u8], deadline: u64) -> io::Result<()> {
        loop {
            match self.socket.send(message) {
                Ok(_) => return Ok(()),
                // An earlier datagram met no socket (ICMP port unreachable): the
                // control connection decides whether the other end is gone.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => return Ok(()),
                Err(e) if passing(&e) && clock::now() < deadline => {}
                Err(e) => return Err(e),
            }
        }
    }

    #[inline]
    fn take(&mut self, into: &mut [u8]) -> io::Result<Arrival> {
        match wait(self.mode, || self.socket.recv(into)) {
            Ok(Some(n)) => Ok(Arrival::Whole(n)),
            Ok(None) => Ok(Arrival::NotYet),
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => Ok(Arrival::NotYet),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_need_sixteen_or_twenty_four_bytes() {
        assert!(Stamps::None.fit(1));
        assert!(Stamps::Arrival.fit(16) && !Stamps::Arrival.fit(15));
        assert!(Stamps::Both.fit(24) && !Stamps::Both.fit(23));
    }

    proptest! {
        #[test]
        fn a_message_knows_its_number(size in 1usize..100, n: u64) {
            let mut message = vec![7; size];
            number(&mut message, n);
            prop_assert!(is_number(&message, n));
            prop_assert!(!is_number(&message, n.wrapping_add(1)));
            prop_assert!(message[size.min(8)..].iter().all(|b| *b == 7));
        }
    }
}
