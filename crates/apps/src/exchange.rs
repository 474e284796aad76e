//! An all-to-all exchange between slaves: every part sends every part a buffer.

use crosstalk_core::Fault;

#[cfg(test)]
pub mod mock;

/// Exchanges messages between the parts (slaves) of an application.
pub trait Exchange {
    /// This part's number, from 0.
    fn part(&self) -> usize;
    /// How many parts there are.
    fn parts(&self) -> usize;
    /// Sends `outgoing[p]` to part `p`, and returns what each part sent to this one. All parts must call it
    /// equally often.
    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault>;
}

/// The only part of an application: it receives what it sends.
pub struct Alone;

impl Exchange for Alone {
    fn part(&self) -> usize {
        0
    }

    fn parts(&self) -> usize {
        1
    }

    fn exchange(&mut self, outgoing: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
        Ok(outgoing)
    }
}

/// The little-endian 32-bit numbers in a buffer.
pub fn read_numbers(buffer: &[u8]) -> impl ExactSizeIterator<Item = u32> + '_ {
    buffer.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The little-endian floating-point numbers in a buffer.
pub fn read_floats(buffer: &[u8]) -> impl ExactSizeIterator<Item = f64> + '_ {
    buffer.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes))
}

/// Bytes of a number and its value.
pub const PAIR: usize = 12;

/// Appends a number and its value.
pub fn append_pair(number: u32, value: f64, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&number.to_le_bytes());
    buffer.extend_from_slice(&value.to_le_bytes());
}

/// Reads the numbers and values that [`append_pair`] appended.
pub fn read_pairs(buffer: &[u8]) -> impl ExactSizeIterator<Item = (u32, f64)> + '_ {
    buffer
        .as_chunks::<PAIR>()
        .0
        .iter()
        .map(|[a, b, c, d, rest @ ..]| (u32::from_le_bytes([*a, *b, *c, *d]), f64::from_le_bytes(*rest)))
}
