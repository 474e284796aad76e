//! Calls of one function with one size: their data, and the check that they arrive.

use crosstalk_comm::{Envelope, Rank, ReduceOp};
use crosstalk_core::Fault;
use crosstalk_core::mpi::Operation;

use std::time::Instant;

use super::function::{Function, IN_A_PIPELINE};

/// The rank that others send to, or receive from.
const ROOT: usize = 0;
const TAG: u32 = 1;
/// Calls by which the usual time of one is found.
const FIRST: usize = 5;

/// A rank's part of the calls of one function.
pub struct Calls {
    function: Function,
    /// Bytes of a message, of a vector, or of a piece.
    size: usize,
    /// What it sends: a message, or a piece for each rank.
    out: Vec<u8>,
    /// How many pieces it sends.
    pieces_out: usize,
    /// What it receives: a message, or a piece of each rank.
    into: Vec<u8>,
    /// What is combined.
    numbers: Vec<f32>,
    /// What it received, where the function returns that: a piece of each rank.
    pieces: Vec<Vec<u8>>,
}

/// How many pieces a rank sends and receives of its own storage.
fn pieces(function: Function, ranks: usize) -> (usize, usize) {
    use Operation::{Allgather, Alltoall, Alltoallv, Gather, Scatter, Scatterv};
    match function {
        Function::Collective(Alltoall) => (ranks, ranks),
        Function::Collective(Alltoallv | Scatterv) => (ranks, 0),
        Function::Collective(Gather | Allgather) => (1, ranks),
        Function::Collective(Scatter) => (0, ranks),
        Function::Exchange => (1, 2),
        _ => (1, 1),
    }
}

/// Bytes that all ranks hold together, at least, with messages, vectors or pieces of `size` bytes.
pub fn bytes_held(function: Function, size: u64, ranks: usize) -> u64 {
    let (out, into) = pieces(function, ranks);
    size.saturating_mul((out + into) as u64).saturating_mul(ranks as u64)
}

impl Calls {
    /// Calls of `function` with messages of `size` bytes, for rank `id` of `ranks`.
    pub fn new(function: Function, size: usize, id: usize, ranks: usize) -> Self {
        let (out, into) = pieces(function, ranks);
        let numbers = if function.combines() { size / 4 } else { 0 };
        let mut calls = Calls {
            function,
            size,
            out: vec![0; if function.combines() { 0 } else { out * size }],
            pieces_out: out,
            into: vec![0; if function.combines() { 0 } else { into * size }],
            numbers: vec![0.0; numbers],
            pieces: Vec::new(),
        };
        for (piece, bytes) in calls.out.chunks_exact_mut(size.max(1)).enumerate() {
            fill(bytes, mark(id, piece));
        }
        calls.renew(id);
        calls
    }

    /// Calls whose first one was made, and has brought the right data. All ranks call it at once.
    ///
    /// # Errors
    /// If something else arrives than was sent, or ranks are gone.
    pub fn checked(function: Function, size: usize, rank: &mut Rank) -> Result<Self, Fault> {
        let (id, ranks) = (rank.id(), rank.size());
        let mut calls = Calls::new(function, size, id, ranks);
        calls.call(rank)?;
        calls.check(id, ranks)?;
        Ok(calls)
    }

    /// Makes the data those of the first call, where a call changes them.
    pub fn renew(&mut self, id: usize) {
        self.numbers.fill(id as f32 + 1.0);
        if self.function == Function::Collective(Operation::Scatter) && id == ROOT {
            for (piece, bytes) in self.into.chunks_exact_mut(self.size.max(1)).enumerate() {
                fill(bytes, mark(ROOT, piece));
            }
        }
    }

    /// This rank's part of one call.
    ///
    /// # Errors
    /// If ranks are gone.
    pub fn call(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        let (id, ranks) = (rank.id(), rank.size());
        let (left, right) = ((id + ranks - 1) % ranks, (id + 1) % ranks);
        match self.function {
            Function::PingPong if id == 0 => {
                rank.world().send(1, TAG, &self.out)?;
                rank.world().recv_into(1, TAG, &mut self.into)
            }
            Function::PingPong if id == 1 => {
                rank.world().recv_into(0, TAG, &mut self.into)?;
                rank.world().send(0, TAG, &self.out)
            }
            Function::PingPing if id < 2 => {
                let peer = 1 - id;
                rank.world().sendrecv(peer, &self.out, peer, &mut self.into, TAG)
            }
            Function::PingPong | Function::PingPing => Ok(()),
            Function::Sendrecv => rank.world().sendrecv(right, &self.out, left, &mut self.into, TAG),
            Function::Exchange => self.exchange(rank, left, right),
            Function::Pipeline => self.pipeline(rank),
            Function::Collective(operation) => self.collective(operation, rank),
        }
    }

    /// The nanoseconds that the slowest rank takes for a call with its preparation: the median of a few. All ranks call it
    /// at once.
    ///
    /// # Errors
    /// If ranks are gone.
    pub fn usual_time(&mut self, rank: &mut Rank) -> Result<i64, Fault> {
        let mut times = Vec::with_capacity(FIRST);
        for _ in 0..FIRST {
            rank.world().barrier()?;
            let begin = Instant::now();
            self.renew(rank.id());
            self.call(rank)?;
            let mut time = [begin.elapsed().as_nanos() as i64];
            rank.world().allreduce(&mut time, ReduceOp::Max)?;
            times.push(time[0]);
        }
        times.sort_unstable();
        Ok(times[FIRST / 2])
    }

    /// Sends to both neighbours and receives from both. With two ranks they are the same: tags distinguish the messages.
    fn exchange(&mut self, rank: &mut Rank, left: usize, right: usize) -> Result<(), Fault> {
        let (leftwards, rightwards) = (TAG, TAG + 1);
        let mut world = rank.world();
        let requests = vec![
            world.irecv(Envelope::exact(left, rightwards))?,
            world.irecv(Envelope::exact(right, leftwards))?,
            world.isend(left, leftwards, &self.out)?,
            world.isend(right, rightwards, &self.out)?,
        ];
        let (from_left, from_right) = self.into.split_at_mut(self.size);
        let done = rank.wait_all(requests)?;
        for (done, into) in done.into_iter().zip([from_left, from_right]) {
            done.message().map_or(Ok(()), |message| message.elements_into(into))?;
        }
        Ok(())
    }

    /// Passes on each message once it has come.
    fn pipeline(&mut self, rank: &mut Rank) -> Result<(), Fault> {
        let (id, last) = (rank.id(), rank.size() - 1);
        for _ in 0..IN_A_PIPELINE {
            if id > 0 {
                rank.world().recv_into(id - 1, TAG, &mut self.into)?;
            }
            if id < last {
                rank.world().send(id + 1, TAG, if id == 0 { &self.out } else { &self.into })?;
            }
        }
        Ok(())
    }

    fn collective(&mut self, operation: Operation, rank: &mut Rank) -> Result<(), Fault> {
        use Operation::{
            Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Gather, Gatherv, Reduce,
            ReduceScatter, Scatter, Scatterv,
        };
        let id = rank.id();
        let mut world = rank.world();
        match operation {
            Barrier => world.barrier(),
            Bcast if id == ROOT => world.bcast(ROOT, &mut self.out),
            Bcast => world.bcast(ROOT, &mut self.into),
            Reduce => world.reduce(ROOT, &mut self.numbers, ReduceOp::Sum),
            Allreduce => world.allreduce(&mut self.numbers, ReduceOp::Sum),
            ReduceScatter => {
                let numbers = std::mem::take(&mut self.numbers);
                self.numbers = world.reduce_scatter_in_place(numbers, ReduceOp::Sum)?;
                Ok(())
            }
            Gather => world.gather_into(ROOT, &self.out, &mut self.into),
            Allgather => world.allgather_into(&self.out, &mut self.into),
            Scatter => world.scatter_in_place(ROOT, &mut self.into),
            Alltoall => world.alltoall_into(&self.out, &mut self.into),
            Gatherv => {
                self.pieces = world.gatherv(ROOT, &self.out)?.unwrap_or_default();
                Ok(())
            }
            Allgatherv => {
                self.pieces = world.allgatherv(&self.out)?;
                Ok(())
            }
            Scatterv => {
                let pieces = if id == ROOT { self.out_pieces() } else { Vec::new() };
                self.pieces = vec![world.scatterv(ROOT, pieces)?];
                Ok(())
            }
            Alltoallv => {
                let pieces = self.out_pieces();
                self.pieces = world.alltoallv(pieces)?;
                Ok(())
            }
        }
    }

    /// A piece for each rank.
    fn out_pieces(&self) -> Vec<Vec<u8>> {
        if self.size == 0 {
            return vec![Vec::new(); self.pieces_out];
        }
        self.out.chunks_exact(self.size).map(<[u8]>::to_vec).collect()
    }

    /// Checks what the first call after [`Calls::renew`] has brought to rank `id` of `ranks`.
    ///
    /// # Errors
    /// If something else arrived than was sent.
    pub fn check(&self, id: usize, ranks: usize) -> Result<(), Fault> {
        let right = match self.function {
            Function::PingPong | Function::PingPing => id > 1 || is_filled(&self.into, mark(1 - id, 0)),
            Function::Sendrecv => is_filled(&self.into, mark((id + ranks - 1) % ranks, 0)),
            Function::Exchange => {
                let (from_left, from_right) = self.into.split_at(self.size);
                is_filled(from_left, mark((id + ranks - 1) % ranks, 0))
                    && is_filled(from_right, mark((id + 1) % ranks, 0))
            }
            Function::Pipeline => id == 0 || is_filled(&self.into, mark(0, 0)),
            Function::Collective(operation) => self.is_right(operation, id, ranks),
        };
        if right {
            return Ok(());
        }
        let (name, size) = (self.function.name(), self.size);
        Err(Fault::attempt(format!("wrong answer: {name} of {size} B brought other data than were sent"))
            .on(id))
    }

    fn is_right(&self, operation: Operation, id: usize, ranks: usize) -> bool {
        use Operation::{
            Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Gather, Gatherv, Reduce,
            ReduceScatter, Scatter, Scatterv,
        };
        let sum = (ranks * (ranks + 1) / 2) as f32;
        let from_each = |piece: usize| {
            self.size == 0
                || self
                    .into
                    .chunks_exact(self.size)
                    .enumerate()
                    .all(|(from, bytes)| is_filled(bytes, mark(from, piece)))
        };
        let pieces = |piece: usize| {
            self.pieces
                .iter()
                .enumerate()
                .all(|(from, bytes)| bytes.len() == self.size && is_filled(bytes, mark(from, piece)))
        };
        match operation {
            Barrier => true,
            Bcast => id == ROOT || is_filled(&self.into, mark(ROOT, 0)),
            Reduce => id != ROOT || self.numbers.iter().all(|number| *number == sum),
            Allreduce => self.numbers.iter().all(|number| *number == sum),
            ReduceScatter => {
                let bound = |rank: usize| self.numbers.len() * rank / ranks;
                self.numbers[bound(id)..bound(id + 1)].iter().all(|number| *number == sum)
            }
            Gather => id != ROOT || from_each(0),
            Allgather => from_each(0),
            Alltoall => from_each(id),
            Scatter => is_filled(&self.into[id * self.size..(id + 1) * self.size], mark(ROOT, id)),
            Gatherv => self.pieces.len() == if id == ROOT { ranks } else { 0 } && pieces(0),
            Allgatherv => self.pieces.len() == ranks && pieces(0),
            Alltoallv => self.pieces.len() == ranks && pieces(id),
            Scatterv => self.pieces.len() == 1 && is_filled(&self.pieces[0], mark(ROOT, id)),
        }
    }
}

/// The first byte of the piece that rank `from` sends as its number `piece`.
fn mark(from: usize, piece: usize) -> u8 {
    (from * 31 + piece * 7 + 1) as u8
}

/// Bytes that follow from the first one, so that a shifted or a repeated part is noticed.
fn fill(bytes: &mut [u8], first: u8) {
    bytes.iter_mut().enumerate().for_each(|(index, byte)| *byte = pattern(first, index));
}

fn is_filled(bytes: &[u8], first: u8) -> bool {
    bytes.iter().enumerate().all(|(index, byte)| *byte == pattern(first, index))
}

fn pattern(first: u8, index: usize) -> u8 {
    (first as usize).wrapping_add(index.wrapping_mul(13)).wrapping_add(index >> 8) as u8
}
