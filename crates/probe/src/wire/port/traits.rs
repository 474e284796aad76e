//! One frame, one call.

use std::io;
use std::path::Path;
use std::time::Duration;

use crosstalk_core::Fault;

/// Sends and receives frames at an endpoint of the wire, or of what replaces it.
pub trait Port: Sized {
    /// Opens endpoint 0 or 1 at `place`. With a nap receiving sleeps for so long at most, else never.
    ///
    /// # Errors
    /// An environment fault that says what the kernel refuses.
    fn open(place: &Path, endpoint: usize, nap: Option<Duration>) -> Result<Self, Fault>;

    /// The bytes to send for a frame of `size` bytes, and where the message begins in them.
    fn frame(&self, size: usize) -> (Vec<u8>, usize);

    /// Sends a frame.
    fn send(&mut self, frame: &[u8]) -> io::Result<()>;

    /// Sends a frame up to `count` times, in as few calls as it can; returns how often.
    fn send_many(&mut self, frame: &[u8], count: usize) -> io::Result<usize> {
        for sent in 0..count {
            match self.send(frame) {
                Err(e) if sent == 0 => return Err(e),
                // The frames that were sent count. The next call returns the error again.
                Err(_) => return Ok(sent),
                Ok(()) => {}
            }
        }
        Ok(count)
    }

    /// Receives a frame of at most `into.len()` bytes, and returns its bytes.
    ///
    /// # Errors
    /// [`std::io::ErrorKind::WouldBlock`] or a passing one if there is none yet.
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize>;
}
