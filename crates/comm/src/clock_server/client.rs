//! A rank's connection to the clock server: what it reports, and the answers.

use crosstalk_core::Fault;
use crosstalk_model::network::{Answer, Operation};
use crosstalk_model::schedule::codec::{put_call_site, put_operation};
use rustc_hash::FxHashMap;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::panic::Location;

use super::replies::{Replies, gone};
use super::{FAITHFUL, UNFAITHFUL};
use crate::mesh::Mesh;

/// A rank's connection to the clock server.
pub(crate) struct Client {
    stream: TcpStream,
    reports: Vec<u8>,
    /// The numbers of the call sites that were reported.
    sites: FxHashMap<*const Location<'static>, u32>,
    /// How many marks were reported whose answers were not read yet.
    unread: usize,
    /// The answers to marks.
    marked: Vec<Answer>,
}

impl Client {
    /// A client over a connection on which it has said who it is.
    ///
    /// # Errors
    /// An environment fault where the socket cannot be set up.
    pub(crate) fn new(stream: TcpStream) -> Result<Self, Fault> {
        stream
            .set_nodelay(true)
            .and_then(|()| stream.set_nonblocking(true))
            .map_err(|e| Fault::environment(format!("cannot set up a connection: {e}")))?;
        let (reports, sites) = (Vec::new(), FxHashMap::default());
        Ok(Client { stream, reports, sites, unread: 0, marked: Vec::new() })
    }

    /// Reports that time was used, with the next operation: nobody waits for it before.
    pub(crate) fn note(&mut self, operation: &Operation) {
        put_operation(&mut self.reports, operation, 0);
    }

    /// Reports an operation at a place in the program.
    pub(crate) fn report(
        &mut self,
        mesh: &mut Mesh,
        operation: &Operation,
        at: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let next = self.sites.len() as u32;
        let site = *self.sites.entry(at).or_insert_with(|| {
            put_call_site(&mut self.reports, &format!("{}:{}", at.file(), at.line()));
            next
        });
        put_operation(&mut self.reports, operation, site);
        self.flush(mesh)
    }

    /// Reports an operation, and waits for what follows.
    pub(crate) fn ask(
        &mut self,
        mesh: &mut Mesh,
        operation: &Operation,
        at: &'static Location<'static>,
    ) -> Result<Answer, Fault> {
        self.report(mesh, operation, at)?;
        self.answer(mesh)
    }

    /// Says, after the rank has finished, whether its part of virtual time is faithful. Where nothing is recorded nobody
    /// reads it, and the connection may have ended.
    pub(crate) fn conclude(&mut self, faithful: bool) {
        let _ = self.stream.write(&[if faithful { FAITHFUL } else { UNFAITHFUL }]);
    }

    /// Asks for the clock at this point, without waiting: see [`Client::marked`].
    pub(crate) fn mark(&mut self) {
        self.note(&Operation::Account);
        self.unread += 1;
    }

    /// The answers to all marks since this was called last.
    pub(crate) fn marked(&mut self, mesh: &mut Mesh) -> Result<Vec<Answer>, Fault> {
        self.flush(mesh)?;
        self.read_marked(mesh)?;
        Ok(std::mem::take(&mut self.marked))
    }

    /// The answer to what was asked last. Those to marks come before.
    fn answer(&mut self, mesh: &mut Mesh) -> Result<Answer, Fault> {
        self.read_marked(mesh)?;
        Self::next_answer(mesh)
    }

    fn read_marked(&mut self, mesh: &mut Mesh) -> Result<(), Fault> {
        while self.unread > 0 {
            self.marked.push(Self::next_answer(mesh)?);
            self.unread -= 1;
        }
        Ok(())
    }

    fn next_answer(mesh: &mut Mesh) -> Result<Answer, Fault> {
        loop {
            if let Some(answer) = mesh.replies.as_mut().and_then(Replies::take) {
                return Ok(answer);
            }
            mesh.wait_and_read(None, None, &|| "waiting for other ranks".into())?;
        }
    }

    fn flush(&mut self, mesh: &mut Mesh) -> Result<(), Fault> {
        let mut done = 0;
        while done < self.reports.len() {
            match self.stream.write(&self.reports[done..]) {
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // The clock server reads always: it is busy for a moment.
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    mesh.deadline.remaining(&|| "reporting to the clock server".into())?;
                    std::thread::yield_now();
                }
                // It may have said why.
                Err(_) => return self.answer(mesh).and(Err(gone())),
            }
        }
        self.reports.clear();
        Ok(())
    }
}
