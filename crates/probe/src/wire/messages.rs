//! Messages that are sent and received at a port.

use std::io;

use crosstalk_core::Fault;
use crosstalk_host::ticks::TickClock;

use super::port::Port;
use crosstalk_work::peer::socket::is_temporary;

fn failed(e: &io::Error) -> Fault {
    Fault::attempt(format!("the wire failed: {e}"))
}

/// A port with its message buffers.
pub struct Messages<P> {
    port: P,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// Where the message begins in a frame.
    offset: usize,
}

impl<P: Port> Messages<P> {
    /// Buffers for frames of `size` bytes, sent and received over `port`.
    pub fn new(port: P, size: usize) -> Self {
        let (outgoing, offset) = port.frame(size);
        let incoming = vec![0; outgoing.len()];
        Messages { port, outgoing, incoming, offset }
    }

    /// Writes into the message to send.
    pub fn write_at(&mut self, at: usize, bytes: &[u8]) {
        self.outgoing[self.offset + at..][..bytes.len()].copy_from_slice(bytes);
    }

    /// The number of the received message.
    pub fn received_number(&self) -> u32 {
        self.incoming[self.offset..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// The time, in ticks, that the received message has at byte `at`.
    pub fn received_tick(&self, at: usize) -> u64 {
        self.incoming[self.offset + at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Sends the message.
    ///
    /// # Errors
    /// Where the port fails.
    #[inline]
    pub fn send(&mut self) -> Result<(), Fault> {
        loop {
            match self.port.send(&self.outgoing) {
                Ok(()) => return Ok(()),
                Err(e) if is_temporary(&e) => {}
                Err(e) => return Err(failed(&e)),
            }
        }
    }

    /// Sends the message up to `count` times, as often as it can at once; returns how often.
    ///
    /// # Errors
    /// Where the port fails.
    #[inline]
    pub fn send_many(&mut self, count: usize) -> Result<usize, Fault> {
        match self.port.send_many(&self.outgoing, count) {
            Ok(sent) => Ok(sent),
            Err(e) if is_temporary(&e) => Ok(0),
            Err(e) => Err(failed(&e)),
        }
    }

    /// Receives a message, and returns whether there was a whole one.
    ///
    /// # Errors
    /// Where the port fails.
    #[inline]
    pub fn receive(&mut self) -> Result<bool, Fault> {
        match self.port.receive(&mut self.incoming) {
            Ok(length) => Ok(length == self.incoming.len()),
            Err(e) if is_temporary(&e) => Ok(false),
            Err(e) => Err(failed(&e)),
        }
    }

    /// Waits for message `number` until a tick, and returns whether it arrived.
    ///
    /// # Errors
    /// Where the port fails.
    #[inline]
    pub fn wait_for(
        &mut self,
        number: u32,
        spins: usize,
        clock: TickClock,
        until: u64,
    ) -> Result<bool, Fault> {
        loop {
            for _ in 0..spins {
                if self.receive()? && self.received_number() == number {
                    return Ok(true);
                }
            }
            if clock.now() > until {
                return Ok(false);
            }
        }
    }

    /// As [`Messages::wait_for`]; returns when the call began that received the message.
    ///
    /// # Errors
    /// Where the port fails.
    #[inline]
    pub fn wait_for_timed(
        &mut self,
        number: u32,
        clock: TickClock,
        until: u64,
    ) -> Result<Option<u64>, Fault> {
        loop {
            let began = clock.now();
            if self.receive()? && self.received_number() == number {
                return Ok(Some(began));
            }
            if began > until {
                return Ok(None);
            }
        }
    }
}
