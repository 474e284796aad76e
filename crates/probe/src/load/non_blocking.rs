//! Sending and receiving without ever sleeping.

use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;

/// Sends and receives messages, and never sleeps.
pub trait NonBlocking {
    /// Sends as much of a message as there is room for; of a datagram all or nothing.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Receives what is there; of datagrams one.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// Whether it is a stream, where receiving no bytes is the end of the connection.
    fn is_stream(&self) -> bool;
}

/// A stream of bytes that never sleeps.
pub struct NonBlockingStream<S>(pub S);

impl<S: Read + Write> NonBlocking for NonBlockingStream<S> {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }

    fn is_stream(&self) -> bool {
        true
    }
}

/// UDP datagrams to and from one peer, without ever sleeping.
pub struct NonBlockingDatagrams(UdpSocket);

impl NonBlockingDatagrams {
    /// Makes a connected socket non-blocking.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(NonBlockingDatagrams(socket))
    }
}

impl NonBlocking for NonBlockingDatagrams {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.send(bytes) {
            // The error is an earlier datagram's.
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => Ok(bytes.len()),
            sent => sent,
        }
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.recv(into) {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => Err(ErrorKind::WouldBlock.into()),
            received => received,
        }
    }

    fn is_stream(&self) -> bool {
        false
    }
}
