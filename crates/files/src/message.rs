//! What clients ask of servers, and what these answer, as bytes: four numbers of eight bytes, little-endian, which take
//! [`HEADER`] bytes, then names or data.
//!
//! | request | numbers | then | answer: numbers | then |
//! |---|---|---|---|---|
//! | create, look up, remove | 1, 2, 3 | name | file, stripe, servers | |
//! | rename | 4, bytes of the old name | both names | file that it replaced, plus 1 | |
//! | list | 5 | | | names, each after its length in four bytes |
//! | size | 6, file | | bytes of the piece | |
//! | write | 7, file, place in the piece | data | | |
//! | read | 8, file, place, bytes | | | data |
//! | drop a piece | 9, file | | | |
//! | held bytes | 10 | | bytes | |
//! | done with a phase | 11 | | none | |
//!
//! The first number of an answer is 0, or says why it was refused.

use crosstalk_core::Fault;

use crate::layout::Layout;

/// Bytes of a request or an answer before names or data.
pub const HEADER: usize = 32;

/// What a client asks of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<'a> {
    /// Of the metadata server: make a file.
    Create(&'a str),
    /// Of the metadata server: where a file's bytes are.
    Lookup(&'a str),
    /// Of the metadata server: remove a name. Its pieces are left to [`Request::Drop`].
    Remove(&'a str),
    /// Of the metadata server: rename a file, and replace the one that has the new name.
    Rename(&'a str, &'a str),
    /// Of the metadata server: all names.
    List,
    /// How many bytes the piece of a file has.
    Size(u64),
    /// Write data into the piece of a file, from `at` on.
    Write {
        /// The file's number.
        file: u64,
        /// The place in its piece.
        at: u64,
        /// The data, in parts that follow each other.
        data: Vec<&'a [u8]>,
    },
    /// Read from the piece of a file. What was never written reads as zeros.
    Read {
        /// The file's number.
        file: u64,
        /// The place in its piece.
        at: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// Drop the piece of a file.
    Drop(u64),
    /// How many bytes of files it holds.
    Held,
    /// This client has no more requests in this phase of the run. There is no answer.
    Done,
}

/// Why a server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No file has this name.
    NoFile,
    /// A file has this name.
    Exists,
    /// More bytes than it may hold.
    Full {
        /// How many it holds.
        held: u64,
        /// How many it may hold.
        limit: u64,
        /// How many more the write needs. What was never written before it takes room, too.
        more: u64,
    },
    /// It has no metadata, or what came is no request.
    NotUnderstood,
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// It was done.
    Done,
    /// Where a file's bytes are, or were.
    Layout(Layout),
    /// It was renamed; the number of the file that it has replaced.
    Renamed(Option<u64>),
    /// Names.
    Names(Vec<&'a str>),
    /// A number of bytes.
    Bytes(u64),
    /// Data, and so many zeros after them.
    Data(&'a [u8], usize),
    /// It was refused.
    Refused(Refusal),
}

fn header(numbers: [u64; 4], rest: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + rest);
    numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    bytes
}

/// The numbers of a message, and what follows them.
fn parse(bytes: &[u8]) -> Option<([u64; 4], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<HEADER>()?;
    let (numbers, _) = head.as_chunks::<8>();
    Some(([0, 1, 2, 3].map(|index| u64::from_le_bytes(numbers[index])), rest))
}

impl<'a> Request<'a> {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let named = |kind, name: &str| {
            let mut bytes = header([kind, 0, 0, 0], name.len());
            bytes.extend_from_slice(name.as_bytes());
            bytes
        };
        match self {
            Request::Create(name) => named(1, name),
            Request::Lookup(name) => named(2, name),
            Request::Remove(name) => named(3, name),
            Request::Rename(old, new) => {
                let mut bytes = header([4, old.len() as u64, 0, 0], old.len() + new.len());
                bytes.extend_from_slice(old.as_bytes());
                bytes.extend_from_slice(new.as_bytes());
                bytes
            }
            Request::List => header([5, 0, 0, 0], 0),
            Request::Size(file) => header([6, *file, 0, 0], 0),
            Request::Write { file, at, data } => {
                let mut bytes = header([7, *file, *at, 0], data.iter().map(|part| part.len()).sum());
                data.iter().for_each(|part| bytes.extend_from_slice(part));
                bytes
            }
            Request::Read { file, at, bytes } => header([8, *file, *at, *bytes], 0),
            Request::Drop(file) => header([9, *file, 0, 0], 0),
            Request::Held => header([10, 0, 0, 0], 0),
            Request::Done => header([11, 0, 0, 0], 0),
        }
    }

    /// The request of these bytes; `None` if they are none.
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let ([kind, one, two, three], rest) = parse(bytes)?;
        let name = || std::str::from_utf8(rest).ok();
        Some(match kind {
            1 => Request::Create(name()?),
            2 => Request::Lookup(name()?),
            3 => Request::Remove(name()?),
            4 => {
                let (old, new) = name()?.split_at_checked(usize::try_from(one).ok()?)?;
                Request::Rename(old, new)
            }
            5 => Request::List,
            6 => Request::Size(one),
            7 => Request::Write { file: one, at: two, data: vec![rest] },
            8 => Request::Read { file: one, at: two, bytes: three },
            9 => Request::Drop(one),
            10 => Request::Held,
            11 => Request::Done,
            _ => return None,
        })
    }
}

impl<'a> Answer<'a> {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Answer::Done => header([0, 0, 0, 0], 0),
            Answer::Layout(Layout { file, stripe, servers }) => header([0, *file, *stripe, *servers], 0),
            Answer::Renamed(replaced) => header([0, replaced.map_or(0, |file| file + 1), 0, 0], 0),
            Answer::Names(names) => {
                let mut bytes = header([0; 4], names.iter().map(|name| 4 + name.len()).sum());
                for name in names {
                    bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
                    bytes.extend_from_slice(name.as_bytes());
                }
                bytes
            }
            Answer::Bytes(count) => header([0, *count, 0, 0], 0),
            Answer::Data(data, zeros) => {
                let mut bytes = header([0; 4], data.len() + zeros);
                bytes.extend_from_slice(data);
                bytes.resize(bytes.len() + zeros, 0);
                bytes
            }
            Answer::Refused(refusal) => match refusal {
                Refusal::NoFile => header([1, 0, 0, 0], 0),
                Refusal::Exists => header([2, 0, 0, 0], 0),
                Refusal::Full { held, limit, more } => header([3, *held, *limit, *more], 0),
                Refusal::NotUnderstood => header([4, 0, 0, 0], 0),
            },
        }
    }

    /// The answer of these bytes to a request.
    ///
    /// # Errors
    /// If they are none.
    pub fn decode(bytes: &'a [u8], to: &Request) -> Result<Self, Fault> {
        let answer = Self::read(bytes, to);
        answer.ok_or_else(|| {
            Fault::attempt(format!("a server sent a malformed answer of {} bytes", bytes.len()))
                .remedy("run the same program on all nodes")
        })
    }

    fn read(bytes: &'a [u8], to: &Request) -> Option<Self> {
        let ([refused, one, two, three], rest) = parse(bytes)?;
        let refusal = match refused {
            0 => None,
            1 => Some(Refusal::NoFile),
            2 => Some(Refusal::Exists),
            3 => Some(Refusal::Full { held: one, limit: two, more: three }),
            4 => Some(Refusal::NotUnderstood),
            _ => return None,
        };
        if let Some(refusal) = refusal {
            return Some(Answer::Refused(refusal));
        }
        Some(match to {
            Request::Create(_) | Request::Lookup(_) | Request::Remove(_) if two > 0 && three > 0 => {
                Answer::Layout(Layout { file: one, stripe: two, servers: three })
            }
            Request::Rename(..) => Answer::Renamed(one.checked_sub(1)),
            Request::List => Answer::Names(names(rest)?),
            Request::Size(_) | Request::Held => Answer::Bytes(one),
            Request::Read { bytes, .. } if rest.len() as u64 == *bytes => Answer::Data(rest, 0),
            Request::Write { .. } | Request::Drop(_) => Answer::Done,
            _ => return None,
        })
    }
}

fn names(mut bytes: &[u8]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        names.push(std::str::from_utf8(name).ok()?);
        bytes = rest;
    }
    bytes.is_empty().then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_and_answers_are_the_same_after_the_wire() {
        let layout = Answer::Layout(Layout { file: 3, stripe: 64, servers: 2 });
        let write = Request::Write { file: 1, at: 70, data: vec![b"ab".as_slice()] };
        let read = Request::Read { file: 1, at: 9, bytes: 2 };
        let pairs = [
            (Request::Create("ä"), layout.clone()),
            (Request::Lookup("b"), layout),
            (Request::Remove(""), Answer::Refused(Refusal::NoFile)),
            (Request::Rename("old", "new"), Answer::Renamed(Some(0))),
            (Request::Rename("", "x"), Answer::Renamed(None)),
            (Request::List, Answer::Names(vec!["", "a", "bc"])),
            (Request::Size(8), Answer::Bytes(5)),
            (write.clone(), Answer::Done),
            (write, Answer::Refused(Refusal::Full { held: 7, limit: 8, more: 2 })),
            (read, Answer::Data(b"xy", 0)),
            (Request::Drop(u64::MAX), Answer::Done),
            (Request::Held, Answer::Bytes(0)),
            (Request::Done, Answer::Refused(Refusal::NotUnderstood)),
        ];
        for (request, answer) in pairs {
            let (sent, answered) = (request.encode(), answer.encode());
            assert_eq!(Request::decode(&sent), Some(request.clone()));
            assert_eq!(Answer::decode(&answered, &request), Ok(answer));
        }
    }

    #[test]
    fn parts_and_zeros_are_sent_one_after_the_other() {
        let write = Request::Write { file: 0, at: 0, data: vec![b"ab", b"", b"c"] }.encode();
        assert_eq!(write[HEADER..], *b"abc");
        assert_eq!(Answer::Data(b"a", 2).encode()[HEADER..], *b"a\0\0");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80), kind in 0_u8..13) {
            let mut bytes = bytes;
            if bytes.len() > HEADER {
                bytes[0] = kind;
                bytes[1..8].fill(0);
            }
            if let Some(request) = Request::decode(&bytes) {
                let again = request.encode();
                prop_assert_eq!(Request::decode(&again), Some(request));
            }
            for request in [Request::List, Request::Rename("", ""), Request::Read { file: 0, at: 0, bytes: 1 }] {
                let _ = Answer::decode(&bytes, &request);
            }
        }
    }
}
