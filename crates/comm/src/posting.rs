//! Messages that a rank begins to send, and that leave while it continues, in real time.

use crosstalk_core::Fault;

use crate::header::{Header, LONGEST};
use crate::link::counts;
use crate::mesh::{Mesh, gone};
use crate::send_queue::Posted;

/// The most bytes that wait to be written to one peer: beyond, a rank waits until the peer reads.
const MOST_QUEUED: usize = 256 << 20;

impl Mesh<'_> {
    /// Begins to send a message: what the socket does not take now waits, and leaves whenever the rank communicates.
    ///
    /// # Errors
    /// If the message is too long, or the peer is gone.
    pub(crate) fn post(
        &mut self,
        to: usize,
        header: Header,
        body: &[&[u8]],
    ) -> Result<Option<Posted>, Fault> {
        let length: usize = body.iter().map(|part| part.len()).sum();
        let waiting = self.links[to].as_ref().map_or(0, |link| link.queue.bytes());
        if to == self.id || waiting + length > MOST_QUEUED || length as u64 > LONGEST {
            return self.send(to, header, body).map(|()| None);
        }
        self.connect(to)?;
        let link = self.link(to);
        let wire = link.stamp(Header { length: length as u64, ..header });
        let parts: Vec<&[u8]> = std::iter::once(&wire[..]).chain(body.iter().copied()).collect();
        link.sent += u64::from(counts(header.kind));
        let posted = link.post(&parts);
        self.has_queued |= !self.link(to).queue.is_empty();
        posted.map(Some).map_err(|_| self.fault_of(to))
    }

    /// Whether a message that was posted is written.
    pub(crate) fn is_written(&self, to: usize, message: Posted) -> bool {
        self.links[to].as_ref().is_none_or(|link| link.queue.is_written(message))
    }

    /// Writes what waits to be, as far as sockets take it now.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        if !self.has_queued {
            return Ok(());
        }
        self.has_queued = false;
        for peer in self.peers() {
            if self.link(peer).flush().is_err() {
                return Err(self.fault_of(peer));
            }
            self.has_queued |= !self.link(peer).queue.is_empty();
        }
        Ok(())
    }

    /// The fault of a peer to which nothing can be written. It may have sent the reason before it ended.
    pub(crate) fn fault_of(&mut self, peer: usize) -> Fault {
        let reason = self.drain(peer, None).and_then(|()| self.check_peers());
        reason.err().unwrap_or_else(|| self.verdict(gone(peer)))
    }

    /// A fault if a peer is gone, the deadline has passed, or the attempt was cancelled.
    pub(crate) fn check_continues(&mut self) -> Result<(), Fault> {
        self.check_peers()?;
        self.deadline.remaining(&|| "communicating".into()).map(drop)
    }
}
