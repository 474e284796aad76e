//! A TCP connection that carries one JSON object a line.

use serde::{Serialize, de::DeserializeOwned};
use std::io::{self, BufReader, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crosstalk_core::message::{receive, send};
use crosstalk_core::{Fault, FaultKind};

use super::socket::{connection_fault, is_closed, is_readable, wait_readable};
use super::until::Deadline;

/// How long a line may take from its first byte to its last, and to be sent.
pub const LINE_DEADLINE: Duration = Duration::from_secs(5);

/// Reads until a deadline, however slowly the peer sends.
struct DeadlineReader {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for DeadlineReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(ErrorKind::TimedOut, "a line took too long"));
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(into)
    }
}

/// This node's end of a connection to another node, over which both send JSON messages, one a line.
pub struct Line {
    reader: BufReader<DeadlineReader>,
    writer: TcpStream,
    peer: SocketAddr,
}

impl Line {
    /// A line over an open connection.
    ///
    /// # Errors
    /// An attempt fault where the socket cannot be set up.
    pub fn new(stream: TcpStream) -> Result<Self, Fault> {
        let open = || -> io::Result<Self> {
            stream.set_write_timeout(Some(LINE_DEADLINE))?;
            let peer = stream.peer_addr()?;
            let reader = DeadlineReader { stream: stream.try_clone()?, deadline: Instant::now() };
            Ok(Line { reader: BufReader::new(reader), writer: stream, peer })
        };
        open().map_err(|e| Fault::attempt(format!("cannot set up a connection: {e}")))
    }

    /// The peer's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// This end's address.
    ///
    /// # Errors
    /// Where the connection has failed.
    pub fn local(&self) -> Result<SocketAddr, Fault> {
        self.writer.local_addr().map_err(|e| connection_fault(self.peer, &e))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// An attempt fault where the peer does not take it in time, or has closed.
    pub fn send(&self, message: &impl Serialize) -> Result<(), Fault> {
        send(&mut &self.writer, message).map_err(|f| self.attempt(f))
    }

    /// Waits for a message; `None` when the peer has closed.
    ///
    /// # Errors
    /// An attempt fault at the deadline, or where what comes is no such message; an interruption when it is
    /// cancelled.
    pub fn receive<T: DeserializeOwned>(&mut self, until: &Deadline) -> Result<Option<T>, Fault> {
        if self.reader.buffer().is_empty() {
            wait_readable(&self.writer, until, "the other end").map_err(|fault| match fault.kind {
                FaultKind::Interrupted => fault,
                _ => fault.at(self.peer.to_string()),
            })?;
        }
        let deadline = Instant::now() + LINE_DEADLINE.min(until.time_left());
        self.reader.get_mut().deadline = deadline;
        receive(&mut self.reader).map_err(|fault| match Instant::now() < deadline {
            true => self.attempt(fault),
            false => Fault::attempt("the other end began a message and did not end it in time")
                .at(self.peer.to_string()),
        })
    }

    /// Whether the peer has closed, or a message has arrived.
    pub fn is_readable(&self) -> bool {
        !self.reader.buffer().is_empty() || is_readable(&self.writer, Duration::ZERO)
    }

    /// Whether the peer has closed, even if messages are left to read.
    pub fn peer_has_closed(&self) -> bool {
        is_closed(&self.writer)
    }

    /// What fails here fails the attempt, not the machine.
    fn attempt(&self, fault: Fault) -> Fault {
        let kind = if fault.kind == FaultKind::Gone { FaultKind::Gone } else { FaultKind::Attempt };
        Fault { kind, ..fault }.at(self.peer.to_string())
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }
}

#[cfg(test)]
mod tests;
