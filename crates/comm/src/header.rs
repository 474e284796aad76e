//! The header before every message on the wire: 56 bytes, little-endian.
//!
//! | bytes | field |
//! |---|---|
//! | 0–3 | magic `XTLK` |
//! | 4–5 | version |
//! | 6–7 | kind of message |
//! | 8–11 | source rank |
//! | 12–15 | tag, or the number of the collective |
//! | 16–23 | length of the payload in bytes |
//! | 24–31 | identity of the communicator; 0 is the world |
//! | 32–39 | number of the message among the source's point-to-point messages, from 0 |
//! | 40–47 | key of the attempt |
//! | 48–49 | type of the elements |
//! | 50–55 | zero |

use crosstalk_core::Fault;
use crosstalk_core::mpi::Operation;

/// Bytes of a header.
pub(crate) const HEADER: usize = 56;
/// The longest payload, in bytes: what a sender may send and a receiver accepts.
pub(crate) const LONGEST: u64 = 1 << 32;

const MAGIC: [u8; 4] = *b"XTLK";
const VERSION: u16 = 2;

/// The kind of a message. A receive matches messages of one kind only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Opens a connection; no payload.
    Hello,
    /// Answers `Hello` of a rank of higher number: the connection counts; no payload.
    Accepted,
    /// Opens a connection to the clock server; no payload.
    ClockServer,
    /// A message of the program, with the program's tag.
    Point,
    /// A message of a collective.
    Collective(Operation),
    /// The source has finished and sends nothing more.
    Goodbye,
    /// The source ends because another node is gone, whose number is the tag.
    PeerGone,
    /// The source waits for the receiver, and others may wait for the source (`deadlock.rs`).
    Waits,
}

const FIRST_COLLECTIVE: u16 = 16;

impl Kind {
    fn code(self) -> u16 {
        match self {
            Kind::Hello => 0,
            Kind::Point => 1,
            Kind::Goodbye => 2,
            Kind::PeerGone => 3,
            Kind::Accepted => 4,
            Kind::ClockServer => 5,
            Kind::Waits => 6,
            Kind::Collective(which) => {
                let index = Operation::ALL.iter().position(|operation| *operation == which);
                FIRST_COLLECTIVE + index.expect("all operations are listed") as u16
            }
        }
    }

    fn from_code(code: u16) -> Option<Self> {
        match code {
            0 => Some(Kind::Hello),
            1 => Some(Kind::Point),
            2 => Some(Kind::Goodbye),
            3 => Some(Kind::PeerGone),
            4 => Some(Kind::Accepted),
            5 => Some(Kind::ClockServer),
            6 => Some(Kind::Waits),
            _ => {
                let which = code.checked_sub(FIRST_COLLECTIVE)?;
                Operation::ALL.get(usize::from(which)).copied().map(Kind::Collective)
            }
        }
    }
}

/// The fields of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) source: u32,
    pub(crate) tag: u32,
    pub(crate) length: u64,
    pub(crate) communicator: u64,
    pub(crate) number: u64,
    pub(crate) key: u64,
    pub(crate) element: u16,
}

impl Header {
    /// A header without payload.
    pub(crate) fn bare(kind: Kind, source: usize, tag: u32) -> Self {
        let source = source as u32;
        Header { kind, source, tag, length: 0, communicator: 0, number: 0, key: 0, element: 0 }
    }

    /// The bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut wire = [0; HEADER];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            wire[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC);
        put(&VERSION.to_le_bytes());
        put(&self.kind.code().to_le_bytes());
        put(&self.source.to_le_bytes());
        put(&self.tag.to_le_bytes());
        put(&self.length.to_le_bytes());
        put(&self.communicator.to_le_bytes());
        put(&self.number.to_le_bytes());
        put(&self.key.to_le_bytes());
        put(&self.element.to_le_bytes());
        wire
    }

    /// Reads a header.
    ///
    /// # Errors
    /// If it is no header of this version, or the payload exceeds [`LONGEST`].
    pub(crate) fn decode(wire: &[u8; HEADER]) -> Result<Self, Fault> {
        if wire[..4] != MAGIC {
            return Err(malformed(format!("expected the magic `XTLK`, found {:02x?}", &wire[..4])));
        }
        let version = u16::from_le_bytes(take(wire, 4));
        if version != VERSION {
            return Err(malformed(format!("expected version {VERSION}, found {version}"))
                .remedy("run the same build of crosstalk on every node"));
        }
        let code = u16::from_le_bytes(take(wire, 6));
        let kind =
            Kind::from_code(code).ok_or_else(|| malformed(format!("unknown kind of message {code}")))?;
        let length = u64::from_le_bytes(take(wire, 16));
        if length > LONGEST {
            return Err(malformed(format!("expected at most {LONGEST} bytes, found {length}")));
        }
        Ok(Header {
            kind,
            source: u32::from_le_bytes(take(wire, 8)),
            tag: u32::from_le_bytes(take(wire, 12)),
            length,
            communicator: u64::from_le_bytes(take(wire, 24)),
            number: u64::from_le_bytes(take(wire, 32)),
            key: u64::from_le_bytes(take(wire, 40)),
            element: u16::from_le_bytes(take(wire, 48)),
        })
    }
}

fn take<const N: usize>(wire: &[u8; HEADER], from: usize) -> [u8; N] {
    std::array::from_fn(|i| wire[from + i])
}

fn malformed(message: String) -> Fault {
    Fault::attempt(format!("malformed message header: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        (0u16..40).prop_filter_map("a kind", Kind::from_code)
    }

    proptest! {
        #[test]
        fn a_header_is_the_same_after_the_wire(
            kind in kinds(), source: u32, tag: u32, length in 0..=LONGEST, communicator: u64, number: u64, key: u64,
            element: u16,
        ) {
            let header = Header { kind, source, tag, length, communicator, number, key, element };
            prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
        }

        #[test]
        fn noise_is_a_fault_not_a_panic(noise in proptest::collection::vec(any::<u8>(), HEADER)) {
            let mut wire: [u8; HEADER] = noise.try_into().expect("as long as a header");
            let _ = Header::decode(&wire);
            wire[..6].copy_from_slice(b"XTLK\x02\x00");
            if let Ok(header) = Header::decode(&wire) {
                prop_assert!(header.length <= LONGEST);
            }
        }
    }

    #[test]
    fn another_version_is_named() {
        let mut wire = Header::bare(Kind::Point, 0, 0).encode();
        wire[4] = 9;
        let fault = Header::decode(&wire).expect_err("refused");
        assert!(fault.to_string().contains("version 2, found 9"), "{fault}");
    }
}
