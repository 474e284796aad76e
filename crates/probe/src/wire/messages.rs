//! Messages out of a port and into it.

use std::io;

use crosstalk_core::Fault;
use crosstalk_host::ticks::Ticks;

use super::port::Port;
use crosstalk_work::peer::socket::passing;

fn failed(e: &io::Error) -> Fault {
    Fault::attempt(format!("the wire failed: {e}"))
}

/// A port, with what it sends and receives.
pub struct Messages<P> {
    port: P,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// Where a message's own bytes begin.
    own: usize,
}

impl<P: Port> Messages<P> {
    /// Of a frame of `size` bytes.
    pub fn new(port: P, size: usize) -> Self {
        let (outgoing, own) = port.frame(size);
        let incoming = vec![0; outgoing.len()];
        Messages { port, outgoing, incoming, own }
    }

    /// Writes into what is sent.
    pub fn say(&mut self, at: usize, bytes: &[u8]) {
        self.outgoing[self.own + at..][..bytes.len()].copy_from_slice(bytes);
    }

    /// The number of what was received.
    pub fn number(&self) -> u32 {
        self.incoming[self.own..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// A time in what was received.
    pub fn tick(&self, at: usize) -> u64 {
        self.incoming[self.own + at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Sends.
    #[inline]
    pub fn put(&mut self) -> Result<(), Fault> {
        loop {
            match self.port.send(&self.outgoing) {
                Ok(()) => return Ok(()),
                Err(e) if passing(&e) => {}
                Err(e) => return Err(failed(&e)),
            }
        }
    }

    /// Sends as many times as it can at once, at most `count`; returns how often.
    #[inline]
    pub fn put_many(&mut self, count: usize) -> Result<usize, Fault> {
        match self.port.send_many(&self.outgoing, count) {
            Ok(sent) => Ok(sent),
            Err(e) if passing(&e) => Ok(0),
            Err(e) => Err(failed(&e)),
        }
    }

    /// Whether a whole message has come.
    #[inline]
    pub fn take(&mut self) -> Result<bool, Fault> {
        match self.port.receive(&mut self.incoming) {
            Ok(length) => Ok(length == self.incoming.len()),
            Err(e) if passing(&e) => Ok(false),
            Err(e) => Err(failed(&e)),
        }
    }

    /// Waits for message `number`; whether it came in time.
    #[inline]
    pub fn wait(&mut self, number: u32, spins: usize, clock: Ticks, until: u64) -> Result<bool, Fault> {
        loop {
            for _ in 0..spins {
                if self.take()? && self.number() == number {
                    return Ok(true);
                }
            }
            if clock.now() > until {
                return Ok(false);
            }
        }
    }

    /// The same; when the call began that found it.
    #[inline]
    pub fn wait_timed(&mut self, number: u32, clock: Ticks, until: u64) -> Result<Option<u64>, Fault> {
        loop {
            let began = clock.now();
            if self.take()? && self.number() == number {
                return Ok(Some(began));
            }
            if began > until {
                return Ok(None);
            }
        }
    }
}
