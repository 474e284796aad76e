//! Messages that are sent when they are due, and their replies.

use crosstalk_core::Fault;
use crosstalk_core::histogram::Histogram;
use crosstalk_core::units::{Bytes, Seconds};

use super::non_blocking::NonBlocking;
use super::rate_result::RateResult;
use crate::clock;
use crate::message::{read_number, write_number};
use crosstalk_work::peer::socket::{closed_fault, connection_fault, is_temporary};
use crosstalk_work::peer::{Deadline, Line};

/// Polls between two checks whether to go on.
const POLLS: u32 = 4096;

/// A connection under load, with the messages that are on their way.
pub struct Connection<'a, W> {
    stream: W,
    line: &'a Line,
    message: Vec<u8>,
    /// Bytes of the last message that are still to be sent.
    left: usize,
    /// Messages begun: the number of the next one.
    sent: u64,
    /// The first message whose reply is waited for.
    waited_from: u64,
    /// Messages answered from that one on.
    answered: u64,
    /// Replies, whole or in part.
    replies: Vec<u8>,
    filled: usize,
}

impl<'a, W: NonBlocking> Connection<'a, W> {
    /// A connection for messages of `size` bytes; `line` is the control connection.
    pub fn new(stream: W, size: Bytes, line: &'a Line) -> Self {
        let size = size.0 as usize;
        let replies = vec![0; size.max(64 << 10)];
        Connection {
            stream,
            line,
            message: vec![0; size],
            left: 0,
            sent: 0,
            waited_from: 0,
            answered: 0,
            replies,
            filled: 0,
        }
    }

    /// Sends a message at each time of `schedule` and receives the replies, until all are here or
    /// `patience` has passed since the last was due. Then waits until nothing is on its way any
    /// more, so that the next schedule begins with an idle server.
    ///
    /// # Errors
    /// Where the server hangs up or does not answer; interrupted.
    pub fn send_on_schedule(
        &mut self,
        schedule: &[u64],
        patience: Seconds,
        until: &Deadline,
    ) -> Result<RateResult, Fault> {
        let last = schedule.last().copied().unwrap_or(0);
        let gap = last / (schedule.len() as u64).saturating_sub(1).max(1);
        let mut result = RateResult {
            latency: Histogram::default(),
            sent_late: Histogram::default(),
            due: schedule.len() as u64,
            sent: 0,
            span: last + gap,
            elapsed: 0,
        };
        let patience = (patience.0 * 1e9) as u64;
        let first = self.sent;
        let begin = clock::now();
        let mut polls = 0_u32;
        loop {
            let now = clock::now() - begin;
            let next = schedule.get((self.sent - first) as usize).filter(|due| **due <= now);
            if self.send(next.is_some())? {
                let due = schedule[(self.sent - 1 - first) as usize];
                result.sent_late.record(now.saturating_sub(due));
            }
            self.receive(|number| {
                let due = number.checked_sub(first).and_then(|place| schedule.get(place as usize));
                if let Some(due) = due {
                    result.elapsed = clock::now() - begin;
                    result.latency.record(result.elapsed - due);
                }
            })?;
            if result.latency.count() == result.due || now >= last + patience {
                break;
            }
            self.check(&mut polls, until)?;
        }
        // A message that is sent in part does not count.
        result.sent = self.sent - first - u64::from(self.left > 0);
        self.drain(patience, until)?;
        Ok(result)
    }

    /// Checks now and then whether to go on.
    fn check(&self, polls: &mut u32, until: &Deadline) -> Result<(), Fault> {
        *polls = polls.wrapping_add(1);
        if polls.is_multiple_of(POLLS) { until.check("the replies") } else { Ok(()) }
    }

    /// Receives what is on its way, until nothing has arrived for `patience` nanoseconds.
    fn drain(&mut self, patience: u64, until: &Deadline) -> Result<(), Fault> {
        let (mut moved, mut polls) = (clock::now(), 0);
        while self.left > 0 || self.answered < self.sent - self.waited_from {
            // If this thread had no processor meanwhile, what arrived is still to be received.
            let (before, polled) = ((self.answered, self.filled, self.left), clock::now());
            self.send(false)?;
            self.receive(|_| ())?;
            if (self.answered, self.filled, self.left) != before {
                moved = clock::now();
            } else if polled - moved.min(polled) > patience {
                if self.stream.is_stream() {
                    return Err(Fault::attempt("the server does not answer, though the connection stands")
                        .at(self.line.peer().to_string())
                        .remedy("see whether it is stopped or overloaded, or allow a longer `patience`"));
                }
                // The remaining datagrams are lost, or too late to count.
                self.waited_from = self.sent;
                self.answered = 0;
                return Ok(());
            }
            self.check(&mut polls, until)?;
        }
        Ok(())
    }

    /// Sends the rest of a message, or a new one if `another` is due. Returns whether a message is now
    /// sent completely.
    #[inline]
    fn send(&mut self, another: bool) -> Result<bool, Fault> {
        if self.left == 0 {
            if !another {
                return Ok(false);
            }
            write_number(&mut self.message, self.sent);
            self.left = self.message.len();
            self.sent += 1;
        }
        let from = self.message.len() - self.left;
        match self.stream.send(&self.message[from..]) {
            Ok(n) => self.left -= n,
            Err(e) if is_temporary(&e) => {}
            Err(e) => return Err(connection_fault(self.line.peer(), &e)),
        }
        Ok(self.left == 0)
    }

    /// Receives what is there, and calls `whole` with the number of every complete reply.
    #[inline]
    fn receive(&mut self, mut whole: impl FnMut(u64)) -> Result<(), Fault> {
        let size = self.message.len();
        match self.stream.receive(&mut self.replies[self.filled..]) {
            Ok(0) if self.stream.is_stream() => return Err(closed_fault(self.line.peer())),
            // A datagram of another size is a late token.
            Ok(n) if !self.stream.is_stream() && n != size => return Ok(()),
            Ok(n) => self.filled += n,
            Err(e) if is_temporary(&e) => return Ok(()),
            Err(e) => return Err(connection_fault(self.line.peer(), &e)),
        }
        let mut from = 0;
        while self.filled - from >= size {
            let number = read_number(&self.replies[from..from + size]);
            self.answered += u64::from(number >= self.waited_from);
            whole(number);
            from += size;
        }
        self.replies.copy_within(from..self.filled, 0);
        self.filled -= from;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
