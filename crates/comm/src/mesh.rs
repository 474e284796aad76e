//! All connections of a rank. Sending and receiving read from every peer while they
//! wait. They end with a fault at the deadline, or when cancelled.

use crosstalk_core::Fault;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::header::{HEADER, Header, Kind, LONGEST};
use crate::link::{Link, Message, PeerState};
use crate::poll::{self, PolledSocket};

/// How often a waiting rank checks whether it was cancelled.
pub(crate) const CANCEL_POLL: Duration = Duration::from_millis(50);

/// The most bytes of messages that have arrived and were not received. A sender that is
/// much faster than its receiver exceeds it.
const MAX_BACKLOG: usize = 8 << 30;

/// When operations end with a fault.
pub(crate) struct Deadline<'c> {
    pub(crate) until: Instant,
    pub(crate) cancelled: &'c AtomicBool,
}

impl Deadline<'_> {
    /// How long to wait before the next check. A fault if the deadline has passed.
    /// `doing` says what is waited for.
    pub(crate) fn remaining(&self, doing: &dyn Fn() -> String) -> Result<Duration, Fault> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Fault::interrupted().at(doing()));
        }
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Fault::attempt(format!("the deadline passed while {}", doing()))
                .remedy("allow more time, or make the input smaller"));
        }
        Ok(left.min(CANCEL_POLL))
    }
}

/// The connections of one rank, by peer. Its own entry is empty.
pub(crate) struct Mesh<'c> {
    id: usize,
    links: Vec<Option<Link>>,
    deadline: Deadline<'c>,
    watched: Vec<PolledSocket>,
    backlog: usize,
}

impl<'c> Mesh<'c> {
    /// A mesh of connected links.
    pub(crate) fn new(id: usize, links: Vec<Option<Link>>, deadline: Deadline<'c>) -> Self {
        Mesh { id, links, deadline, watched: Vec::new(), backlog: 0 }
    }

    /// Sends one message; returns once the kernel has taken it.
    pub(crate) fn send(&mut self, to: usize, header: Header, body: &[u8]) -> Result<(), Fault> {
        if body.len() as u64 > LONGEST {
            return Err(Fault::attempt(format!(
                "expected a message of at most {LONGEST} bytes, found {}",
                body.len()
            ))
            .remedy("send it in parts"));
        }
        let wire = self.link(to).stamp(header);
        let mut done = 0;
        loop {
            match self.link(to).write(&wire, body, done) {
                Ok(so_far) => done = so_far,
                // The peer may have sent the reason before it ended.
                Err(_) => {
                    self.drain(to)?;
                    self.check_peers()?;
                    return Err(gone(to));
                }
            }
            if done == HEADER + body.len() {
                return Ok(());
            }
            self.check_peers()?;
            self.wait_and_read(Some(to), &|| format!("sending to node {to}"))?;
        }
    }

    /// The next message from `from` that `wanted` accepts, in the order of sending.
    pub(crate) fn receive(
        &mut self,
        from: usize,
        wanted: impl Fn(&Message) -> bool,
    ) -> Result<Message, Fault> {
        loop {
            if let Some(message) = self.take(from, &wanted) {
                return Ok(message);
            }
            self.check_peers()?;
            if self.link(from).peer == PeerState::Finished {
                return Err(
                    Fault::attempt("it finished without sending the message that is waited for").on(from)
                );
            }
            self.wait_and_read(None, &|| format!("waiting for a message from node {from}"))?;
        }
    }

    /// Among the messages of all peers that have arrived and that `wanted` accepts, the one
    /// with the earliest virtual arrival. Waits for one.
    pub(crate) fn receive_any(
        &mut self,
        wanted: impl Fn(&Message) -> bool,
    ) -> Result<(usize, Message), Fault> {
        loop {
            self.drain_all()?;
            let candidates = self.links.iter().enumerate().filter_map(|(from, link)| {
                let message = link.as_ref()?.inbox.iter().find(|message| wanted(message))?;
                Some((message.epoch, message.head, from))
            });
            if let Some((.., from)) = candidates.min()
                && let Some(message) = self.take(from, &wanted)
            {
                return Ok((from, message));
            }
            self.check_peers()?;
            let peers = self.peers();
            if peers.iter().all(|peer| self.link(*peer).peer != PeerState::Connected) {
                return Err(Fault::attempt("no node is left that could send a message"));
            }
            self.wait_and_read(None, &|| "waiting for a message from any node".into())?;
        }
    }

    /// Sends `Goodbye` to every peer, and waits for theirs.
    pub(crate) fn close(&mut self) -> Result<(), Fault> {
        for peer in self.peers() {
            self.send(peer, Header::bare(Kind::Goodbye, self.id, 0), &[])?;
        }
        for peer in self.peers() {
            while self.link(peer).peer != PeerState::Finished {
                self.check_peers()?;
                self.wait_and_read(None, &|| format!("waiting for node {peer} to finish"))?;
            }
        }
        Ok(())
    }

    fn peers(&self) -> Vec<usize> {
        (0..self.links.len()).filter(|peer| self.links[*peer].is_some()).collect()
    }

    fn link(&mut self, peer: usize) -> &mut Link {
        self.links[peer].as_mut().expect("a rank has a link to every other, and checks the number first")
    }

    fn take(&mut self, from: usize, wanted: &impl Fn(&Message) -> bool) -> Option<Message> {
        let inbox = &mut self.link(from).inbox;
        let index = inbox.iter().position(wanted)?;
        let message = inbox.remove(index)?;
        self.backlog = self.backlog.saturating_sub(message.body.len());
        Some(message)
    }

    /// A fault if any node is gone, whichever is waited for: the attempt cannot finish.
    /// Messages that it sent before can still be received.
    fn check_peers(&mut self) -> Result<(), Fault> {
        let lost = self.links.iter().enumerate().find_map(|(peer, link)| match link.as_ref()?.peer {
            PeerState::Connected | PeerState::Finished => None,
            PeerState::Gone => Some(peer),
            PeerState::ReportsGone(other) => Some(other),
        });
        let Some(lost) = lost else { return Ok(()) };
        self.report_gone(lost);
        Err(gone(lost))
    }

    /// Waits until a socket is ready, and reads what has arrived.
    fn wait_and_read(&mut self, writing: Option<usize>, doing: &dyn Fn() -> String) -> Result<(), Fault> {
        let left = self.deadline.remaining(doing)?;
        let mut watched = std::mem::take(&mut self.watched);
        watched.clear();
        let mut open = Vec::with_capacity(self.links.len());
        for (peer, link) in self.links.iter().enumerate() {
            let writing = writing == Some(peer);
            if let Some(link) = link.as_ref().filter(|link| writing || link.peer == PeerState::Connected) {
                watched.push(PolledSocket::new(link.stream.as_raw_fd(), writing));
                open.push(peer);
            }
        }
        poll::wait(&mut watched, left)
            .map_err(|e| Fault::environment(format!("cannot wait for messages: {e}")))?;
        for (peer, watched) in open.iter().zip(&watched) {
            if watched.readable() {
                self.drain(*peer)?;
            }
        }
        self.watched = watched;
        Ok(())
    }

    fn drain_all(&mut self) -> Result<(), Fault> {
        self.peers().into_iter().try_for_each(|peer| self.drain(peer))
    }

    fn drain(&mut self, peer: usize) -> Result<(), Fault> {
        self.backlog += self.link(peer).drain()?;
        if self.backlog > MAX_BACKLOG {
            return Err(Fault::attempt(format!(
                "more than {MAX_BACKLOG} bytes of messages have arrived and were not received"
            ))
            .remedy("let the sender wait for the receiver from time to time"));
        }
        Ok(())
    }

    /// Reports to the other peers which node is gone. Otherwise they would take this node,
    /// which ends next, for the cause. Peers that cannot be reached are skipped.
    fn report_gone(&mut self, lost: usize) {
        let report = Header::bare(Kind::PeerGone, self.id, lost as u32);
        for link in self.links.iter_mut().flatten() {
            if link.peer == PeerState::Connected && !link.writing {
                let wire = link.stamp(report);
                let _ = link.write(&wire, &[], 0);
            }
        }
    }
}

fn gone(peer: usize) -> Fault {
    Fault::gone("the node is gone: its connection ended before it had finished")
        .on(peer)
        .remedy(format!("look at what node {peer} reported last"))
}
