//! Tests of data, in IOR's manner: each client writes or reads a block, in transfers.

use crosstalk_core::Fault;

use crate::client::{Client, File, Servers};
use crate::inject::{Corruption, Injected, Injection};
use crate::job::{Job, Member, same_size};
use crate::pattern::{Pattern, mixed};
use crate::spec::{Direction, Transfers};

/// A client's part.
#[derive(Debug)]
pub struct DataJob {
    direction: Direction,
    transfers: Transfers,
    member: Member,
    /// What its block contains: written, or room to read it.
    block: Vec<u8>,
    file: Option<File>,
    injection: Option<Injection>,
}

impl DataJob {
    /// The part of a client. One client's write is corrupted, if any is.
    pub fn new(
        direction: Direction,
        transfers: Transfers,
        corruption: Option<Corruption>,
        member: Member,
    ) -> Self {
        let count = transfers.block / transfers.transfer;
        let here = mixed(member.seed) % member.clients as u64 == member.number as u64;
        let injection =
            corruption.filter(|_| here).map(|corruption| Injection::new(corruption, count, member.seed));
        DataJob { direction, transfers, member, block: Vec::new(), file: None, injection }
    }

    fn name(&self) -> String {
        match self.transfers.shared {
            true => "data".into(),
            false => format!("data.{}", self.member.number),
        }
    }

    /// What the file contains.
    fn pattern(&self) -> Pattern {
        let file = if self.transfers.shared { 0 } else { self.member.number as u64 };
        Pattern::new(self.member.seed, file)
    }

    /// Where the client's block begins in its file.
    fn begin(&self) -> u64 {
        if self.transfers.shared { self.member.number as u64 * self.transfers.block } else { 0 }
    }

    /// Where transfers begin in the block, in the order in which they are made.
    fn order(&self) -> Vec<u64> {
        let Transfers { block, transfer, random, .. } = self.transfers;
        let mut order: Vec<u64> = (0..block / transfer).map(|index| index * transfer).collect();
        if random {
            let seed = mixed(self.member.seed ^ self.member.number as u64);
            for index in (1..order.len()).rev() {
                let other = mixed(seed ^ index as u64) % (index as u64 + 1);
                order.swap(index, other as usize);
            }
        }
        order
    }

    fn file(&self) -> Result<File, Fault> {
        self.file.clone().ok_or_else(|| Fault::attempt("the file is not open"))
    }

    /// Writes the block.
    fn write<S: Servers>(&mut self, client: &mut Client<S>) -> Result<(), Fault> {
        let (file, begin, order) = (self.file()?, self.begin(), self.order());
        let (block, transfer) = (&self.block, self.transfers.transfer as usize);
        let of = |at: u64| &block[at as usize..at as usize + transfer];
        match &mut self.injection {
            None => order.into_iter().try_for_each(|at| client.write(&file, begin + at, of(at))),
            Some(injection) => {
                let mut client = Client(Injected::new(&mut client.0, injection));
                order.into_iter().try_for_each(|at| client.write(&file, begin + at, of(at)))
            }
        }
    }

    /// Reads the block.
    fn read<S: Servers>(&mut self, client: &mut Client<S>) -> Result<(), Fault> {
        let (file, begin, transfer) = (self.file()?, self.begin(), self.transfers.transfer as usize);
        self.order().into_iter().try_for_each(|at| {
            let into = &mut self.block[at as usize..at as usize + transfer];
            client.read(&file, begin + at, into)
        })
    }

    /// Checks the size of a file whose end this client has written.
    fn check_size<S: Servers>(&self, client: &mut Client<S>, file: &File) -> Result<(), Fault> {
        if self.transfers.shared && self.member.number + 1 < self.member.clients {
            return Ok(());
        }
        same_size(&file.name, client.stat(&file.name)?, self.begin() + self.transfers.block)
    }

    /// Puts something else into the block, so that what is read shows. Its memory is touched before it is timed.
    fn clear(&mut self) {
        self.block.clear();
        self.block.resize(self.transfers.block as usize, 0);
    }
}

impl Job for DataJob {
    type Found = ();

    fn make<S: Servers>(&mut self, client: &mut Client<S>) -> Result<(), Fault> {
        if self.member.number == 0 || !self.transfers.shared {
            client.create(&self.name())?;
        }
        Ok(())
    }

    fn fill<S: Servers>(&mut self, client: &mut Client<S>) -> Result<(), Fault> {
        self.file = Some(client.open(&self.name())?);
        self.block = self.pattern().bytes(self.begin(), self.transfers.block as usize);
        if self.direction == Direction::Read {
            self.write(client)?;
            self.clear();
        }
        Ok(())
    }

    fn timed<S: Servers>(&mut self, client: &mut Client<S>) -> Result<(), Fault> {
        match self.direction {
            Direction::Write => self.write(client),
            Direction::Read => self.read(client),
        }
    }

    fn check<S: Servers>(&mut self, client: &mut Client<S>, (): ()) -> Result<(), Fault> {
        if self.direction == Direction::Write {
            self.clear();
            self.read(client)?;
        }
        let file = self.file()?;
        self.pattern().check(&file, self.begin(), &self.block)?;
        self.check_size(client, &file)?;
        match &self.injection {
            Some(injection) if injection.has_happened() => {
                Err(Fault::attempt("a write was corrupted, and the check has not found it")
                    .at(format!("file `{}`", file.name)))
            }
            Some(_) => Err(Fault::attempt("no write was corrupted, and one should have been")),
            None => Ok(()),
        }
    }
}
