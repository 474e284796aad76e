//! Messages that a rank begins to send, and that leave while it goes on, in real time.

use crosstalk_core::Fault;

use crate::header::{Header, LONGEST};
use crate::link::{Link, counts};
use crate::mesh::{Mesh, gone};
use crate::outgoing::Posted;

/// The most bytes that wait to be written to one peer: beyond, a rank waits until the peer reads.
const MAX_OUTGOING: usize = 256 << 20;

impl Mesh<'_> {
    /// Begins to send a message: what the socket does not take now waits, and goes on whenever the rank communicates.
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
        let waits = |link: &Link| link.outgoing.bytes + length > MAX_OUTGOING;
        if to == self.id || self.links[to].as_ref().is_some_and(waits) || length as u64 > LONGEST {
            return self.send(to, header, body).map(|()| None);
        }
        self.connect(to)?;
        self.post_to(to, header, body).map(Some)
    }

    /// The same over a connection that is there.
    pub(crate) fn post_to(&mut self, to: usize, header: Header, body: &[&[u8]]) -> Result<Posted, Fault> {
        let length: usize = body.iter().map(|part| part.len()).sum();
        let link = self.link(to);
        let wire = link.stamp(Header { length: length as u64, ..header });
        let parts: Vec<&[u8]> = std::iter::once(&wire[..]).chain(body.iter().copied()).collect();
        link.sent += u64::from(counts(header.kind));
        let posted = link.post(&parts);
        self.has_outgoing |= !self.link(to).outgoing.is_empty();
        posted.map_err(|_| self.why_gone(to))
    }

    /// Whether a message that was posted is written.
    pub(crate) fn has_gone(&self, to: usize, message: Posted) -> bool {
        self.links[to].as_ref().is_none_or(|link| link.outgoing.has_gone(message))
    }

    /// Writes what waits to be, as far as sockets take it now.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        if !self.has_outgoing {
            return Ok(());
        }
        self.has_outgoing = false;
        for peer in self.peers() {
            let link = self.link(peer);
            if link.flush().is_err() {
                return Err(self.why_gone(peer));
            }
            self.has_outgoing |= !self.link(peer).outgoing.is_empty();
        }
        Ok(())
    }

    /// The fault of a peer to which nothing can be written. It may have sent the reason before it ended.
    pub(crate) fn why_gone(&mut self, peer: usize) -> Fault {
        let told = self.drain(peer, None).and_then(|()| self.check_peers());
        told.err().unwrap_or_else(|| self.verdict(gone(peer)))
    }
}
