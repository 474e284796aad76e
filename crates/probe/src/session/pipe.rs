//! A pipe in each direction.

use rustix::io::ioctl_fionbio;
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

use crosstalk_host::wait_timeout::WaitTimeout;

/// A pipe in each direction. Reading and writing sleep for `nap` at most.
#[derive(Debug)]
pub struct Pipe {
    input: File,
    output: File,
    /// Pipes have no timeouts: a signal wakes the thread that uses it.
    nap: Option<Duration>,
    nudged: Option<WaitTimeout>,
}

impl Pipe {
    /// A pipe to read from and one to write to; without `nap` they never sleep.
    pub fn new(input: File, output: File, nap: Option<Duration>) -> io::Result<Self> {
        for pipe in [&input, &output] {
            ioctl_fionbio(pipe, nap.is_none())?;
        }
        Ok(Pipe { input, output, nap, nudged: None })
    }

    /// Begins the wake-ups in the thread that waits, which need not be the one that made the pipe.
    #[inline]
    fn nudge(&mut self) {
        if let (None, Some(nap)) = (&self.nudged, self.nap) {
            self.nudged = Some(WaitTimeout::begin(nap));
        }
    }
}

impl Read for Pipe {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.nudge();
        let input = &mut self.input;
        match &self.nudged {
            Some(nudged) => nudged.while_waiting(|| input.read(into)),
            None => input.read(into),
        }
    }
}

impl Write for Pipe {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.nudge();
        let output = &mut self.output;
        match &self.nudged {
            Some(nudged) => nudged.while_waiting(|| output.write(bytes)),
            None => output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
