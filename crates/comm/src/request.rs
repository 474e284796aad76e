//! Requests: what a rank has begun to send and to receive, and what came of it.

use crosstalk_core::Fault;
use crosstalk_model::network::Pattern;

use crate::communicator::Communicator;
use crate::element::{self, Element, bytes_mut};
use crate::header::Header;
use crate::link::Message;
use crate::send_queue::Posted;

/// What a receive asks for. `None`: any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// The sender's number in the communicator.
    pub from: Option<usize>,
    /// The tag.
    pub tag: Option<u32>,
}

impl Envelope {
    /// A message of one rank with one tag.
    pub fn exact(from: usize, tag: u32) -> Self {
        Envelope { from: Some(from), tag: Some(tag) }
    }

    pub(crate) fn pattern(self, on: &Communicator) -> Result<Pattern, Fault> {
        let from = self.from.map(|from| on.rank(from)).transpose()?;
        Ok(Pattern { from: from.map(|from| from as u32), tag: self.tag })
    }
}

/// A message that was received.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    pub(crate) from: usize,
    pub(crate) header: Header,
    pub(crate) body: Vec<u8>,
}

impl Incoming {
    /// The sender's number in the communicator.
    pub fn from(&self) -> usize {
        self.from
    }

    /// The tag.
    pub fn tag(&self) -> u32 {
        self.header.tag
    }

    /// What it carries.
    ///
    /// # Errors
    /// If its elements are of another type.
    pub fn elements<T: Element>(self) -> Result<Vec<T>, Fault> {
        Self::check::<T>(&self.header, self.from)?;
        let found = T::from_body(self.body);
        found.ok_or_else(|| Fault::attempt("a message has no whole number of elements").on(self.from))
    }

    /// What it carries, into `data`, which it must fill.
    ///
    /// # Errors
    /// If it has another number of elements, or another type.
    pub fn elements_into<T: Element>(self, data: &mut [T]) -> Result<(), Fault> {
        let into = bytes_mut(data);
        Self::check_whole::<T>(&self.header, self.from, into.len())?;
        into.copy_from_slice(&self.body);
        Ok(())
    }

    /// A fault if a message is not as many elements of `T` as take `bytes`.
    pub(crate) fn check_whole<T: Element>(header: &Header, from: usize, bytes: usize) -> Result<(), Fault> {
        Self::check::<T>(header, from)?;
        if header.length == bytes as u64 {
            return Ok(());
        }
        let length = header.length;
        Err(Fault::attempt(format!("expected {bytes} bytes, found a message of {length} bytes"))
            .on(from)
            .remedy("receive as many elements as are sent"))
    }

    /// A fault if the elements of a message are not `T`.
    fn check<T: Element>(header: &Header, from: usize) -> Result<(), Fault> {
        if header.element == T::CODE {
            return Ok(());
        }
        Err(Fault::attempt(format!(
            "expected {}, found a message of {} with tag {}",
            T::NAME,
            element::name_of(header.element),
            header.tag
        ))
        .on(from)
        .remedy("receive the type that is sent"))
    }
}

/// A message that is sent or received while the program goes on. It is done once it is waited for.
#[derive(Debug)]
#[must_use = "a request is done once it is waited for"]
pub struct Request {
    pub(super) number: u32,
    pub(super) on: Communicator,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Completed {
    /// The message has left: its data may be changed.
    Sent,
    /// A message has come.
    Received(Incoming),
}

impl Completed {
    /// The message that was received; `None` if it was sent.
    pub fn message(self) -> Option<Incoming> {
        match self {
            Completed::Sent => None,
            Completed::Received(message) => Some(message),
        }
    }
}

/// What a test found.
#[derive(Debug)]
pub enum Tested {
    /// The request is done.
    Done(Completed),
    /// It is not, and goes on.
    NotYet(Request),
}

/// What a request is for, and what has come for it.
#[derive(Debug)]
pub(super) enum Pending {
    Free,
    /// Its bytes are taken: by the socket in real time, by the mesh in virtual time.
    Sent,
    /// In real time: a message to a rank that its socket has not taken whole.
    Sending(usize, Posted),
    /// A receive that no message was found for yet. In virtual time the clock server finds it.
    Posted {
        identity: u64,
        pattern: Pattern,
    },
    Came(usize, Message),
}

/// A rank's requests by number.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(super) all: Vec<Pending>,
    free: Vec<u32>,
    /// Receives without a message, in the order in which they were posted. Empty in virtual time.
    pub(super) posted: Vec<u32>,
    /// Messages that sockets have not taken whole. Empty in virtual time.
    pub(super) sending: Vec<u32>,
}

impl Requests {
    pub(super) fn add(&mut self, pending: Pending) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = pending;
                number
            }
            None => {
                self.all.push(pending);
                self.all.len() as u32 - 1
            }
        }
    }

    pub(super) fn remove(&mut self, number: u32) -> Pending {
        self.free.push(number);
        std::mem::replace(&mut self.all[number as usize], Pending::Free)
    }

    pub(crate) fn none_posted(&self) -> bool {
        self.posted.is_empty()
    }

    /// The rank whose message a receive still waits for; `None` if it is done, or any rank's will do.
    pub(super) fn source(&self, number: u32) -> Option<u32> {
        match &self.all[number as usize] {
            Pending::Posted { pattern, .. } => pattern.from,
            _ => None,
        }
    }

    pub(super) fn is_done(&self, number: u32) -> bool {
        matches!(self.all[number as usize], Pending::Sent | Pending::Came(..))
    }
}
