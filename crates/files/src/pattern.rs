//! What test files contain: bytes that follow from the file, the offset and a seed. Any two places differ, so that a
//! stripe at a wrong place shows, as does one that was never written.

use crosstalk_core::Fault;

use crate::client::File;

/// Bytes that are compared at once.
const COMPARED: usize = 1 << 20;

/// The contents of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    key: u64,
}

impl Pattern {
    /// The contents of a file of this number among the test's files.
    pub fn new(seed: u64, file: u64) -> Self {
        Pattern { key: mixed(seed ^ mixed(file)) }
    }

    /// Fills `into` with the bytes from `offset` on.
    pub fn fill(&self, offset: u64, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            let word = mixed(self.key ^ (at / 8)).to_le_bytes();
            let word = &word[(at % 8) as usize..];
            let bytes = word.len().min(into.len() - done);
            into[done..done + bytes].copy_from_slice(&word[..bytes]);
            done += bytes;
        }
    }

    /// The bytes from `offset` on.
    pub fn bytes(&self, offset: u64, bytes: usize) -> Vec<u8> {
        let mut all = vec![0; bytes];
        self.fill(offset, &mut all);
        all
    }

    /// Compares what was read from `offset` on.
    ///
    /// # Errors
    /// An attempt fault that names the first byte that differs, and its server.
    pub fn check(&self, file: &File, offset: u64, found: &[u8]) -> Result<(), Fault> {
        // Part by part, so that no second copy of a whole block is held.
        let parts = found.chunks(COMPARED).zip((offset..).step_by(COMPARED));
        let different = parts.into_iter().find_map(|(part, begin)| {
            let expected = self.bytes(begin, part.len());
            let index = part.iter().zip(&expected).position(|(found, expected)| found != expected)?;
            Some((begin + index as u64, part[index], expected[index]))
        });
        let Some((at, found, expected)) = different else { return Ok(()) };
        let (server, _) = file.layout.place(at);
        Err(Fault::attempt(format!(
            "wrong contents at offset {at}, on server {server}: expected {expected:#04x}, found {found:#04x}"
        ))
        .at(format!("file `{}`", file.name))
        .remedy("look at what the server wrote or read there"))
    }
}

/// A number that looks random, another for each other one: the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
pub(crate) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn contents_depend_on_the_offset_alone(seed: u64, offset in 0_u64..1 << 40, cut in 0_usize..100) {
            let pattern = Pattern::new(seed, 3);
            let whole = pattern.bytes(offset, 100);
            prop_assert_eq!(pattern.bytes(offset + cut as u64, 100 - cut), whole[cut..].to_vec());
        }
    }

    #[test]
    fn another_file_seed_or_word_has_other_contents() {
        let bytes = |seed, file, offset| Pattern::new(seed, file).bytes(offset, 8);
        let first = bytes(1, 0, 0);
        assert!([bytes(1, 0, 8), bytes(1, 1, 0), bytes(2, 0, 0)].iter().all(|other| *other != first));
    }

    #[test]
    fn the_first_wrong_byte_is_named_with_its_server() {
        let file = File { name: "a".into(), layout: Layout { file: 0, stripe: 4, servers: 2 } };
        let pattern = Pattern::new(9, 0);
        let mut found = pattern.bytes(10, 6);
        assert_eq!(pattern.check(&file, 10, &found), Ok(()));
        found[3] ^= 1;
        found[5] ^= 1;
        let fault = pattern.check(&file, 10, &found).expect_err("differs").to_string();
        assert!(fault.contains("file `a`: wrong contents at offset 13, on server 1"), "{fault}");
    }
}
