//! An AF_XDP socket.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use crosstalk_comm::xdp::Xdp;
use crosstalk_core::Fault;
use crosstalk_observe::redirect::{Redirect, redirect};

use super::namespace::enter;
use super::traits::Port;
use crate::wire::veth::{DEVICE, HARDWARE};

/// A port over an AF_XDP socket, and the program that redirects frames to it.
pub struct AfXdp {
    socket: Xdp,
    endpoint: usize,
    _redirect: Redirect,
}

/// The type of frames for local experiments (IEEE 802).
const ETHERTYPE: [u8; 2] = [0x88, 0xB5];

impl Port for AfXdp {
    fn open(place: &Path, endpoint: usize, nap: Option<Duration>) -> Result<Self, Fault> {
        enter(place)?;
        let socket = Xdp::open(DEVICE, nap)
            .map_err(|e| Fault::environment(format!("cannot open an AF_XDP socket on the wire: {e}")))?;
        let redirect = redirect(DEVICE, socket.as_fd())?;
        Ok(AfXdp { socket, endpoint, _redirect: redirect })
    }

    fn frame(&self, size: usize) -> (Vec<u8>, usize) {
        let mut frame =
            [HARDWARE[1 - self.endpoint].as_slice(), &HARDWARE[self.endpoint], &ETHERTYPE].concat();
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

    /// Skips other frames, such as the kernel's own.
    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.socket.receive(into)?;
        if into[12..14] != ETHERTYPE {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(length)
    }
}
