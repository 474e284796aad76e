//! All connections of a rank. Sending and receiving read from every peer while they wait. They end with a fault at
//! the deadline, or when cancelled.

use crosstalk_core::Fault;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use crate::acceptor::Acceptor;
use crate::clock_server::Replies;
use crate::deadline::Deadline;
use crate::header::{HEADER, Header, Kind, LONGEST};
use crate::link::{Link, Message, PeerState, Target, counts};
use crate::poll::{self, PolledSocket};
use crate::waiting::Waiting;

/// The most bytes of messages that have arrived and were not received. A sender that is
/// much faster than its receiver exceeds it.
const MAX_BACKLOG: usize = 8 << 30;

/// The bytes that a rank sends before it reads what has come meanwhile: where both happen, data stay in the cache.
const PART: usize = 64 << 10;

/// How long a rank in real time polls for a message, yielding its core in between, before it
/// sleeps: longer than a message takes between two nodes, and short beside what else a rank does.
const BUSY_POLL: Duration = Duration::from_micros(100);

/// How a rank waits for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitPolicy {
    /// It sleeps at once: ranks take turns on one core.
    Sleep,
    /// It polls for [`BUSY_POLL`] first.
    BusyPoll,
}

/// The connections of one rank, by peer. Its own entry is empty, as are those that were not needed yet.
pub(crate) struct Mesh<'c> {
    pub(crate) id: usize,
    pub(crate) links: Vec<Option<Link>>,
    /// Messages to itself.
    own: VecDeque<Message>,
    /// In virtual time, what the clock server answers.
    pub(crate) replies: Option<Replies>,
    pub(crate) acceptor: Acceptor,
    pub(crate) deadline: Deadline<'c>,
    policy: WaitPolicy,
    /// What it waits for, for who asks.
    pub(crate) waiting: Waiting,
    watched: Vec<PolledSocket>,
    backlog: usize,
    arrivals: u64,
    /// Whether messages wait to be written.
    pub(crate) has_queued: bool,
}

impl<'c> Mesh<'c> {
    /// A mesh without connections of `size` ranks.
    pub(crate) fn new(
        id: usize,
        size: usize,
        acceptor: Acceptor,
        deadline: Deadline<'c>,
        policy: WaitPolicy,
    ) -> Self {
        let links = (0..size).map(|_| None).collect();
        let own = VecDeque::new();
        let replies = None;
        Mesh {
            id,
            links,
            own,
            replies,
            acceptor,
            deadline,
            policy,
            waiting: Waiting::default(),
            watched: Vec::new(),
            backlog: 0,
            arrivals: 0,
            has_queued: false,
        }
    }

    /// Sends one message, of several parts; returns once the kernel has taken it.
    pub(crate) fn send(&mut self, to: usize, header: Header, body: &[&[u8]]) -> Result<(), Fault> {
        self.send_while(to, header, body, None)
    }

    /// Sends a message to one rank, and receives one from another meanwhile, as [`Mesh::receive_into`] does.
    pub(crate) fn exchange(
        &mut self,
        to: usize,
        header: Header,
        body: &[&[u8]],
        from: usize,
        wanted: &dyn Fn(&Header) -> bool,
        into: &mut [u8],
    ) -> Result<Header, Fault> {
        self.connect(from)?;
        if self.has(from, wanted) {
            self.send(to, header, body)?;
            return self.receive_into(from, wanted, into);
        }
        let mut target = Target::new(wanted, into);
        self.send_while(to, header, body, Some((from, &mut target)))?;
        self.receive_to(from, target)
    }

    fn send_while(
        &mut self,
        to: usize,
        header: Header,
        body: &[&[u8]],
        mut target: Option<(usize, &mut Target)>,
    ) -> Result<(), Fault> {
        let length: usize = body.iter().map(|part| part.len()).sum();
        if length as u64 > LONGEST {
            return Err(Fault::attempt(format!(
                "expected a message of at most {LONGEST} bytes, found {length}"
            ))
            .remedy("send it in parts"));
        }
        if to == self.id {
            self.arrivals += 1;
            let header = Header { length: length as u64, ..header };
            self.own.push_back(Message { header, body: body.concat(), arrival: self.arrivals });
            return self.keep(length);
        }
        self.connect(to)?;
        while !self.link(to).queue.is_empty() {
            self.check_peers()?;
            let target = target.as_mut().map(|(from, target)| (*from, &mut **target));
            self.wait_and_read(None, target, &|| format!("sending to rank {to}"))?;
        }
        let wire = self.link(to).stamp(Header { length: length as u64, ..header });
        let mut parts: smallvec::SmallVec<[&[u8]; 4]> = smallvec::smallvec![&wire[..]];
        parts.extend_from_slice(body);
        let mut done = 0;
        loop {
            let until = done + PART;
            match self.link(to).write(&parts, done, until) {
                Ok(so_far) => done = so_far,
                Err(_) => return Err(self.fault_of(to)),
            }
            if done == HEADER + length {
                let link = self.link(to);
                link.sent += u64::from(counts(header.kind));
                return Ok(());
            }
            self.check_peers()?;
            if done == until {
                match target.as_mut() {
                    Some((from, target)) => self.drain(*from, Some(&mut **target))?,
                    None => self.drain(to, None)?,
                }
                continue;
            }
            let target = target.as_mut().map(|(from, target)| (*from, &mut **target));
            self.wait_and_read(Some(to), target, &|| format!("sending to rank {to}"))?;
        }
    }

    /// The next message from `from` that `wanted` accepts, in the order of sending.
    pub(crate) fn receive(
        &mut self,
        from: usize,
        wanted: impl Fn(&Header) -> bool,
    ) -> Result<Message, Fault> {
        self.connect(from)?;
        self.waiting.begin(Some(from));
        let mut poll_until = self.poll_until();
        loop {
            if let Some(message) = self.take(from, &wanted) {
                self.waiting.end();
                return Ok(message);
            }
            self.check_can_come(from)?;
            self.poll_or_wait(&mut poll_until, from, None)?;
        }
    }

    /// The same into `into`, if the message has this length. Returns its header, which says how long it is.
    ///
    /// # Errors
    /// As [`Mesh::receive`].
    pub(crate) fn receive_into(
        &mut self,
        from: usize,
        wanted: &dyn Fn(&Header) -> bool,
        into: &mut [u8],
    ) -> Result<Header, Fault> {
        self.connect(from)?;
        self.receive_to(from, Target::new(wanted, into))
    }

    fn receive_to(&mut self, from: usize, mut target: Target) -> Result<Header, Fault> {
        self.waiting.begin(Some(from));
        let mut poll_until = self.poll_until();
        loop {
            if let Some(header) = target.done() {
                self.waiting.end();
                return Ok(header);
            }
            if let Some(message) = self.take(from, target.wants) {
                self.waiting.end();
                let Message { header, body, .. } = message;
                if body.len() == target.into.len() {
                    target.into.copy_from_slice(&body);
                }
                return Ok(header);
            }
            self.check_can_come(from)?;
            self.poll_or_wait(&mut poll_until, from, Some(&mut target))?;
        }
    }

    /// Whether a message that `wanted` accepts has come from `from`, in whole or in part.
    fn has(&self, from: usize, wanted: &dyn Fn(&Header) -> bool) -> bool {
        self.links[from].as_ref().is_some_and(|link| link.has(wanted))
    }

    /// Takes a message that `wanted` accepts and that has come from `from`.
    pub(crate) fn take(&mut self, from: usize, wanted: &dyn Fn(&Header) -> bool) -> Option<Message> {
        let inbox = match from == self.id {
            true => &mut self.own,
            false => &mut self.links[from].as_mut()?.inbox,
        };
        let index = inbox.iter().position(|message| wanted(&message.header))?;
        let message = inbox.remove(index)?;
        self.backlog = self.backlog.saturating_sub(message.body.len());
        Some(message)
    }

    /// The rank whose message is the earliest of those that `wanted` accepts.
    pub(crate) fn earliest(&self, wanted: &dyn Fn(&Header) -> bool) -> Option<usize> {
        let inboxes =
            self.links.iter().enumerate().filter_map(|(from, link)| Some((from, &link.as_ref()?.inbox)));
        let first = |(from, inbox): (usize, &VecDeque<Message>)| {
            let message = inbox.iter().find(|message| wanted(&message.header))?;
            Some((message.arrival, from))
        };
        inboxes.chain([(self.id, &self.own)]).filter_map(first).min().map(|(_, from)| from)
    }

    /// A fault if no message of `from`, or of any other rank, can come any more.
    pub(crate) fn check_any_can_come(&mut self, from: Option<usize>) -> Result<(), Fault> {
        if let Some(from) = from {
            return self.check_can_come(from);
        }
        self.check_peers()?;
        let all_have_finished = (0..self.links.len()).all(|peer| {
            peer == self.id || self.links[peer].as_ref().is_some_and(|link| link.peer == PeerState::Finished)
        });
        match all_have_finished {
            true => Err(Fault::attempt("no rank is left that could send a message")
                .remedy("receive no more messages than are sent")),
            false => Ok(()),
        }
    }

    /// A fault if no message of `from` can come any more.
    pub(crate) fn check_can_come(&mut self, from: usize) -> Result<(), Fault> {
        self.check_peers()?;
        if from == self.id {
            return Err(Fault::attempt("it waits for a message from itself that it has not sent")
                .on(from)
                .remedy("send it before"));
        }
        match self.links[from].as_ref().map(|link| link.peer) {
            Some(PeerState::Finished) => {
                Err(Fault::attempt("it finished without sending the message that is waited for")
                    .on(from)
                    .remedy("receive no more messages than are sent"))
            }
            _ => Ok(()),
        }
    }

    /// Reads what has come from all peers, and writes what waits to be, without waiting.
    pub(crate) fn read_pending(&mut self) -> Result<(), Fault> {
        self.flush()?;
        (0..self.links.len()).try_for_each(|peer| self.drain(peer, None))?;
        self.accept_pending()
    }

    /// Reads what has come from all peers, or waits until something has.
    pub(crate) fn poll_or_wait_for_any(&mut self, poll_until: &mut Option<Instant>) -> Result<(), Fault> {
        if poll_until.is_some_and(|until| Instant::now() < until) {
            let before = self.arrivals;
            self.read_pending()?;
            if self.arrivals == before {
                std::thread::yield_now();
            }
            return Ok(());
        }
        *poll_until = None;
        self.chase_deadlock()?;
        self.wait_and_read(None, None, &|| "waiting for a message".into())
    }

    /// Until when a rank polls for a message before it sleeps.
    pub(crate) fn poll_until(&self) -> Option<Instant> {
        (self.policy == WaitPolicy::BusyPoll).then(|| Instant::now() + BUSY_POLL)
    }

    /// Reads what has come from one peer, or waits until something has come from any.
    fn poll_or_wait(
        &mut self,
        poll_until: &mut Option<Instant>,
        from: usize,
        target: Option<&mut Target>,
    ) -> Result<(), Fault> {
        match *poll_until {
            Some(until) if Instant::now() < until => {
                let before = self.arrivals;
                self.flush()?;
                self.drain(from, target)?;
                if self.arrivals == before {
                    std::thread::yield_now();
                }
                Ok(())
            }
            Some(_) => {
                *poll_until = None;
                Ok(())
            }
            None => {
                // A message that arrives in part will be whole.
                if target.as_ref().is_none_or(|target| !target.has_begun()) {
                    self.chase_deadlock()?;
                }
                let target = target.map(|target| (from, target));
                self.wait_and_read(None, target, &|| format!("waiting for a message from rank {from}"))
            }
        }
    }

    /// Sends `Goodbye` to every peer that it is connected to, and waits for theirs.
    pub(crate) fn close(&mut self) -> Result<(), Fault> {
        for peer in self.peers() {
            self.send(peer, Header::bare(Kind::Goodbye, self.id, 0), &[])?;
        }
        while let Some(peer) =
            self.peers().into_iter().find(|peer| self.link(*peer).peer != PeerState::Finished)
        {
            self.check_peers()?;
            self.wait_and_read(None, None, &|| format!("waiting for rank {peer} to finish"))?;
        }
        Ok(())
    }

    /// A message of the program that nobody has received: its source, tag and bytes.
    pub(crate) fn left_over(&self) -> Option<(usize, u32, u64)> {
        let messages = self.links.iter().flatten().flat_map(|link| &link.inbox).chain(&self.own);
        let left = messages.map(|message| message.header).find(|header| header.kind == Kind::Point);
        left.map(|header| (header.source as usize, header.tag, header.length))
    }

    pub(crate) fn peers(&self) -> Vec<usize> {
        (0..self.links.len()).filter(|peer| self.links[*peer].is_some()).collect()
    }

    pub(crate) fn link(&mut self, peer: usize) -> &mut Link {
        self.links[peer].as_mut().expect("a rank connects to a peer before it uses the link")
    }

    /// A fault if any node is gone, whichever is waited for: the attempt cannot finish.
    /// Messages that it sent before can still be received. In virtual time the clock server reports that, and why.
    pub(crate) fn check_peers(&mut self) -> Result<(), Fault> {
        if self.replies.is_some() {
            return Ok(());
        }
        // What a peer reports is the cause of its own end.
        let states =
            || self.links.iter().enumerate().filter_map(|(peer, link)| Some((peer, link.as_ref()?.peer)));
        let reported = states().find_map(|(_, state)| match state {
            PeerState::ReportsGone(other) => Some(other),
            PeerState::Connected | PeerState::Finished | PeerState::Gone => None,
        });
        let ended = || states().find(|(_, state)| *state == PeerState::Gone).map(|(peer, _)| peer);
        let lost = reported.or_else(ended);
        let Some(lost) = lost else { return Ok(()) };
        self.report_gone(lost);
        Err(gone(lost))
    }

    /// The fault to report for a peer that is gone: in virtual time what the clock server says, which knows the cause.
    pub(super) fn verdict(&mut self, own: Fault) -> Fault {
        while self.replies.is_some() {
            if let Err(fault) =
                self.wait_and_read(None, None, &|| "waiting for the cause of a failure".into())
            {
                return fault;
            }
        }
        own
    }

    /// Waits until a socket is ready, and reads what has arrived; `target` is where a message of one peer goes.
    /// Lets peers in that connect.
    pub(crate) fn wait_and_read(
        &mut self,
        writing: Option<usize>,
        target: Option<(usize, &mut Target)>,
        doing: &dyn Fn() -> String,
    ) -> Result<(), Fault> {
        self.wait_with(writing, target, &[], doing)
    }

    /// The same, until one of `others` is readable, too.
    pub(crate) fn wait_with(
        &mut self,
        writing: Option<usize>,
        mut target: Option<(usize, &mut Target)>,
        others: &[RawFd],
        doing: &dyn Fn() -> String,
    ) -> Result<(), Fault> {
        let left = self.deadline.remaining(doing)?;
        let mut watched = std::mem::take(&mut self.watched);
        watched.clear();
        watched.push(PolledSocket::new(self.acceptor.as_raw_fd(), false));
        let mut open = Vec::with_capacity(self.links.len());
        for (peer, link) in self.links.iter().enumerate() {
            let Some(link) = link else { continue };
            let writing = writing == Some(peer) || !link.queue.is_empty();
            if writing || link.peer == PeerState::Connected {
                watched.push(PolledSocket::new(link.stream.as_raw_fd(), writing));
                open.push(peer);
            }
        }
        let replies = watched.len();
        watched.extend(self.replies.iter().map(|replies| PolledSocket::new(replies.as_raw_fd(), false)));
        watched.extend(others.iter().map(|fd| PolledSocket::new(*fd, false)));
        poll::wait(&mut watched, left)
            .map_err(|e| Fault::environment(format!("cannot wait for messages: {e}")))?;
        for (peer, watched) in open.iter().zip(&watched[1..]) {
            if watched.readable() {
                let target =
                    target.as_mut().filter(|(from, _)| from == peer).map(|(_, target)| &mut **target);
                self.drain(*peer, target)?;
            }
        }
        self.flush()?;
        if watched[0].readable() {
            self.accept_pending()?;
        }
        if let Some(answers) = self.replies.as_mut().filter(|_| watched[replies].readable()) {
            answers.read()?;
        }
        self.watched = watched;
        Ok(())
    }

    pub(crate) fn drain(&mut self, peer: usize, target: Option<&mut Target>) -> Result<(), Fault> {
        let Some(link) = self.links[peer].as_mut() else { return Ok(()) };
        let bytes = link.drain(target, &mut self.arrivals)?;
        self.keep(bytes)
    }

    /// So many bytes more have arrived that nobody waits for.
    fn keep(&mut self, bytes: usize) -> Result<(), Fault> {
        self.backlog += bytes;
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
                let _ = link.write(&[&wire], 0, usize::MAX);
            }
        }
    }
}

pub(crate) fn gone(peer: usize) -> Fault {
    Fault::gone("the node is gone: its connection ended before it had finished")
        .on(peer)
        .remedy(format!("look at what node {peer} reported last"))
}
