//! Tokens, by which a server knows the data connections of its client.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The number of bytes of a token.
pub const SIZE: usize = 8;

/// A number that another connection cannot guess by accident.
pub fn token() -> u64 {
    RandomState::new().build_hasher().finish()
}
