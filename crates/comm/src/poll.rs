//! Waiting for sockets: poll(2).

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// A socket to wait for, and its state after the wait.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct PolledSocket(libc::pollfd);

impl PolledSocket {
    /// Waits for input, and for room for output if `writing`.
    pub(crate) fn new(fd: RawFd, writing: bool) -> Self {
        let events = libc::POLLIN | if writing { libc::POLLOUT } else { 0 };
        PolledSocket(libc::pollfd { fd, events, revents: 0 })
    }

    /// Reading will not block: there is input, an end, or an error.
    pub(crate) fn readable(&self) -> bool {
        self.0.revents & (libc::POLLIN | libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }
}

/// Waits until one of the sockets is ready, at most `most`. An interrupted wait returns
/// early: callers check their deadlines and wait again.
pub(crate) fn wait(sockets: &mut [PolledSocket], most: Duration) -> io::Result<()> {
    let millis = i32::try_from(most.as_millis().max(1)).unwrap_or(i32::MAX);
    // SAFETY: `PolledSocket` is a transparent `pollfd`, and the pointer and length
    // describe one live, exclusively borrowed slice of them.
    let ready = unsafe { libc::poll(sockets.as_mut_ptr().cast(), sockets.len() as libc::nfds_t, millis) };
    if ready >= 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        e if e.kind() == io::ErrorKind::Interrupted => Ok(()),
        e => Err(e),
    }
}
