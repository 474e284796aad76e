//! Messages whose elements are not consecutive in memory, and exchanges that are repeated.

use crosstalk_core::Fault;
use std::panic::Location;

use crate::element::{Element, bytes};
use crate::request::Envelope;
use crate::scope::{Outgoing, Scope};

/// Blocks of elements at equal distances, as MPI_Type_vector: a column of a matrix, or a face of a cube.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strided {
    /// The first element.
    pub first: usize,
    /// How many blocks.
    pub blocks: usize,
    /// Elements in a block.
    pub length: usize,
    /// Elements from the beginning of a block to that of the next.
    pub stride: usize,
}

impl Strided {
    /// How many elements it has.
    pub fn count(&self) -> usize {
        self.blocks * self.length
    }

    /// The beginnings of its blocks.
    fn begins(self) -> impl Iterator<Item = usize> {
        (0..self.blocks).map(move |block| self.first + block * self.stride)
    }

    /// A fault if it lies beyond `length` elements.
    fn check(&self, length: usize) -> Result<(), Fault> {
        let end = self.begins().last().map_or(0, |begin| begin + self.length);
        match end <= length && (self.blocks < 2 || self.length <= self.stride) {
            true => Ok(()),
            false => Err(Fault::attempt(format!("{self:?} does not lie within {length} elements"))),
        }
    }
}

/// Messages that are sent and received again and again between the same ranks, as MPI's persistent requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The tag of all of them.
    pub tag: u32,
    /// To whom, and which elements.
    pub sends: Vec<(usize, Strided)>,
    /// From whom, and to which elements.
    pub receives: Vec<(usize, Strided)>,
}

impl Scope<'_, '_> {
    /// Sends the elements of `data` that `which` names.
    ///
    /// # Errors
    /// If they are not all there; as [`Scope::send`].
    #[track_caller]
    pub fn send_strided<T: Element>(
        &mut self,
        to: usize,
        tag: u32,
        data: &[T],
        which: Strided,
    ) -> Result<(), Fault> {
        let (at, on) = (Location::caller(), self.on.clone());
        which.check(data.len())?;
        let blocks: Vec<&[u8]> =
            which.begins().map(|begin| bytes(&data[begin..begin + which.length])).collect();
        self.rank.operation(|rank| rank.send_message(&on, &Outgoing::new::<T>(to, tag, &blocks), at))
    }

    /// Receives into the elements of `data` that `which` names.
    ///
    /// # Errors
    /// If the message has another length or type; as [`Scope::recv`].
    #[track_caller]
    pub fn recv_strided<T: Element>(
        &mut self,
        from: usize,
        tag: u32,
        data: &mut [T],
        which: Strided,
    ) -> Result<(), Fault> {
        which.check(data.len())?;
        let message = self.receive(Envelope::exact(from, tag), Location::caller())?.elements()?;
        spread(&message, data, which).map_err(|fault| fault.on(from))
    }

    /// Carries out all messages of a pattern once. What is sent is taken before anything is received.
    ///
    /// # Errors
    /// As [`Scope::send_strided`] and [`Scope::recv_strided`].
    #[track_caller]
    pub fn exchange<T: Element>(&mut self, pattern: &Pattern, data: &mut [T]) -> Result<(), Fault> {
        let at = Location::caller();
        let mut requests = Vec::with_capacity(pattern.receives.len() + pattern.sends.len());
        for (from, _) in &pattern.receives {
            requests.push(self.irecv_at(Envelope::exact(*from, pattern.tag), at)?);
        }
        for (to, which) in &pattern.sends {
            which.check(data.len())?;
            let packed: Vec<T> =
                which.begins().flat_map(|begin| &data[begin..begin + which.length]).copied().collect();
            requests.push(self.isend_at(*to, pattern.tag, &packed, at)?);
        }
        let done = self.rank.wait_all_at(requests, at)?;
        for ((from, which), done) in pattern.receives.iter().zip(done) {
            let message =
                done.message().ok_or_else(|| Fault::attempt("a receive ended without a message"))?;
            which.check(data.len())?;
            spread(&message.elements()?, data, *which).map_err(|fault| fault.on(*from))?;
        }
        Ok(())
    }
}

/// Puts elements where `which` says.
fn spread<T: Element>(elements: &[T], data: &mut [T], which: Strided) -> Result<(), Fault> {
    if elements.len() != which.count() {
        return Err(Fault::attempt(format!(
            "expected {} elements, found a message of {}",
            which.count(),
            elements.len()
        ))
        .remedy("receive as many elements as are sent"));
    }
    for (begin, block) in which.begins().zip(elements.chunks_exact(which.length.max(1))) {
        data[begin..begin + which.length].copy_from_slice(block);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_a_matrix_is_spread_and_kept_within_it() {
        let column = Strided { first: 1, blocks: 3, length: 1, stride: 4 };
        let mut matrix = [0_i32; 12];
        spread(&[7, 8, 9], &mut matrix, column).expect("fits");
        assert_eq!(matrix, [0, 7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0]);
        assert!(column.check(9).is_err() && column.check(10).is_ok());
        assert!(spread(&[7, 8], &mut matrix, column).is_err());
    }
}
