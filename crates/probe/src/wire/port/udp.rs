//! UDP through the kernel's sockets.

use std::io;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use crosstalk_core::Fault;

use super::namespace::enter;
use super::traits::Port;
use crate::wire::veth::ADDRESSES;

/// Bytes of the headers of Ethernet, IPv4 and UDP (IEEE 802.3, RFC 791, RFC 768).
const HEADERS: usize = 14 + 20 + 8;

/// The port of both endpoints.
const PORT: u16 = 4791;

impl Port for UdpSocket {
    fn open(place: &Path, endpoint: usize, nap: Option<Duration>) -> Result<Self, Fault> {
        enter(place)?;
        let socket = UdpSocket::bind((ADDRESSES[endpoint], PORT)).and_then(|socket| {
            socket.connect((ADDRESSES[1 - endpoint], PORT))?;
            socket.set_nonblocking(nap.is_none())?;
            socket.set_read_timeout(nap)?;
            Ok(socket)
        });
        socket.map_err(|e| Fault::environment(format!("cannot open a socket on the wire: {e}")))
    }

    fn frame(&self, size: usize) -> (Vec<u8>, usize) {
        (vec![0; size - HEADERS], 0)
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        UdpSocket::send(self, frame).map(drop)
    }

    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.recv(into)
    }
}
