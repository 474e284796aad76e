//! Words as keys. Short ones, nearly all, are two machine words: they are compared and hashed without another
//! memory access, and need no allocation.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::record::{Key, owner_of};

/// The most bytes of a short word.
const SHORT: usize = 15;

/// A short string of at most 255 bytes, in the order of bytes, kept without an allocation where it is short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(Form);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// The bytes, zeros, and in the last byte their number. As two numbers, first bytes highest, they sort
    /// like the words.
    Short([u64; 2]),
    /// More than [`SHORT`] bytes.
    Long(Box<[u8]>),
}

impl Word {
    /// The word of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        if bytes.len() > SHORT {
            return Word(Form::Long(bytes.into()));
        }
        let mut padded = [0; SHORT + 1];
        padded[..bytes.len()].copy_from_slice(bytes);
        padded[SHORT] = bytes.len() as u8;
        let number = u128::from_be_bytes(padded);
        Word(Form::Short([(number >> 64) as u64, number as u64]))
    }

    /// The word of the first bytes, so many: of one piece where there are enough, as
    /// copying a few bytes takes longer than masking many.
    fn front(bytes: &[u8], length: usize) -> Option<Self> {
        match bytes.first_chunk() {
            Some(padded) if length <= SHORT => {
                let number = u128::from_be_bytes(*padded) & !(u128::MAX >> (8 * length)) | length as u128;
                Some(Word(Form::Short([(number >> 64) as u64, number as u64])))
            }
            _ => bytes.get(..length).map(Word::new),
        }
    }

    /// Passes the bytes to a function.
    pub fn with_bytes<R>(&self, use_them: impl FnOnce(&[u8]) -> R) -> R {
        match &self.0 {
            Form::Short([high, low]) => {
                let padded = (u128::from(*high) << 64 | u128::from(*low)).to_be_bytes();
                use_them(&padded[..usize::from(padded[SHORT])])
            }
            Form::Long(bytes) => use_them(bytes),
        }
    }

    /// Bytes of memory that it takes outside of itself.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Short(_) => 0,
            Form::Long(bytes) => bytes.len() + ALLOCATED,
        }
    }
}

/// About what an allocation takes beyond its bytes: one word for the allocator, and half of what it rounds up
/// to.
const ALLOCATED: usize = 16;

impl Ord for Word {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Form::Short(one), Form::Short(other)) => one.cmp(other),
            _ => self.with_bytes(|one| other.with_bytes(|other| one.cmp(other))),
        }
    }
}

impl PartialOrd for Word {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Word {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Form::Short([high, low]) => {
                state.write_u64(*high);
                state.write_u64(*low);
            }
            Form::Long(bytes) => state.write(bytes),
        }
    }
}

impl Key for Word {
    fn owner(&self, parts: usize) -> usize {
        let mixed = match &self.0 {
            Form::Short([high, low]) => high.wrapping_mul(0x0000_0100_0000_01b3) ^ low.rotate_left(32),
            // FNV-1a.
            Form::Long(bytes) => bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
            }),
        };
        owner_of(mixed, parts)
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.with_bytes(|bytes| {
            out.push(bytes.len() as u8);
            out.extend_from_slice(bytes);
        });
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let (length, rest) = from.split_first()?;
        let length = usize::from(*length);
        let word = Word::front(rest, length)?;
        *from = &rest[length..];
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::hash::{BuildHasher, RandomState};

    proptest! {
        #[test]
        fn words_are_in_the_order_of_their_bytes(
            one in proptest::collection::vec(0_u8..3, 0..20),
            other in proptest::collection::vec(0_u8..3, 0..20),
        ) {
            let (a, b) = (Word::new(&one), Word::new(&other));
            prop_assert_eq!(a.cmp(&b), one.cmp(&other));
            prop_assert_eq!(a == b, one == other);
            prop_assert_eq!(a.with_bytes(<[u8]>::to_vec), one.clone());
            let mut written = Vec::new();
            a.write(&mut written);
            b.write(&mut written);
            let from = &mut written.as_slice();
            prop_assert_eq!((Word::read(from), Word::read(from)), (Some(a.clone()), Some(b)));
            prop_assert!(from.is_empty());
            let random = RandomState::new();
            prop_assert_eq!(random.hash_one(&a), random.hash_one(Word::new(&one)));
        }
    }

    #[test]
    fn a_short_word_is_three_machine_words() {
        assert_eq!(size_of::<Word>(), 24);
        assert_eq!((Word::new(&[7; 15]).heap_bytes(), Word::new(&[7; 16]).heap_bytes()), (0, 32));
    }
}
