//! Waiting for descriptors (poll(2)), with a deadline.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use crate::errno::check;

/// Waits until one of the descriptors can be read or has ended. Returns which ones; none if
/// `timeout` passes first. A timeout of `None` waits without end.
pub fn wait_readable(descriptors: &[&dyn AsFd], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut polls: Vec<_> = descriptors
        .iter()
        .map(|d| libc::pollfd { fd: d.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let until = timeout.map(|t| Instant::now() + t);
    loop {
        let millis = until.map_or(-1, |u| u.saturating_duration_since(Instant::now()).as_millis() as i32);
        // SAFETY: the array is valid for its length; its descriptors are borrowed, so open.
        match check(unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, millis) }) {
            Ok(_) => return Ok(polls.iter().map(|p| p.revents != 0).collect()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
