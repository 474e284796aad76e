//! Messages among the ranks of a communicator, one at a time. All numbers of ranks are those in the communicator.

use crosstalk_core::Fault;
use crosstalk_model::network::{Answer, Operation, Pattern, Received};
use std::panic::Location;

use crate::clock::{CallSite, unexpected};
use crate::communicator::Communicator;
use crate::element::{Element, bytes, bytes_mut};
use crate::header::{Header, Kind};
use crate::rank::Rank;
use crate::request::{Envelope, Incoming};

/// A rank's messages within a communicator.
pub struct Scope<'r, 'c> {
    pub(crate) rank: &'r mut Rank<'c>,
    pub(crate) on: Communicator,
}

impl<'c> Rank<'c> {
    /// Messages among all ranks.
    pub fn world(&mut self) -> Scope<'_, 'c> {
        let world = self.world.clone();
        Scope { rank: self, on: world }
    }

    /// Messages among the ranks of a communicator.
    pub fn within(&mut self, communicator: &Communicator) -> Scope<'_, 'c> {
        Scope { rank: self, on: communicator.clone() }
    }
}

impl Scope<'_, '_> {
    /// This rank's number in the communicator.
    pub fn id(&self) -> usize {
        self.on.id()
    }

    /// How many ranks the communicator has.
    pub fn size(&self) -> usize {
        self.on.size()
    }

    /// Sends `data` to rank `to`, for a receive with the same tag. Messages between two
    /// ranks with the same tag stay in order. Returns once `data` may be changed: in virtual time, above the
    /// library's eager limit, that is when the receiver is there.
    ///
    /// # Errors
    /// If there is no such rank, or ranks are gone.
    #[track_caller]
    pub fn send<T: Element>(&mut self, to: usize, tag: u32, data: &[T]) -> Result<(), Fault> {
        let at = Location::caller();
        let on = self.on.clone();
        self.rank.operation(|rank| rank.send_message(&on, &Outgoing::new::<T>(to, tag, &[bytes(data)]), at))
    }

    /// Receives the next message of rank `from` that carries `tag`.
    ///
    /// # Errors
    /// If it has elements of another type, if ranks wait for each other, or are gone.
    #[track_caller]
    pub fn recv<T: Element>(&mut self, from: usize, tag: u32) -> Result<Vec<T>, Fault> {
        let (at, on) = (Location::caller(), self.on.clone());
        // Within the operation: taking elements out of a message is no computing of the program.
        self.rank.operation(|rank| rank.receive_message(&on, Envelope::exact(from, tag), at)?.elements())
    }

    /// The same into `data`, which the message must fill.
    ///
    /// # Errors
    /// If it has another number of elements or another type, if ranks wait for each other, or are gone.
    #[track_caller]
    pub fn recv_into<T: Element>(&mut self, from: usize, tag: u32, data: &mut [T]) -> Result<(), Fault> {
        let (at, on) = (Location::caller(), self.on.clone());
        self.rank.operation(|rank| {
            let world = on.rank(from)?;
            if !rank.receives_directly(world) {
                return rank.receive_message(&on, Envelope::exact(from, tag), at)?.elements_into(data);
            }
            let number = rank.message_number(&on, world, tag, at)?;
            let wanted = wanted(&on, tag, number);
            rank.mesh.waiting.at = at;
            let header = rank.mesh.receive_into(world, &wanted, bytes_mut(data))?;
            Incoming::check_whole::<T>(&header, from, size_of_val(data))
        })
    }

    /// Receives the next message with `tag` from any rank: in virtual time the first one to arrive, whatever
    /// happens in real time. Returns the sender, too.
    ///
    /// # Errors
    /// If it has elements of another type, if ranks wait for each other, or are gone.
    #[track_caller]
    pub fn recv_any<T: Element>(&mut self, tag: u32) -> Result<(usize, Vec<T>), Fault> {
        let (at, on) = (Location::caller(), self.on.clone());
        self.rank.operation(|rank| {
            let message = rank.receive_message(&on, Envelope { from: None, tag: Some(tag) }, at)?;
            Ok((message.from(), message.elements()?))
        })
    }

    /// Sends to one rank and receives from another at the same time.
    ///
    /// # Errors
    /// As [`Scope::send`] and [`Scope::recv_into`].
    #[track_caller]
    pub fn sendrecv<T: Element>(
        &mut self,
        to: usize,
        data: &[T],
        from: usize,
        into: &mut [T],
        tag: u32,
    ) -> Result<(), Fault> {
        let at = Location::caller();
        let (on, receiver, sender) = (self.on.clone(), self.on.rank(to)?, self.on.rank(from)?);
        let in_real_time = self.rank.clock.server().is_none();
        if in_real_time && receiver != self.rank.mesh.id && self.rank.receives_directly(sender) {
            return self.rank.operation(|rank| {
                let body = [bytes(data)];
                let header = rank.header(&on, tag, T::CODE, &body);
                let wanted = wanted(&on, tag, None);
                rank.mesh.waiting.at = at;
                let found = rank.mesh.exchange(receiver, header, &body, sender, &wanted, bytes_mut(into))?;
                Incoming::check_whole::<T>(&found, from, size_of_val(into))
            });
        }
        let receive = self.irecv_at(Envelope::exact(from, tag), at)?;
        let send = self.isend_at(to, tag, data, at)?;
        let mut done = self.rank.wait_all_at(vec![receive, send], at)?;
        match done.swap_remove(0).message() {
            Some(message) => message.elements_into(into),
            None => Err(Fault::attempt("a receive ended without a message")),
        }
    }

    pub(crate) fn receive(&mut self, envelope: Envelope, at: CallSite) -> Result<Incoming, Fault> {
        let on = self.on.clone();
        self.rank.operation(|rank| rank.receive_message(&on, envelope, at))
    }
}

/// Accepts a message of the program on a communicator, with this tag, and this number if it is known.
fn wanted(on: &Communicator, tag: u32, number: Option<u64>) -> impl Fn(&Header) -> bool + use<> {
    let identity = on.identity();
    move |header| {
        header.kind == Kind::Point
            && header.communicator == identity
            && header.tag == tag
            && number.is_none_or(|number| header.number == number)
    }
}

/// A message that is sent.
pub(crate) struct Outgoing<'b> {
    /// The receiver's number in the communicator.
    pub(crate) to: usize,
    pub(crate) tag: u32,
    /// The code of its elements.
    pub(crate) element: u16,
    /// Its bytes, in parts.
    pub(crate) body: &'b [&'b [u8]],
    /// The number of the request that it belongs to.
    pub(crate) request: Option<u32>,
}

impl<'b> Outgoing<'b> {
    /// A message of elements of type `T`, without a request.
    pub(crate) fn new<T: Element>(to: usize, tag: u32, body: &'b [&'b [u8]]) -> Self {
        Outgoing { to, tag, element: T::CODE, body, request: None }
    }
}

impl Rank<'_> {
    /// Sends a message, and reports that.
    pub(crate) fn send_message(
        &mut self,
        on: &Communicator,
        message: &Outgoing,
        at: CallSite,
    ) -> Result<(), Fault> {
        let Outgoing { to, tag, element, body, request } = *message;
        let world = on.rank(to)?;
        let header = self.header(on, tag, element, body);
        self.mesh.send(world, header, body)?;
        if let Some(server) = self.clock.server() {
            let bytes = body.iter().map(|part| part.len() as u64).sum();
            let (communicator, to) = (on.number(), world as u32);
            let operation = Operation::Send { communicator, to, tag, bytes, request };
            server.report(&mut self.mesh, &operation, at)?;
        }
        Ok(())
    }

    /// The header of the next message of the program, of elements of this code. The message is counted.
    pub(crate) fn header(&mut self, on: &Communicator, tag: u32, element: u16, body: &[&[u8]]) -> Header {
        self.traffic.count_message(body.iter().map(|part| part.len() as u64).sum());
        let number = self.sent;
        self.sent += 1;
        let bare = Header::bare(Kind::Point, self.mesh.id, tag);
        Header { communicator: on.identity(), number, element, ..bare }
    }

    /// Receives a message: in virtual time the clock server says which one.
    pub(crate) fn receive_message(
        &mut self,
        on: &Communicator,
        envelope: Envelope,
        at: CallSite,
    ) -> Result<Incoming, Fault> {
        let pattern = envelope.pattern(on)?;
        let Some(server) = self.clock.server() else {
            return self.receive_posted(on, envelope, at);
        };
        let operation = Operation::Receive { communicator: on.number(), pattern, request: None };
        match server.ask(&mut self.mesh, &operation, at)? {
            Answer::Received(received) => self.take(on, received),
            other => Err(unexpected(&other)),
        }
    }

    /// The message that the clock server has named.
    pub(crate) fn take(&mut self, on: &Communicator, received: Received) -> Result<Incoming, Fault> {
        let (from, number) = (received.from as usize, received.number);
        let wanted = |header: &Header| header.kind == Kind::Point && header.number == number;
        let message = self.mesh.receive(from, wanted)?;
        Ok(Incoming { from: on.member(from), header: message.header, body: message.body })
    }

    /// Whether the next message of a rank can go to where it belongs without waiting in between: no other receive
    /// was posted before.
    fn receives_directly(&self, from: usize) -> bool {
        from != self.mesh.id && self.requests.none_posted()
    }

    /// In virtual time, waits until a message has come, and returns its number.
    fn message_number(
        &mut self,
        on: &Communicator,
        from: usize,
        tag: u32,
        at: CallSite,
    ) -> Result<Option<u64>, Fault> {
        let Some(server) = self.clock.server() else { return Ok(None) };
        let pattern = Pattern { from: Some(from as u32), tag: Some(tag) };
        let operation = Operation::Receive { communicator: on.number(), pattern, request: None };
        match server.ask(&mut self.mesh, &operation, at)? {
            Answer::Received(received) => Ok(Some(received.number)),
            other => Err(unexpected(&other)),
        }
    }
}
