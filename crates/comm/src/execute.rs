//! Carries out the rounds of a collective.

use crosstalk_core::Fault;
use crosstalk_core::mpi::Operation;
use crosstalk_model::collective::{Action, Pieces, Receive, Round, Send, Steps};

use crate::communicator::Communicator;
use crate::header::{Header, Kind};
use crate::mesh::Mesh;
use crate::store::Store;

/// Combines the second bytes into the first.
pub(crate) type CombineBytes<'f> = &'f dyn Fn(&mut [u8], &[u8]);

/// A collective that this rank carries out.
pub(crate) struct Execution<'x, 'c> {
    pub(crate) mesh: &'x mut Mesh<'c>,
    pub(crate) on: &'x Communicator,
    pub(crate) operation: Operation,
    /// Which of the communicator's collectives it is.
    pub(crate) number: u32,
    pub(crate) combine: Option<CombineBytes<'x>>,
}

impl Execution<'_, '_> {
    /// Carries out all rounds.
    pub(crate) fn run(&mut self, steps: Steps, store: &mut Store) -> Result<(), Fault> {
        let mut scratch = Vec::new();
        steps.into_iter().try_for_each(|round| self.round(&round, store, &mut scratch))
    }

    fn round(&mut self, round: &Round, store: &mut Store, scratch: &mut Vec<u8>) -> Result<(), Fault> {
        if let ([send], [receive]) = (&round.sends[..], &round.receives[..])
            && self.exchange(send, receive, store, scratch)?
        {
            return Ok(());
        }
        for send in &round.sends {
            let to = self.on.rank(send.to)?;
            self.mesh.send(to, self.header(), &store.parts(send.pieces))?;
            if self.operation == Operation::Alltoallv {
                store.forget(send.pieces);
            }
        }
        round.receives.iter().try_for_each(|receive| self.receive(receive, store, scratch))
    }

    fn header(&self) -> Header {
        let bare = Header::bare(Kind::Collective(self.operation), self.mesh.id, self.number);
        Header { communicator: self.on.identity(), ..bare }
    }

    /// One message out and one in, at the same time, without a copy. False: nothing was done, because they overlap
    /// in memory or their sizes are not known.
    fn exchange(
        &mut self,
        send: &Send,
        receive: &Receive,
        store: &mut Store,
        scratch: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let (to, from) = (self.on.rank(send.to)?, self.on.rank(receive.from)?);
        let header = self.header();
        let wanted = self.wanted();
        let (found, expected) = match receive.action {
            Action::Keep => {
                let Some((out, into)) = store.both(send.pieces, receive.pieces) else { return Ok(false) };
                (self.mesh.exchange(to, header, &[out], from, &wanted, into)?, into.len())
            }
            Action::Combine => {
                let Some(length) = store.length(receive.pieces) else { return Ok(false) };
                scratch.resize(length, 0);
                let parts = store.parts(send.pieces);
                (self.mesh.exchange(to, header, &parts, from, &wanted, scratch)?, length)
            }
        };
        self.check(&found, Some(expected))?;
        if receive.action == Action::Combine {
            self.combine(receive.pieces, store, scratch)?;
        }
        Ok(true)
    }

    fn receive(&mut self, receive: &Receive, store: &mut Store, scratch: &mut Vec<u8>) -> Result<(), Fault> {
        let from = self.on.rank(receive.from)?;
        let wanted = self.wanted();
        if receive.action == Action::Combine {
            scratch.resize(store.length(receive.pieces).unwrap_or(0), 0);
            let found = self.mesh.receive_into(from, &wanted, scratch)?;
            self.check(&found, Some(scratch.len()))?;
            return self.combine(receive.pieces, store, scratch);
        }
        if let Some(into) = store.slot(receive.pieces) {
            let found = self.mesh.receive_into(from, &wanted, into)?;
            return self.check(&found, Some(into.len()));
        }
        let message = self.mesh.receive(from, &wanted)?;
        self.check(&message.header, None)?;
        match store.keep(receive.pieces, message.body) {
            true => Ok(()),
            false => self.check(&message.header, store.length(receive.pieces).or(Some(0))),
        }
    }

    fn combine(&self, pieces: Pieces, store: &mut Store, theirs: &[u8]) -> Result<(), Fault> {
        let mine = store.slot(pieces).zip(self.combine);
        let (mine, combine) =
            mine.ok_or_else(|| Fault::attempt("a reduction's pieces are not consecutive"))?;
        combine(mine, theirs);
        Ok(())
    }

    /// A message of this collective, or of whatever the other rank calls instead.
    fn wanted(&self) -> impl Fn(&Header) -> bool + use<> {
        let (identity, number) = (self.on.identity(), self.number);
        move |header| {
            matches!(header.kind, Kind::Collective(_))
                && header.communicator == identity
                && header.tag == number
        }
    }

    /// A fault if the sender called a different collective, or with other sizes, where it must have sent so many bytes.
    fn check(&self, found: &Header, expected: Option<usize>) -> Result<(), Fault> {
        let other_size = |expected: &usize| *expected as u64 != found.length;
        match found.kind {
            Kind::Collective(which) if which != self.operation => Err(Fault::attempt(format!(
                "calls {} where rank {} calls {}",
                which.name(),
                self.mesh.id,
                self.operation.name()
            ))
            .on(found.source as usize)
            .remedy("let all ranks call the same collectives in the same order")),
            _ => match expected.filter(other_size) {
                Some(expected) => Err(Fault::attempt(format!(
                    "sends {} bytes in {} where {expected} are expected",
                    found.length,
                    self.operation.name()
                ))
                .on(found.source as usize)
                .remedy("let all ranks call the collective with the same sizes")),
                None => Ok(()),
            },
        }
    }
}
