//! A vertex's name in a file, and its encoding in messages.

use crosstalk_core::Fault;

use crate::random::mix;

/// The largest label: it shares 32 bits with flags.
pub const LARGEST_LABEL: u32 = (1 << 28) - 1;

/// Marks a number in a message, in the place of a text's length.
const NUMBER: u32 = u32::MAX;

/// A vertex's name, as a file has it: a number or text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name<'a> {
    /// By a number.
    Number(u64),
    /// By anything else.
    Text(&'a str),
}

impl Name<'_> {
    /// The number, or the text's hash.
    pub fn key(self) -> u64 {
        match self {
            Name::Number(number) => number,
            Name::Text(text) => text.as_bytes().chunks(8).fold(text.len() as u64, |hash, chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                mix(hash ^ u64::from_le_bytes(word)).wrapping_add(hash)
            }),
        }
    }

    /// Appends the name to a message.
    pub fn append_to(self, buffer: &mut Vec<u8>) {
        match self {
            Name::Number(number) => {
                buffer.extend_from_slice(&NUMBER.to_le_bytes());
                buffer.extend_from_slice(&number.to_le_bytes());
            }
            Name::Text(text) => {
                buffer.extend_from_slice(&(text.len() as u32).to_le_bytes());
                buffer.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// The first name in a buffer, and what follows it.
    fn get(buffer: &[u8]) -> Option<(Name<'_>, &[u8])> {
        let (length, rest) = buffer.split_first_chunk()?;
        match u32::from_le_bytes(*length) {
            NUMBER => {
                let (number, rest) = rest.split_first_chunk()?;
                Some((Name::Number(u64::from_le_bytes(*number)), rest))
            }
            length => {
                let (text, rest) = rest.split_at_checked(length as usize)?;
                Some((Name::Text(str::from_utf8(text).ok()?), rest))
            }
        }
    }
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Number(number) => number.fmt(f),
            Name::Text(text) => text.fmt(f),
        }
    }
}

/// Passes the names in a message to `take`.
pub fn for_each_name<'a>(mut buffer: &'a [u8], mut take: impl FnMut(Name<'a>)) -> Result<(), Fault> {
    while !buffer.is_empty() {
        let (name, rest) = Name::get(buffer).ok_or_else(|| Fault::attempt("names came incomplete"))?;
        take(name);
        buffer = rest;
    }
    Ok(())
}
