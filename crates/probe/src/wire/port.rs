//! What an end of the wire sends and receives by: one frame, one call.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use crosstalk_comm::ring::{Ring, Side};
use crosstalk_comm::xdp::Xdp;
use crosstalk_core::Fault;
use crosstalk_host::namespace;
use crosstalk_observe::redirect::{Redirect, redirect};

use super::ground::{ADDRESSES, DEVICE, HARDWARE};

/// An end of the wire, or of what stands in for one.
pub trait Port: Sized {
    /// End 0 or 1, which is found at `place`; where there is a nap, receiving sleeps so
    /// long at most, else never.
    fn open(place: &Path, end: usize, nap: Option<Duration>) -> Result<Self, Fault>;

    /// What is sent of a frame of `size` bytes, and from where on that is the message's own.
    fn frame(&self, size: usize) -> (Vec<u8>, usize);

    /// Sends a frame.
    fn send(&mut self, frame: &[u8]) -> io::Result<()>;

    /// Sends a frame up to `count` times, as many at once as it can; returns how often.
    fn send_many(&mut self, frame: &[u8], count: usize) -> io::Result<usize> {
        for sent in 0..count {
            match self.send(frame) {
                Err(e) if sent == 0 => return Err(e),
                // What has gone counts; what is wrong is told the next time.
                Err(_) => return Ok(sent),
                Ok(()) => {}
            }
        }
        Ok(count)
    }

    /// Receives a frame of at most `into.len()` bytes; returns how many it has.
    /// [`ErrorKind::WouldBlock`] (or a passing one) where there is none yet.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize>;
}

/// Ethernet's, IPv4's and UDP's headers (IEEE 802.3, RFC 791, RFC 768).
const HEADERS: usize = 14 + 20 + 8;

/// Ends meet at this port.
const PORT: u16 = 4791;

fn enter(place: &Path) -> Result<(), Fault> {
    let file =
        File::open(place).map_err(|e| Fault::environment(e.to_string()).at(place.display().to_string()))?;
    namespace::join(&file)
}

impl Port for UdpSocket {
    fn open(place: &Path, end: usize, nap: Option<Duration>) -> Result<Self, Fault> {
        enter(place)?;
        let socket = UdpSocket::bind((ADDRESSES[end], PORT)).and_then(|socket| {
            socket.connect((ADDRESSES[1 - end], PORT))?;
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

/// An AF_XDP socket, and the program that hands it what arrives.
pub struct AfXdp {
    socket: Xdp,
    end: usize,
    _redirect: Redirect,
}

/// For local experiments (IEEE 802).
const ETHERTYPE: [u8; 2] = [0x88, 0xB5];

impl Port for AfXdp {
    fn open(place: &Path, end: usize, nap: Option<Duration>) -> Result<Self, Fault> {
        enter(place)?;
        let socket = Xdp::open(DEVICE, nap)
            .map_err(|e| Fault::environment(format!("cannot open an AF_XDP socket on the wire: {e}")))?;
        let redirect = redirect(DEVICE, socket.as_fd())?;
        Ok(AfXdp { socket, end, _redirect: redirect })
    }

    fn frame(&self, size: usize) -> (Vec<u8>, usize) {
        let mut frame = [HARDWARE[1 - self.end].as_slice(), &HARDWARE[self.end], &ETHERTYPE].concat();
        let own = frame.len();
        frame.resize(size, 0);
        (frame, own)
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.socket.send(frame)
    }

    fn send_many(&mut self, frame: &[u8], count: usize) -> io::Result<usize> {
        self.socket.send_many(frame, count)
    }

    /// Frames of others, such as the kernel's own, are passed over.
    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.socket.receive(into)?;
        if into[12..14] != ETHERTYPE {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(length)
    }
}

/// Rings in memory, of which a frame is so many bytes.
pub struct Memory {
    ring: Ring,
}

impl Port for Memory {
    fn open(place: &Path, end: usize, nap: Option<Duration>) -> Result<Self, Fault> {
        let side = if end == 0 { Side::First } else { Side::Second };
        let map = || Ring::map(File::options().read(true).write(true).open(place)?, side, nap, nap.is_some());
        let ring = map().map_err(|e: io::Error| {
            Fault::environment(format!("cannot share memory: {e}")).at(place.display().to_string())
        })?;
        Ok(Memory { ring })
    }

    fn frame(&self, size: usize) -> (Vec<u8>, usize) {
        (vec![0; size], 0)
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        // One frame is on its way each way at most: it fits.
        self.ring.write_all(frame)
    }

    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut done = self.ring.read(into)?;
        // What has begun to arrive is copied at this moment.
        while done < into.len() && done > 0 {
            match self.ring.read(&mut into[done..]) {
                Ok(0) => return Ok(0),
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }
}
