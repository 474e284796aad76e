//! Connections are made when they are first needed: by whoever sends to a rank, or waits for it, first.
//!
//! Two ranks may do so at once. Then the connection of the lower one counts. So a lower rank uses its connection at
//! once, and a higher one waits for `Accepted`, or for the other's connection.

use crosstalk_core::{Fault, FaultKind};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::acceptor::AcceptedPeer;
use crate::header::{Header, Kind};
use crate::link::{Link, PeerState};
use crate::mesh::Mesh;

/// How long the peer's own call may take once it has ended this rank's.
const OTHER_CALL: Duration = Duration::from_secs(1);

impl Mesh<'_> {
    /// Makes sure that there is a connection to a rank.
    pub(crate) fn connect(&mut self, peer: usize) -> Result<(), Fault> {
        if peer == self.id || self.links[peer].is_some() {
            return Ok(());
        }
        // Whoever has called already needs no call.
        while let Some(caller) = self.acceptor.accept()? {
            self.accept_peer(caller)?;
        }
        if self.links[peer].is_some() {
            return Ok(());
        }
        let called = self.acceptor.call(Kind::Hello, self.id, peer, &self.deadline);
        let stream = match called {
            Err(fault) if fault.kind == FaultKind::Gone => return Err(self.verdict(fault)),
            called => called?,
        };
        if self.id < peer {
            self.links[peer] = Some(self.link_over(stream, peer)?);
            return Ok(());
        }
        self.await_accepted(stream, peer)
    }

    fn link_over(&self, stream: TcpStream, peer: usize) -> Result<Link, Fault> {
        Link::new(stream, peer, self.acceptor.key)
            .map_err(|e| Fault::environment(format!("cannot set up a connection: {e}")))
    }

    /// Waits until `peer` says that the connection counts, or makes another one.
    fn await_accepted(&mut self, stream: TcpStream, peer: usize) -> Result<(), Fault> {
        let doing = || format!("waiting for rank {peer} to be ready for messages");
        let mut link = self.link_over(stream, peer)?;
        let mut ended: Option<Instant> = None;
        loop {
            let waits_for = (link.peer == PeerState::Connected).then(|| link.stream.as_raw_fd());
            self.wait_with(None, None, waits_for.as_slice(), &doing)?;
            if self.links[peer].is_some() {
                return Ok(());
            }
            self.check_peers()?;
            // Its first message is `Accepted`. It ends where the peer's own connection counts.
            if link.reads_accepted()? {
                self.links[peer] = Some(link);
                return Ok(());
            }
            if link.peer != PeerState::Connected
                && ended.get_or_insert_with(Instant::now).elapsed() > OTHER_CALL
            {
                // It was not for the peer's own call: a peer that has gone cannot be called.
                return self.connect(peer);
            }
        }
    }

    /// Lets in whoever has called.
    pub(crate) fn accept_pending(&mut self) -> Result<(), Fault> {
        match self.acceptor.accept()? {
            Some(caller) => self.accept_peer(caller),
            None => Ok(()),
        }
    }

    /// Takes the connection of a rank that has called, unless another one counts.
    pub(crate) fn accept_peer(&mut self, caller: AcceptedPeer) -> Result<(), Fault> {
        let AcceptedPeer { hello, stream } = caller;
        let peer = hello.source as usize;
        if hello.kind != Kind::Hello || peer == self.id {
            return Ok(());
        }
        if self.links[peer].is_some() {
            if peer > self.id {
                // Both called at once, and this rank's call counts.
                return Ok(());
            }
            return Err(Fault::attempt("it connected twice").on(peer));
        }
        let mut link = self.link_over(stream, peer)?;
        if peer > self.id {
            let wire = link.stamp(Header::bare(Kind::Accepted, self.id, 0));
            // A caller that has gone shows when it is waited for.
            let _ = link.write(&[&wire], 0, usize::MAX);
        }
        self.links[peer] = Some(link);
        Ok(())
    }
}
