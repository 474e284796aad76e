//! All of a rank's connections: sending and receiving that drain every peer
//! while they wait, under a deadline, and until cancelled.

use crosstalk_core::Fault;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::header::{HEADER, Header, Kind, LONGEST};
use crate::link::{Link, Message, Peer};
use crate::poll::{self, Watched};

/// How often a waiting rank looks whether it was cancelled.
pub(crate) const GLANCE: Duration = Duration::from_millis(50);

/// How many bytes of messages that nobody asked for a rank holds. A program
/// beyond it has a sender that runs away from its receiver.
const BACKLOG: usize = 8 << 30;

/// When to give up.
pub(crate) struct Patience<'c> {
    pub(crate) until: Instant,
    pub(crate) cancelled: &'c AtomicBool,
}

impl Patience<'_> {
    /// How long to wait at most before asking again; a fault when it is over.
    pub(crate) fn left(&self, doing: &dyn Fn() -> String) -> Result<Duration, Fault> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Fault::interrupted().at(doing()));
        }
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Fault::attempt(format!("the deadline passed while {}", doing()))
                .remedy("allow more time, or make the input smaller"));
        }
        Ok(left.min(GLANCE))
    }
}

/// The connections of one rank; its own place stays empty.
pub(crate) struct Mesh<'c> {
    id: usize,
    links: Vec<Option<Link>>,
    patience: Patience<'c>,
    watched: Vec<Watched>,
    backlog: usize,
}

impl<'c> Mesh<'c> {
    /// Takes over connected links.
    pub(crate) fn new(id: usize, links: Vec<Option<Link>>, patience: Patience<'c>) -> Self {
        Mesh { id, links, patience, watched: Vec::new(), backlog: 0 }
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
                // It may have said why: its last words are still to be read.
                Err(_) => {
                    self.drain(to)?;
                    self.nobody_lost()?;
                    return Err(gone(to));
                }
            }
            if done == HEADER + body.len() {
                return Ok(());
            }
            self.nobody_lost()?;
            self.turn(Some(to), &|| format!("sending to node {to}"))?;
        }
    }

    /// The next message from `from` that `wanted` accepts, in the order sent.
    pub(crate) fn receive(
        &mut self,
        from: usize,
        wanted: impl Fn(&Message) -> bool,
    ) -> Result<Message, Fault> {
        loop {
            if let Some(message) = self.take(from, &wanted) {
                return Ok(message);
            }
            self.nobody_lost()?;
            if self.link(from).peer == Peer::Finished {
                return Err(
                    Fault::attempt("it finished without sending the message that is waited for").on(from)
                );
            }
            self.turn(None, &|| format!("waiting for a message from node {from}"))?;
        }
    }

    /// The message with the earliest virtual arrival among those of all peers
    /// that `wanted` accepts and that have really arrived; waits for one.
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
            self.nobody_lost()?;
            let peers = self.peers();
            if peers.iter().all(|peer| self.link(*peer).peer != Peer::Here) {
                return Err(Fault::attempt("no node is left that could send a message"));
            }
            self.turn(None, &|| "waiting for a message from any node".into())?;
        }
    }

    /// Tells every peer that nothing more comes, and waits until all have said so.
    pub(crate) fn close(&mut self) -> Result<(), Fault> {
        for peer in self.peers() {
            self.send(peer, Header::bare(Kind::Goodbye, self.id, 0), &[])?;
        }
        for peer in self.peers() {
            while self.link(peer).peer != Peer::Finished {
                self.nobody_lost()?;
                self.turn(None, &|| format!("waiting for node {peer} to finish"))?;
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

    /// A node that died is a fault, whoever is waited for: the attempt cannot
    /// be finished. Messages that it sent before can still be taken.
    fn nobody_lost(&mut self) -> Result<(), Fault> {
        let lost = self.links.iter().enumerate().find_map(|(peer, link)| match link.as_ref()?.peer {
            Peer::Here | Peer::Finished => None,
            Peer::Gone => Some(peer),
            Peer::Blames(other) => Some(other),
        });
        let Some(lost) = lost else { return Ok(()) };
        self.blame(lost);
        Err(gone(lost))
    }

    /// Waits until something happens, and reads what came.
    fn turn(&mut self, writing: Option<usize>, doing: &dyn Fn() -> String) -> Result<(), Fault> {
        let left = self.patience.left(doing)?;
        let mut watched = std::mem::take(&mut self.watched);
        watched.clear();
        let mut open = Vec::with_capacity(self.links.len());
        for (peer, link) in self.links.iter().enumerate() {
            let writing = writing == Some(peer);
            if let Some(link) = link.as_ref().filter(|link| writing || link.peer == Peer::Here) {
                watched.push(Watched::new(link.stream.as_raw_fd(), writing));
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
        if self.backlog > BACKLOG {
            return Err(Fault::attempt(format!(
                "more than {BACKLOG} bytes of messages have arrived that nobody asked for"
            ))
            .remedy("let the sender wait for the receiver from time to time"));
        }
        Ok(())
    }

    /// Tells the others which node is gone, before this one goes too and they
    /// take it for the culprit. Best effort: who cannot be told finds out.
    fn blame(&mut self, lost: usize) {
        let blame = Header::bare(Kind::Blame, self.id, lost as u32);
        for link in self.links.iter_mut().flatten() {
            if link.peer == Peer::Here && !link.writing {
                let wire = link.stamp(blame);
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
