//! Quotations of files in messages: short, and without control characters.

use std::borrow::Cow;
use std::fmt::{Display, Write};

/// The most characters of a quotation.
pub const LONGEST_QUOTE: usize = 80;

/// The most characters of a parser's message, which may contain quotations.
const MESSAGE: usize = 4 * LONGEST_QUOTE;

/// Quotes a field or a line of a file: at most [`LONGEST_QUOTE`] characters, with control characters,
/// direction marks and bytes that are not UTF-8 escaped. `…` marks what was cut off.
pub fn quoted(text: impl AsRef<[u8]>) -> String {
    cut(text.as_ref(), LONGEST_QUOTE)
}

/// Quotes a number: as it is, with an exponent from 10¹⁵ on.
pub fn number(found: f64) -> String {
    if found.abs() >= 1e15 { format!("{found:e}") } else { found.to_string() }
}

/// Quotes a parser's message about a file: escaped like [`quoted`], at most four times as long.
pub fn message(text: impl Display) -> String {
    let text = text.to_string();
    // The messages of `toml`, for lists, tables and dotted keys, and of `serde_json`.
    if text.starts_with("cannot recurse further") || text.starts_with("recursion limit") {
        return "lists or tables are nested too deeply".into();
    }
    cut(text.as_bytes(), MESSAGE)
}

fn cut(text: &[u8], longest: usize) -> String {
    // A character has at most four bytes, and is shown as at least one character.
    let begin = &text[..text.len().min(4 * (longest + 1))];
    let (mut shown, mut length, mut keep) = (String::new(), 0, 0);
    let mut put = |piece: &str| {
        length += piece.chars().count();
        if length <= longest {
            shown.push_str(piece);
        }
        if length < longest {
            keep = shown.len();
        }
    };
    for chunk in begin.utf8_chunks() {
        chunk.valid().chars().for_each(|c| put(&escaped(c, false)));
        chunk.invalid().iter().for_each(|byte| put(&format!("\\x{byte:02x}")));
    }
    if length > longest {
        shown.truncate(keep);
        shown.push('…');
    }
    shown
}

/// Text of several lines for a terminal, a journal or a page. Direction marks and control characters
/// are escaped, except line ends and tabs.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_control(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        // Writing to a string does not fail.
        let _ = shown.write_str(&escaped(c, true));
        shown
    }))
}

/// Text within a line: like [`plain`], but line ends and tabs are escaped too.
pub fn in_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| escaped(c, false)).collect())
}

/// Whether a character controls a terminal: it moves the cursor, ends a line, or changes the writing direction.
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

fn escaped(c: char, lines: bool) -> String {
    match c {
        '\n' | '\t' if lines => c.to_string(),
        c if is_control(c) => c.escape_default().to_string(),
        c => c.to_string(),
    }
}

/// Quotes a word for a shell, on one line. Control characters are written as `$'…'`, which bash, zsh and ksh read
/// (POSIX.1-2024, 2.2.4).
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    if !word.contains(is_control) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let spelled = |c: char| match c {
        '\n' => "\\n".into(),
        '\t' => "\\t".into(),
        '\\' | '\'' => format!("\\{c}"),
        c if is_control(c) => {
            c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        c => c.to_string(),
    };
    format!("$'{}'", word.chars().map(spelled).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(shell_word("--vary=fabric"), "--vary=fabric");
        assert_eq!(shell_word("/batch/a-1.scope"), "/batch/a-1.scope");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("/a;reboot"), "'/a;reboot'");
        assert_eq!(shell_word("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(shell_word("app\\x2da's.slice"), "'app\\x2da'\\''s.slice'");
        assert_eq!(shell_word("a\nb\u{1b}'\\"), "$'a\\nb\\x1b\\'\\\\'");
        assert_eq!(shell_word("a\u{202e}b"), "$'a\\xe2\\x80\\xaeb'");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(quoted("\u{1b}]0;PWNED\u{7}"), "\\u{1b}]0;PWNED\\u{7}");
        assert_eq!(quoted("a\u{202e}b\tc"), "a\\u{202e}b\\tc");
        assert_eq!(quoted(b"\xff\xfeA"), "\\xff\\xfeA");
        assert_eq!(quoted("naïve 数"), "naïve 数");
        assert_eq!(plain("one\n\ttwo"), "one\n\ttwo");
        assert_eq!(plain("one\n\u{9b}31m\u{2066}"), "one\n\\u{9b}31m\\u{2066}");
    }

    #[test]
    fn eighty_characters_are_quoted_in_full_and_more_are_cut() {
        assert_eq!(quoted("x".repeat(80)), "x".repeat(80));
        assert_eq!(quoted("x".repeat(81)), format!("{}…", "x".repeat(79)));
        assert_eq!(quoted("é".repeat(1 << 20)), format!("{}…", "é".repeat(79)));
        // An escape is not cut in two.
        assert_eq!(quoted(format!("{}\u{7}\u{7}", "x".repeat(78))), format!("{}…", "x".repeat(78)));
    }

    proptest! {
        #[test]
        fn no_bytes_steer_or_grow(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let shown = quoted(&bytes);
            prop_assert!(shown.chars().count() <= LONGEST_QUOTE);
            prop_assert!(!shown.chars().any(is_control));
        }

        #[test]
        fn plain_text_stays(text in "[ -~\n\t]{0,200}") {
            prop_assert_eq!(plain(&text), text.as_str());
        }
    }
}
