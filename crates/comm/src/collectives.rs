//! Collective operations, as MPI defines them. All ranks of the communicator must call the same ones in the same
//! order. How they are carried out is chosen by [`crosstalk_model::collective::Choices`].

use crosstalk_core::Fault;
use crosstalk_core::mpi::{Algorithm, Operation as Collective};
use crosstalk_model::collective::{Position, Steps, piece_count};
use crosstalk_model::network::{Call, Operation, Sizes};
use std::panic::Location;
use std::sync::Arc;

use crate::clock::CallSite;
use crate::communicator::Communicator;
use crate::element::{Combine, Element, bytes, bytes_mut, combine_bytes};
use crate::execute::{CombineBytes, Execution};
use crate::rank::Rank;
use crate::scope::Scope;
use crate::store::Store;

impl Scope<'_, '_> {
    /// Waits until all ranks have called it.
    ///
    /// # Errors
    /// If ranks wait for each other, call different collectives, or are gone. So do all collectives.
    #[track_caller]
    pub fn barrier(&mut self) -> Result<(), Fault> {
        self.barrier_at(Location::caller())
    }

    pub(crate) fn barrier_at(&mut self, at: CallSite) -> Result<(), Fault> {
        self.call(Collective::Barrier, 0, Sizes::Equal(0), None, at, |_| Store::Separate(vec![Vec::new()]))
    }

    /// Every rank gets the root's `data`. All must have the same length.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn bcast<T: Element>(&mut self, root: usize, data: &mut [T]) -> Result<(), Fault> {
        let at = Location::caller();
        self.on_vector(Collective::Bcast, root, data, None, at)
    }

    /// The same where only the root knows the length.
    ///
    /// # Errors
    /// As [`Scope::barrier`].
    #[track_caller]
    pub fn bcast_vec(&mut self, root: usize, data: &mut Vec<u8>) -> Result<(), Fault> {
        let at = Location::caller();
        self.separately(|rank, on| {
            let own = if on.id() == root { std::mem::take(data) } else { Vec::new() };
            let call = Called { operation: Collective::Bcast, root, sizes: Sizes::Own(own.len() as u64), at };
            *data = rank.carry_out_separate(on, call, vec![own])?.swap_remove(0);
            Ok(())
        })
    }

    /// Combines all ranks' `data` element by element, and stores the result in the root's
    /// `data`. All must have the same length. What others have is undefined afterwards.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn reduce<T: Combine>(&mut self, root: usize, data: &mut [T], op: T::Op) -> Result<(), Fault> {
        let at = Location::caller();
        self.on_vector(
            Collective::Reduce,
            root,
            data,
            Some(&|mine, theirs| combine_bytes::<T>(op, mine, theirs)),
            at,
        )
    }

    /// Combines all ranks' `data` element by element, and stores the result in every rank's
    /// `data`, equal bit by bit. All must have the same length.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn allreduce<T: Combine>(&mut self, data: &mut [T], op: T::Op) -> Result<(), Fault> {
        let at = Location::caller();
        self.on_vector(
            Collective::Allreduce,
            0,
            data,
            Some(&|mine, theirs| combine_bytes::<T>(op, mine, theirs)),
            at,
        )
    }

    /// Combines all ranks' `data` element by element, and returns this rank's part of the result: part r of n has
    /// the elements from `r · length / n` on. All must have the same length.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn reduce_scatter<T: Combine>(&mut self, data: Vec<T>, op: T::Op) -> Result<Vec<T>, Fault> {
        let combined = self.reduce_scatter_in_place(data, op)?;
        let bound = |rank: usize| (combined.len() as u128 * rank as u128 / self.size() as u128) as usize;
        Ok(combined[bound(self.id())..bound(self.id() + 1)].to_vec())
    }

    /// The same in place: this rank's part of the result is where it was in `data`, and the rest is undefined.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn reduce_scatter_in_place<T: Combine>(
        &mut self,
        mut data: Vec<T>,
        op: T::Op,
    ) -> Result<Vec<T>, Fault> {
        let at = Location::caller();
        let combine: CombineBytes = &|mine, theirs| combine_bytes::<T>(op, mine, theirs);
        self.on_vector(Collective::ReduceScatter, 0, &mut data, Some(combine), at)?;
        Ok(data)
    }

    /// Returns every rank's `data`, which have the same length, to the root, one after the other; others get nothing.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn gather<T: Element>(&mut self, root: usize, data: &[T]) -> Result<Option<Vec<T>>, Fault> {
        let mut all = vec![T::default(); self.size() * data.len()];
        self.collect(Collective::Gather, root, data, &mut all, Location::caller())?;
        Ok((self.id() == root).then_some(all))
    }

    /// Every rank gets every rank's `data`, which have the same length, one after the other.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn allgather<T: Element>(&mut self, data: &[T]) -> Result<Vec<T>, Fault> {
        let mut all = vec![T::default(); self.size() * data.len()];
        self.collect(Collective::Allgather, 0, data, &mut all, Location::caller())?;
        Ok(all)
    }

    /// The same into `all`, which has room for every rank's `data`.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn allgather_into<T: Element>(&mut self, data: &[T], all: &mut [T]) -> Result<(), Fault> {
        self.collect(Collective::Allgather, 0, data, all, Location::caller())
    }

    /// As [`Scope::gather`] into `all`, which has room for every rank's `data` at all ranks. What others than the
    /// root have there is undefined afterwards.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if lengths differ.
    #[track_caller]
    pub fn gather_into<T: Element>(&mut self, root: usize, data: &[T], all: &mut [T]) -> Result<(), Fault> {
        self.collect(Collective::Gather, root, data, all, Location::caller())
    }

    fn collect<T: Element>(
        &mut self,
        operation: Collective,
        root: usize,
        data: &[T],
        all: &mut [T],
        at: CallSite,
    ) -> Result<(), Fault> {
        let (own, size, each) = (self.id(), self.size(), size_of_val(data));
        check_parts(all.len(), size, data.len())?;
        all[own * data.len()..(own + 1) * data.len()].copy_from_slice(data);
        let hold = bytes_mut(all);
        self.call(operation, root, Sizes::Equal(each as u64), None, at, |_| Store::Blocks {
            send: &[],
            hold,
            each,
            received: 0,
        })
    }

    /// Every rank gets its part of the root's `data`, `each` elements long. The `data` of others are not read.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if the root has not a part for each rank.
    #[track_caller]
    pub fn scatter<T: Element>(&mut self, root: usize, data: &[T], each: usize) -> Result<Vec<T>, Fault> {
        let at = Location::caller();
        let (own, size) = (self.id(), self.size());
        let mut all = vec![T::default(); size * each];
        if own == root {
            check_parts(data.len(), size, each)?;
            all.copy_from_slice(data);
        }
        self.deal(root, &mut all, each, at)?;
        Ok(all[own * each..(own + 1) * each].to_vec())
    }

    /// The same in place: `all` has room for a part for each rank. Part r is rank r's; what a rank has in the others'
    /// parts is undefined afterwards.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if `all` has no part for each rank.
    #[track_caller]
    pub fn scatter_in_place<T: Element>(&mut self, root: usize, all: &mut [T]) -> Result<(), Fault> {
        let each = all.len() / self.size();
        check_parts(all.len(), self.size(), each)?;
        self.deal(root, all, each, Location::caller())
    }

    fn deal<T: Element>(
        &mut self,
        root: usize,
        all: &mut [T],
        each: usize,
        at: CallSite,
    ) -> Result<(), Fault> {
        let width = each * size_of::<T>();
        let hold = bytes_mut(all);
        self.call(Collective::Scatter, root, Sizes::Equal(width as u64), None, at, |_| Store::Blocks {
            send: &[],
            hold,
            each: width,
            received: 0,
        })
    }

    /// Every rank sends each rank one part of `data`, all of the same length, and gets one from each.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if `data` has not a part for each rank.
    #[track_caller]
    pub fn alltoall<T: Element>(&mut self, data: &[T]) -> Result<Vec<T>, Fault> {
        let mut received = vec![T::default(); data.len()];
        self.alltoall_at(data, &mut received, Location::caller())?;
        Ok(received)
    }

    /// The same into `received`, which is as long as `data`.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if one of them has not a part for each rank.
    #[track_caller]
    pub fn alltoall_into<T: Element>(&mut self, data: &[T], received: &mut [T]) -> Result<(), Fault> {
        self.alltoall_at(data, received, Location::caller())
    }

    fn alltoall_at<T: Element>(&mut self, data: &[T], received: &mut [T], at: CallSite) -> Result<(), Fault> {
        let (own, size) = (self.id(), self.size());
        let each = data.len() / size;
        check_parts(data.len(), size, each).map_err(|fault| fault.remedy("use alltoallv"))?;
        check_parts(received.len(), size, each)?;
        let width = each * size_of::<T>();
        let sizes = Sizes::Equal(width as u64);
        let algorithm = self.rank.choices.find_for(Collective::Alltoall, size, &sizes);
        if algorithm != Algorithm::Bruck {
            received[own * each..(own + 1) * each].copy_from_slice(&data[own * each..(own + 1) * each]);
            let (send, hold) = (bytes(data), bytes_mut(received));
            return self.call(Collective::Alltoall, 0, sizes, None, at, |_| Store::Blocks {
                send,
                hold,
                each: width,
                received: size,
            });
        }
        // Piece j goes to the rank j to the right at first, and came from the rank j to the left at last.
        let mut turned = data.to_vec();
        turned.rotate_left(own * each);
        let hold = bytes_mut(&mut turned);
        self.call(Collective::Alltoall, 0, sizes, None, at, |_| Store::Blocks {
            send: &[],
            hold,
            each: width,
            received: 0,
        })?;
        for distance in 0..size {
            let from = (own + size - distance) % size;
            let part = &turned[distance * each..(distance + 1) * each];
            received[from * each..(from + 1) * each].copy_from_slice(part);
        }
        Ok(())
    }

    /// Returns every rank's `data`, of any length, to the root, by rank, and `None` to the others.
    ///
    /// # Errors
    /// As [`Scope::barrier`].
    #[track_caller]
    pub fn gatherv(&mut self, root: usize, data: &[u8]) -> Result<Option<Vec<Vec<u8>>>, Fault> {
        let all = self.collect_any(Collective::Gatherv, root, data, Location::caller())?;
        Ok((self.id() == root).then_some(all))
    }

    /// Every rank gets every rank's `data`, of any length, by rank.
    ///
    /// # Errors
    /// As [`Scope::barrier`].
    #[track_caller]
    pub fn allgatherv(&mut self, data: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        self.collect_any(Collective::Allgatherv, 0, data, Location::caller())
    }

    fn collect_any(
        &mut self,
        operation: Collective,
        root: usize,
        data: &[u8],
        at: CallSite,
    ) -> Result<Vec<Vec<u8>>, Fault> {
        self.separately(|rank, on| {
            let mut all = vec![Vec::new(); on.size()];
            all[on.id()] = data.to_vec();
            let call = Called { operation, root, sizes: Sizes::Own(data.len() as u64), at };
            rank.carry_out_separate(on, call, all)
        })
    }

    /// Every rank gets its part of the root's `data`, which has one part, of any length, for each
    /// rank. The `data` of other ranks are ignored.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if the root has not a part for each rank.
    #[track_caller]
    pub fn scatterv(&mut self, root: usize, data: Vec<Vec<u8>>) -> Result<Vec<u8>, Fault> {
        let at = Location::caller();
        self.separately(|rank, on| {
            let own = on.id();
            let (sizes, all) = if own == root {
                (sizes_of_each(&data, on.size())?, data)
            } else {
                (Sizes::Own(0), vec![Vec::new(); on.size()])
            };
            let call = Called { operation: Collective::Scatterv, root, sizes, at };
            Ok(rank.carry_out_separate(on, call, all)?.swap_remove(own))
        })
    }

    /// Every rank sends each rank one part, and gets one part from each, by rank. Parts
    /// may have any length.
    ///
    /// # Errors
    /// As [`Scope::barrier`]; or if there is not a part for each rank.
    #[track_caller]
    pub fn alltoallv(&mut self, mut data: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        let at = Location::caller();
        self.separately(|rank, on| {
            let (own, size) = (on.id(), on.size());
            let sizes = sizes_of_each(&data, size)?;
            data.resize_with(2 * size, Vec::new);
            data[size + own] = std::mem::take(&mut data[own]);
            let call = Called { operation: Collective::Alltoallv, root: 0, sizes, at };
            Ok(rank.carry_out_separate(on, call, data)?.split_off(size))
        })
    }

    /// Calls a collective on parts of any size: they are arranged within the operation, as that is no computing of the
    /// program.
    fn separately<R>(
        &mut self,
        body: impl FnOnce(&mut Rank, &Communicator) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let on = self.on.clone();
        self.rank.operation(|rank| body(rank, &on))
    }

    fn on_vector<T: Element>(
        &mut self,
        operation: Collective,
        root: usize,
        data: &mut [T],
        combine: Option<CombineBytes>,
        at: CallSite,
    ) -> Result<(), Fault> {
        let (elements, width) = (data.len() as u64, size_of::<T>());
        let sizes = Sizes::Vector { elements, width: width as u32 };
        let bytes = bytes_mut(data);
        self.call(operation, root, sizes, combine, at, |pieces| Store::Vector { bytes, width, pieces })
    }

    fn call<'d>(
        &mut self,
        operation: Collective,
        root: usize,
        sizes: Sizes,
        combine: Option<CombineBytes>,
        at: CallSite,
        store: impl FnOnce(usize) -> Store<'d>,
    ) -> Result<(), Fault> {
        let on = self.on.clone();
        let call = Called { operation, root, sizes, at };
        self.rank.operation(|rank| rank.carry_out(&on, call, combine, store).map(drop))
    }
}

/// A collective that is called.
struct Called {
    operation: Collective,
    root: usize,
    sizes: Sizes,
    at: CallSite,
}

impl Rank<'_> {
    /// Reports a collective, and carries it out. The clock server knows how long it takes, and need not answer:
    /// whoever has its data continues, as a sender does. A rank that slept until then would find its caches cold, which
    /// counts as computing.
    fn carry_out<'d>(
        &mut self,
        on: &Communicator,
        call: Called,
        combine: Option<CombineBytes>,
        store: impl FnOnce(usize) -> Store<'d>,
    ) -> Result<Store<'d>, Fault> {
        let Called { operation, root, sizes, at } = call;
        on.rank(root)?;
        let size = on.size();
        let algorithm = self.choices.find_for(operation, size, &sizes);
        let mut store = store(piece_count(operation, algorithm, size));
        let number = on.next_collective();
        self.traffic.count_collective(operation, &sizes, size);
        if let Some(server) = self.clock.server() {
            let call = Call { operation, communicator: on.number(), root: root as u32, sizes };
            server.report(&mut self.mesh, &Operation::Collective(Box::new(call)), at)?;
        }
        self.mesh.waiting.at = at;
        let steps = Steps::new(operation, algorithm, Position { rank: on.id(), size, root });
        let steps = steps.ok_or_else(|| Fault::attempt("an algorithm does not fit its operation"))?;
        Execution { mesh: &mut self.mesh, on, operation, number, combine }.run(steps, &mut store)?;
        Ok(store)
    }

    /// The same on separate pieces, which it returns.
    fn carry_out_separate(
        &mut self,
        on: &Communicator,
        call: Called,
        pieces: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>, Fault> {
        match self.carry_out(on, call, None, |_| Store::Separate(pieces))? {
            Store::Separate(all) => Ok(all),
            Store::Vector { .. } | Store::Blocks { .. } => Ok(Vec::new()),
        }
    }
}

/// The sizes of a part for each of `size` ranks.
fn sizes_of_each(data: &[Vec<u8>], size: usize) -> Result<Sizes, Fault> {
    if data.len() == size {
        return Ok(Sizes::Each(Arc::from_iter(data.iter().map(|part| part.len() as u64))));
    }
    Err(Fault::attempt(format!("expected one part for each of {size} ranks, found {}", data.len())))
}

/// A fault unless so many elements are a part of `each` for each of `size` ranks.
fn check_parts(elements: usize, size: usize, each: usize) -> Result<(), Fault> {
    if elements == size * each {
        return Ok(());
    }
    Err(Fault::attempt(format!(
        "expected a part of the same length for each of {size} ranks, found {elements} elements"
    )))
}
