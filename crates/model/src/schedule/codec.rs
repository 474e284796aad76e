//! Operations as bytes: on the route from a running rank to the network, and in a schedule.
//!
//! An item is a byte that says what it is, then its numbers in this order:
//!
//! | byte | item | numbers |
//! |---|---|---|
//! | 1 | the next call site | text; call sites are numbered from 0 |
//! | 2, 3, 4 | computing on one core, on all, serialising | nanoseconds |
//! | 5, 6 | disk access after a seek, without | bytes |
//! | 7, 8 | send, and with a request | call site, communicator, to, tag, bytes; request |
//! | 9, 10 | receive, and with a request | call site, communicator, 1 + from or 0, 1 + tag or 0; request |
//! | 11, 12 | wait for all, for any | call site, how many, requests |
//! | 13 | test | call site, request |
//! | 14 | collective | call site, operation, communicator, root, sizes |
//! | 15 | communicator | call site, identity, how many, members |
//! | 16, 17, 18 | restart, account, finish | call site |
//!
//! Sizes are a byte and numbers: 0, elements and bytes of one; 1, bytes of each piece; 2, bytes of the rank's
//! own; 3, how many and the bytes of each.

use crosstalk_core::Fault;
use crosstalk_core::mpi;
use std::sync::Arc;

use crate::disk::Access;
use crate::network::{Call, Operation, Pattern, Site, Sizes, TimeUse};

/// What a stream of operations has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The next call site in the program: file and line.
    CallSite(String),
    /// An operation, and its call site.
    Operation(Operation, Site),
}

/// Appends a number.
pub fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a text.
pub fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn put_all(bytes: &mut Vec<u8>, numbers: impl IntoIterator<Item = u64>) {
    numbers.into_iter().for_each(|number| put(bytes, number));
}

/// Appends the next call site.
pub fn put_call_site(bytes: &mut Vec<u8>, call_site: &str) {
    bytes.push(1);
    put_text(bytes, call_site);
}

/// Appends an operation.
pub fn put_operation(bytes: &mut Vec<u8>, operation: &Operation, site: Site) {
    let site = u64::from(site);
    let or_any = |number: Option<u32>| number.map_or(0, |number| 1 + u64::from(number));
    match operation {
        Operation::Compute { used, nanos } => {
            bytes.push(match used {
                TimeUse::Compute => 2,
                TimeUse::Parallel => 3,
                TimeUse::Serialise => 4,
            });
            put(bytes, *nanos);
        }
        Operation::Spill { access, bytes: moved } => {
            bytes.push(if *access == Access::Seek { 5 } else { 6 });
            put(bytes, *moved);
        }
        Operation::Send { communicator, to, tag, bytes: sent, request } => {
            bytes.push(7 + u8::from(request.is_some()));
            put_all(bytes, [site, (*communicator).into(), (*to).into(), (*tag).into(), *sent]);
            put_all(bytes, request.map(u64::from));
        }
        Operation::Receive { communicator, pattern, request } => {
            bytes.push(9 + u8::from(request.is_some()));
            put_all(bytes, [site, (*communicator).into(), or_any(pattern.from), or_any(pattern.tag)]);
            put_all(bytes, request.map(u64::from));
        }
        Operation::WaitAll(requests) | Operation::WaitAny(requests) => {
            bytes.push(11 + u8::from(matches!(operation, Operation::WaitAny(_))));
            put_all(bytes, [site, requests.len() as u64]);
            put_all(bytes, requests.iter().map(|request| u64::from(*request)));
        }
        Operation::Test(request) => {
            bytes.push(13);
            put_all(bytes, [site, u64::from(*request)]);
        }
        Operation::Collective(call) => {
            bytes.push(14);
            let operation = mpi::Operation::ALL.iter().position(|operation| *operation == call.operation);
            let operation = operation.expect("all operations are listed") as u64;
            put_all(bytes, [site, operation, call.communicator.into(), call.root.into()]);
            put_sizes(bytes, &call.sizes);
        }
        Operation::Define { identity, members } => {
            bytes.push(15);
            put_all(bytes, [site, *identity, members.len() as u64]);
            put_all(bytes, members.iter().map(|member| u64::from(*member)));
        }
        Operation::Restart | Operation::Account | Operation::Finish => {
            bytes.push(match operation {
                Operation::Restart => 16,
                Operation::Account => 17,
                _ => 18,
            });
            put(bytes, site);
        }
    }
}

fn put_sizes(bytes: &mut Vec<u8>, sizes: &Sizes) {
    match sizes {
        Sizes::Vector { elements, width } => put_all(bytes, [0, *elements, u64::from(*width)]),
        Sizes::Equal(each) => put_all(bytes, [1, *each]),
        Sizes::Own(own) => put_all(bytes, [2, *own]),
        Sizes::Each(each) => {
            put_all(bytes, [3, each.len() as u64]);
            put_all(bytes, each.iter().copied());
        }
    }
}

/// Reads what was put.
#[derive(Debug, Clone)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    /// Reads from the beginning of `bytes`.
    pub fn new(bytes: &'b [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// Reads from the byte `at` on.
    pub fn at(bytes: &'b [u8], at: usize) -> Self {
        Reader { bytes, at }
    }

    /// How many bytes were read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether all was read.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next number; `None` where it is not whole.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let end = self.at.checked_add(count)?;
        let found = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(found)
    }

    /// The next text; `None` where it is not whole, or no text.
    pub fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn or_any(&mut self) -> Option<Option<u32>> {
        match self.number()? {
            0 => Some(None),
            more => Some(Some(u32::try_from(more - 1).ok()?)),
        }
    }

    /// The next item; `None` where it is not whole: nothing is read then.
    ///
    /// # Errors
    /// Where it begins with a byte that no item begins with.
    pub fn item(&mut self) -> Result<Option<Item>, Fault> {
        let before = self.at;
        let Some(kind) = self.byte() else { return Ok(None) };
        if !(1..=18).contains(&kind) {
            self.at = before;
            return Err(Fault::usage(format!("no operation begins with the byte {kind}")));
        }
        let item = self.item_of(kind);
        if item.is_none() {
            self.at = before;
        }
        Ok(item)
    }

    fn item_of(&mut self, kind: u8) -> Option<Item> {
        if kind == 1 {
            return self.text().map(Item::CallSite);
        }
        let site = if kind < 7 { 0 } else { self.small()? };
        let operation = match kind {
            2 => Operation::Compute { used: TimeUse::Compute, nanos: self.number()? },
            3 => Operation::Compute { used: TimeUse::Parallel, nanos: self.number()? },
            4 => Operation::Compute { used: TimeUse::Serialise, nanos: self.number()? },
            5 => Operation::Spill { access: Access::Seek, bytes: self.number()? },
            6 => Operation::Spill { access: Access::Sequential, bytes: self.number()? },
            7 | 8 => Operation::Send {
                communicator: self.small()?,
                to: self.small()?,
                tag: self.small()?,
                bytes: self.number()?,
                request: if kind == 8 { Some(self.small()?) } else { None },
            },
            9 | 10 => Operation::Receive {
                communicator: self.small()?,
                pattern: Pattern { from: self.or_any()?, tag: self.or_any()? },
                request: if kind == 10 { Some(self.small()?) } else { None },
            },
            11 => Operation::WaitAll(self.list(Self::small)?.into()),
            12 => Operation::WaitAny(self.list(Self::small)?.into()),
            13 => Operation::Test(self.small()?),
            14 => Operation::Collective(Box::new(self.call()?)),
            15 => Operation::Define { identity: self.number()?, members: Arc::from(self.list(Self::small)?) },
            16 => Operation::Restart,
            17 => Operation::Account,
            _ => Operation::Finish,
        };
        Some(Item::Operation(operation, site))
    }

    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?).ok()?;
        // Each takes a byte at least: a number beyond that is none.
        if count > self.bytes.len() - self.at {
            return None;
        }
        (0..count).map(|_| one(self)).collect()
    }

    fn call(&mut self) -> Option<Call> {
        let operation = *mpi::Operation::ALL.get(usize::try_from(self.number()?).ok()?)?;
        let (communicator, root) = (self.small()?, self.small()?);
        let sizes = match self.number()? {
            0 => Sizes::Vector { elements: self.number()?, width: self.small()? },
            1 => Sizes::Equal(self.number()?),
            2 => Sizes::Own(self.number()?),
            3 => Sizes::Each(Arc::from(self.list(Self::number)?)),
            _ => return None,
        };
        Some(Call { operation, communicator, root, sizes })
    }
}
