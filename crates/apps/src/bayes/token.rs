//! Words of a text.
//!
//! A word is a longest run of at least two letters or digits, in lower case,
//! of at most 255 bytes. Letters and digits are those of ASCII and every
//! character from U+00C0 on, but × and ÷, General Punctuation up to the
//! Miscellaneous Symbols and Arrows (U+2000–U+2BFF) and CJK Symbols and
//! Punctuation (U+3000–U+303F). Lower case is Unicode's, character by character.

/// The most bytes that a word has.
pub const LONGEST: usize = u8::MAX as usize;

/// Passes the words of a text to a function, in order.
pub fn for_each_word(text: &str, mut take: impl FnMut(&[u8])) {
    let mut word = Word::default();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let lower = ASCII[usize::from(bytes[at])];
        if lower != 0 {
            word.bytes.push(lower);
            word.characters += 1;
            at += 1;
        } else if bytes[at] < 0x80 {
            word.end(&mut take);
            at += 1;
        } else {
            // A character's first byte: earlier characters were consumed whole.
            let Some(character) = text[at..].chars().next() else { break };
            at += character.len_utf8();
            if is_letter(character) {
                word.push(character);
            } else {
                word.end(&mut take);
            }
        }
    }
    word.end(&mut take);
}

#[derive(Default)]
struct Word {
    bytes: Vec<u8>,
    /// Length in the text: the lower case may be longer.
    characters: usize,
}

impl Word {
    fn push(&mut self, character: char) {
        self.characters += 1;
        let mut buffer = [0; 4];
        for lower in character.to_lowercase() {
            self.bytes.extend_from_slice(lower.encode_utf8(&mut buffer).as_bytes());
        }
    }

    #[inline]
    fn end(&mut self, take: &mut impl FnMut(&[u8])) {
        if self.characters >= 2 && self.bytes.len() <= LONGEST {
            take(&self.bytes);
        }
        self.bytes.clear();
        self.characters = 0;
    }
}

/// A letter's or digit's lower case, else 0.
const ASCII: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            table[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

fn is_letter(character: char) -> bool {
    match character {
        '\u{d7}' | '\u{f7}' => false,
        '\u{2000}'..='\u{2bff}' | '\u{3000}'..='\u{303f}' => false,
        _ => character >= '\u{c0}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each_word(text, |word| found.push(String::from_utf8(word.to_vec()).expect("UTF-8")));
        found
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(
            of("A cat's [[Piet Mondrian|Mondrian]], 1872–1944."),
            ["cat", "piet", "mondrian", "mondrian", "1872", "1944"]
        );
        assert_eq!(of("Ærøskøbing ÉTÉ×2 naïve“quoted” x"), ["ærøskøbing", "été", "naïve", "quoted"]);
        assert_eq!(
            of("snake_case&nbsp;東京、日本 İx"),
            ["snake", "case", "nbsp", "東京", "日本", "i\u{307}x"]
        );
        assert!(of("").is_empty());
    }

    #[test]
    fn what_is_too_long_is_no_word() {
        assert_eq!(
            of(&format!("{} {} end", "a".repeat(255), "b".repeat(256))),
            ["a".repeat(255).as_str(), "end"]
        );
    }

    proptest! {
        #[test]
        fn words_have_no_separators_and_survive_a_second_time(text: String) {
            let found = of(&text);
            prop_assert!(found.iter().all(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || is_letter(c))));
            prop_assert_eq!(of(&found.join(" ")), found);
        }
    }
}
