//! Messages over a stream or in datagrams, with waits that sleep or poll.

use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::time::Duration;

use crate::clock;
use crate::mode::Mode;
use crosstalk_work::peer::socket::is_temporary;

/// The result of waiting for a message.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A whole message, with its bytes.
    Whole(usize),
    /// Nothing yet, after a while of sleeping or polling.
    NotYet,
    /// The peer has closed the connection.
    Closed,
}

/// Carries whole messages between client and server.
pub trait Channel {
    /// Sends a whole message; gives up at `deadline` (nanoseconds of the probes'
    /// clock) if the peer does not take it.
    fn send(&mut self, message: &[u8], deadline: u64) -> io::Result<()>;
    /// Waits a while for a message of at most `into.len()` bytes. A stream receives exactly as many,
    /// and keeps a partial message for the next call.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Arrival>;
}

/// How long to poll before a wait ends, in nanoseconds; and how often before reading the clock.
const SPIN: u64 = 100_000;
const SPINS: u32 = 256;

/// Calls `receive` until there are bytes, or a while has passed.
#[inline]
fn wait(mode: Mode, mut receive: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    let tries = if mode == Mode::Polling { SPINS } else { 1 };
    let mut end = None;
    loop {
        for _ in 0..tries {
            match receive() {
                Ok(n) => return Ok(Some(n)),
                Err(e) if is_temporary(&e) => {}
                Err(e) => return Err(e),
            }
        }
        if mode == Mode::Blocking || clock::now() >= *end.get_or_insert_with(|| clock::now() + SPIN) {
            return Ok(None);
        }
    }
}

/// Messages of one size over a stream of bytes.
pub struct StreamChannel<S> {
    stream: S,
    mode: Mode,
    filled: usize,
}

impl<S> StreamChannel<S> {
    /// A channel over a stream whose calls return after a while (blocking) or at once (polling).
    pub fn new(stream: S, mode: Mode) -> Self {
        StreamChannel { stream, mode, filled: 0 }
    }
}

impl<S: Read + Write> Channel for StreamChannel<S> {
    #[inline]
    fn send(&mut self, mut message: &[u8], deadline: u64) -> io::Result<()> {
        while !message.is_empty() {
            match self.stream.write(message) {
                Ok(n) => message = &message[n..],
                Err(e) if is_temporary(&e) && clock::now() < deadline => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Arrival> {
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
pub struct DatagramChannel {
    socket: UdpSocket,
    mode: Mode,
}

impl DatagramChannel {
    /// A channel over a connected `socket`. A blocking wait lasts at most `nap`.
    pub fn new(socket: UdpSocket, mode: Mode, nap: Duration) -> io::Result<Self> {
        socket.set_nonblocking(mode == Mode::Polling)?;
        socket.set_read_timeout(Some(nap))?;
        socket.set_write_timeout(Some(nap))?;
        Ok(DatagramChannel { socket, mode })
    }
}

impl Channel for DatagramChannel {
    #[inline]
    fn send(&mut self, message: &[u8], deadline: u64) -> io::Result<()> {
        loop {
            match self.socket.send(message) {
                Ok(_) => return Ok(()),
                // An earlier datagram met no socket (ICMP port unreachable). The control connection
                // shows whether the peer is gone.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => return Ok(()),
                Err(e) if is_temporary(&e) && clock::now() < deadline => {}
                Err(e) => return Err(e),
            }
        }
    }

    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> io::Result<Arrival> {
        match wait(self.mode, || self.socket.recv(into)) {
            Ok(Some(n)) => Ok(Arrival::Whole(n)),
            Ok(None) => Ok(Arrival::NotYet),
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => Ok(Arrival::NotYet),
            Err(e) => Err(e),
        }
    }
}
