//! Messages that are sent and received while the program continues, and how they are waited for.

use crosstalk_core::Fault;
use crosstalk_model::network::{Answer, Operation, Pattern, Received};
use std::panic::Location;

use crate::clock::{CallSite, unexpected};
use crate::communicator::Communicator;
use crate::element::{Element, bytes};
use crate::header::{Header, Kind};
use crate::link::Message;
use crate::rank::Rank;
use crate::request::{Completed, Envelope, Incoming, Pending, Request, Requests, Tested};
use crate::scope::{Outgoing, Scope};

impl Scope<'_, '_> {
    /// Begins to send `data`. Its bytes are taken at once, so that it may be changed.
    ///
    /// # Errors
    /// As [`Scope::send`].
    #[track_caller]
    pub fn isend<T: Element>(&mut self, to: usize, tag: u32, data: &[T]) -> Result<Request, Fault> {
        self.isend_at(to, tag, data, Location::caller())
    }

    pub(crate) fn isend_at<T: Element>(
        &mut self,
        to: usize,
        tag: u32,
        data: &[T],
        at: CallSite,
    ) -> Result<Request, Fault> {
        let on = self.on.clone();
        let number = self.rank.operation(|rank| {
            let number = rank.requests.add(Pending::Sent);
            let body = [bytes(data)];
            let message = Outgoing { request: Some(number), ..Outgoing::new::<T>(to, tag, &body) };
            match rank.clock.server().is_some() {
                true => rank.send_message(&on, &message, at)?,
                false => rank.post_message(&on, &message, number)?,
            }
            Ok(number)
        })?;
        Ok(Request { number, on })
    }

    /// Begins to receive a message.
    ///
    /// # Errors
    /// If there is no such rank, or ranks are gone.
    #[track_caller]
    pub fn irecv(&mut self, envelope: Envelope) -> Result<Request, Fault> {
        self.irecv_at(envelope, Location::caller())
    }

    pub(crate) fn irecv_at(&mut self, envelope: Envelope, at: CallSite) -> Result<Request, Fault> {
        let on = self.on.clone();
        let number = self.rank.operation(|rank| {
            let pattern = envelope.pattern(&on)?;
            let number = rank.requests.add(Pending::Posted { identity: on.identity(), pattern });
            match rank.clock.server() {
                Some(server) => {
                    let request = Some(number);
                    let operation = Operation::Receive { communicator: on.number(), pattern, request };
                    server.report(&mut rank.mesh, &operation, at)?;
                }
                None => {
                    if let Some(from) = pattern.from {
                        rank.mesh.connect(from as usize)?;
                    }
                    rank.requests.posted.push(number);
                    rank.match_posted();
                }
            }
            Ok(number)
        })?;
        Ok(Request { number, on })
    }
}

impl Rank<'_> {
    /// Waits for a request.
    ///
    /// # Errors
    /// If ranks wait for each other, or are gone.
    #[track_caller]
    pub fn wait(&mut self, request: Request) -> Result<Completed, Fault> {
        let mut all = self.wait_all_at(vec![request], Location::caller())?;
        Ok(all.swap_remove(0))
    }

    /// Waits for all of these requests. Returns how each ended.
    ///
    /// # Errors
    /// If ranks wait for each other, or are gone.
    #[track_caller]
    pub fn wait_all(&mut self, requests: Vec<Request>) -> Result<Vec<Completed>, Fault> {
        self.wait_all_at(requests, Location::caller())
    }

    pub(crate) fn wait_all_at(
        &mut self,
        requests: Vec<Request>,
        at: CallSite,
    ) -> Result<Vec<Completed>, Fault> {
        self.operation(|rank| {
            let numbers: Box<[u32]> = requests.iter().map(|request| request.number).collect();
            let Some(server) = rank.clock.server() else {
                rank.await_posted(at, &numbers, &|requests| {
                    numbers.iter().all(|number| requests.is_done(*number))
                })?;
                return Ok(requests.into_iter().map(|request| rank.complete(request)).collect());
            };
            match server.ask(&mut rank.mesh, &Operation::WaitAll(numbers), at)? {
                Answer::All(all) => {
                    let ended = requests.into_iter().zip(all);
                    ended.map(|(request, received)| rank.complete_with(request, received)).collect()
                }
                other => Err(unexpected(&other)),
            }
        })
    }

    /// Waits for one of these requests, and takes it out: the first that is done. Returns where it stood, and how
    /// it ended.
    ///
    /// # Errors
    /// If there is none; if ranks wait for each other, or are gone.
    #[track_caller]
    pub fn wait_any(&mut self, requests: &mut Vec<Request>) -> Result<(usize, Completed), Fault> {
        let at = Location::caller();
        if requests.is_empty() {
            return Err(Fault::attempt("a wait for any of no requests never ends").at(at.to_string()));
        }
        self.operation(|rank| {
            let numbers: Box<[u32]> = requests.iter().map(|request| request.number).collect();
            let Some(server) = rank.clock.server() else {
                rank.await_posted(at, &[], &|requests| {
                    numbers.iter().any(|number| requests.is_done(*number))
                })?;
                let done = numbers.iter().position(|number| rank.requests.is_done(*number));
                let index = done.ok_or_else(|| Fault::attempt("a wait ended without a request"))?;
                return Ok((index, rank.complete(requests.remove(index))));
            };
            match server.ask(&mut rank.mesh, &Operation::WaitAny(numbers), at)? {
                Answer::Any(index, received) => {
                    let index = index as usize;
                    Ok((index, rank.complete_with(requests.remove(index), received)?))
                }
                other => Err(unexpected(&other)),
            }
        })
    }

    /// Tests whether a request is done.
    ///
    /// # Errors
    /// If ranks are gone.
    #[track_caller]
    pub fn test(&mut self, request: Request) -> Result<Tested, Fault> {
        let at = Location::caller();
        self.operation(|rank| {
            let Some(server) = rank.clock.server() else {
                rank.mesh.read_pending()?;
                rank.match_posted();
                if rank.requests.is_done(request.number) {
                    return Ok(Tested::Done(rank.complete(request)));
                }
                // A program that tests until it is done must end, too.
                rank.mesh.check_continues()?;
                let from = rank.requests.source(request.number).map(|from| from as usize);
                rank.mesh.check_any_can_come(from).map_err(|fault| fault.at(at.to_string()))?;
                return Ok(Tested::NotYet(request));
            };
            match server.ask(&mut rank.mesh, &Operation::Test(request.number), at)? {
                Answer::Tested(None) => Ok(Tested::NotYet(request)),
                Answer::Tested(Some(received)) => Ok(Tested::Done(rank.complete_with(request, received)?)),
                other => Err(unexpected(&other)),
            }
        })
    }

    /// In virtual time: a request is done, with the message that the clock server has named.
    fn complete_with(&mut self, request: Request, received: Option<Received>) -> Result<Completed, Fault> {
        self.requests.remove(request.number);
        match received {
            None => Ok(Completed::Sent),
            Some(received) => self.take(&request.on, received).map(Completed::Received),
        }
    }

    /// In real time: a request is done.
    fn complete(&mut self, request: Request) -> Completed {
        match self.requests.remove(request.number) {
            Pending::Came(from, Message { header, body, .. }) => {
                Completed::Received(Incoming { from: request.on.member(from), header, body })
            }
            _ => Completed::Sent,
        }
    }

    /// In real time: receives a message. Those that were posted before come first.
    pub(crate) fn receive_posted(
        &mut self,
        on: &Communicator,
        envelope: Envelope,
        at: CallSite,
    ) -> Result<Incoming, Fault> {
        let pattern = envelope.pattern(on)?;
        let identity = on.identity();
        if let (Some(from), true) = (pattern.from, self.requests.none_posted()) {
            let wanted = |header: &Header| accepts(identity, pattern, header);
            self.mesh.waiting.at = at;
            let message = self.mesh.receive(from as usize, wanted)?;
            return Ok(Incoming {
                from: on.member(from as usize),
                header: message.header,
                body: message.body,
            });
        }
        let number = self.requests.add(Pending::Posted { identity, pattern });
        self.requests.posted.push(number);
        self.await_posted(at, &[number], &|requests| requests.is_done(number))?;
        match self.complete(Request { number, on: on.clone() }) {
            Completed::Received(message) => Ok(message),
            Completed::Sent => Err(Fault::attempt("a receive ended without a message")),
        }
    }

    /// In real time: begins to send a message.
    fn post_message(&mut self, on: &Communicator, message: &Outgoing, number: u32) -> Result<(), Fault> {
        let world = on.rank(message.to)?;
        let header = self.header(on, message.tag, message.element, message.body);
        if let Some(posted) = self.mesh.post(world, header, message.body)?
            && !self.mesh.is_written(world, posted)
        {
            self.requests.all[number as usize] = Pending::Sending(world, posted);
            self.requests.sending.push(number);
        }
        Ok(())
    }

    /// In real time: lets messages leave and arrive that were begun ([`Scope::isend`], [`Scope::irecv`]) while the program
    /// computes. In virtual time cards do that by themselves, and nothing happens.
    ///
    /// # Errors
    /// If ranks are gone.
    pub fn progress(&mut self) -> Result<(), Fault> {
        match self.clock.server().is_some() {
            true => Ok(()),
            false => self.operation(|rank| {
                rank.mesh.read_pending()?;
                rank.mesh.check_continues()
            }),
        }
    }

    /// In real time: gives each posted receive the earliest message that it accepts, and notes what is sent.
    fn match_posted(&mut self) {
        let Requests { all, posted, sending, .. } = &mut self.requests;
        let mesh = &mut self.mesh;
        sending.retain(|number| {
            let pending = &mut all[*number as usize];
            let Pending::Sending(to, message) = *pending else { return false };
            let written = mesh.is_written(to, message);
            if written {
                *pending = Pending::Sent;
            }
            !written
        });
        posted.retain(|number| {
            let pending = &mut all[*number as usize];
            let Pending::Posted { identity, pattern } = *pending else { return false };
            let accepts = |header: &Header| accepts(identity, pattern, header);
            let from = pattern.from.map(|from| from as usize).or_else(|| mesh.earliest(&accepts));
            let Some((from, message)) = from.and_then(|from| Some((from, mesh.take(from, &accepts)?))) else {
                return true;
            };
            *pending = Pending::Came(from, message);
            false
        });
    }

    /// In real time: waits until `done` holds. All of `needed` are needed for that.
    fn await_posted(
        &mut self,
        at: CallSite,
        needed: &[u32],
        done: &dyn Fn(&Requests) -> bool,
    ) -> Result<(), Fault> {
        self.mesh.waiting.at = at;
        let mut poll_until = self.mesh.poll_until();
        loop {
            self.match_posted();
            if done(&self.requests) {
                self.mesh.waiting.end();
                return Ok(());
            }
            let missing = needed.iter().find_map(|number| self.requests.source(*number));
            self.mesh.waiting.begin(missing.map(|from| from as usize));
            for number in &self.requests.posted {
                if let Pending::Posted { pattern: Pattern { from, .. }, .. } =
                    self.requests.all[*number as usize]
                {
                    self.mesh
                        .check_any_can_come(from.map(|from| from as usize))
                        .map_err(|fault| fault.at(at.to_string()))?;
                }
            }
            self.mesh.poll_or_wait_for_any(&mut poll_until)?;
        }
    }
}

fn accepts(identity: u64, pattern: Pattern, header: &Header) -> bool {
    header.kind == Kind::Point
        && header.communicator == identity
        && pattern.tag.is_none_or(|tag| tag == header.tag)
        && pattern.from.is_none_or(|from| from == header.source)
}
