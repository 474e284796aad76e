//! The layout of a measured message.
//!
//! A message carries its number in its first eight bytes, or fewer if it is shorter, so that a late
//! reply is not taken for another's. If client and server share a clock and there is room, the next
//! bytes have times of the server ([`ServerStamps`]). Numbers are little-endian.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The bytes of a reply that hold the time of arrival at the server.
pub const ARRIVAL_TIME: Range<usize> = 8..16;
/// The bytes of a reply that hold the time at which the server began to send it.
pub const DEPARTURE_TIME: Range<usize> = 16..24;

/// The times that a server writes into a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerStamps {
    /// None.
    None,
    /// When the message had arrived.
    Arrival,
    /// The same, and when the server began to send the reply.
    Both,
}

impl ServerStamps {
    /// Bytes that a message needs for them.
    pub fn bytes_needed(self) -> usize {
        match self {
            ServerStamps::None => 0,
            ServerStamps::Arrival => ARRIVAL_TIME.end,
            ServerStamps::Both => DEPARTURE_TIME.end,
        }
    }

    /// Whether a message of `size` bytes has room for them.
    pub fn fits_into(self, size: u64) -> bool {
        size >= self.bytes_needed() as u64
    }
}

/// The time in a message at `place`, for which the message has room.
pub fn read_time(message: &[u8], place: Range<usize>) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&message[place]);
    u64::from_le_bytes(bytes)
}

/// Writes the sequence number of a message.
pub fn write_number(message: &mut [u8], number: u64) {
    let digits = message.len().min(8);
    message[..digits].copy_from_slice(&number.to_le_bytes()[..digits]);
}

/// Reads the sequence number of a message of at least eight bytes.
pub fn read_number(message: &[u8]) -> u64 {
    message.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes))
}

/// Whether a reply has this number.
pub fn has_number(reply: &[u8], number: u64) -> bool {
    let digits = reply.len().min(8);
    reply[..digits] == number.to_le_bytes()[..digits]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stamps_need_sixteen_or_twenty_four_bytes() {
        assert!(ServerStamps::None.fits_into(1));
        assert!(ServerStamps::Arrival.fits_into(16) && !ServerStamps::Arrival.fits_into(15));
        assert!(ServerStamps::Both.fits_into(24) && !ServerStamps::Both.fits_into(23));
    }

    proptest! {
        #[test]
        fn a_message_carries_its_number(size in 1usize..100, n: u64) {
            let mut message = vec![7; size];
            write_number(&mut message, n);
            prop_assert!(has_number(&message, n));
            prop_assert!(!has_number(&message, n.wrapping_add(1)));
            prop_assert!(message[size.min(8)..].iter().all(|b| *b == 7));
        }
    }
}
