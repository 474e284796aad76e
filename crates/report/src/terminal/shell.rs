//! Breaks a command into lines that a shell joins again.
//!
//! A backslash before a line's end joins it to the next, outside quotes and in
//! double ones (POSIX.1, 2.2.1); within single quotes it does not, so these are
//! closed before it and opened again after it.

use unicode_width::UnicodeWidthStr;

use super::layout::without_controls;

/// The open quotes.
#[derive(Clone, Copy, PartialEq)]
enum Quote {
    None,
    Single,
    /// `$'…'`, in which a backslash spells a character.
    Dollar,
    Double,
}

impl Quote {
    /// The end of a line within these quotes, and the beginning of the next.
    fn line_break(self) -> (&'static str, &'static str) {
        match self {
            Quote::None | Quote::Double => ("\\", ""),
            Quote::Single => ("'\\", "'"),
            Quote::Dollar => ("'\\", "$'"),
        }
    }
}

/// A piece that must not be broken, and the open quotes before it.
struct Piece {
    text: String,
    within: Quote,
}

/// A command for a shell on lines of at most `width` columns (20 at least), to be copied.
pub fn command_lines(command: &str, width: usize) -> Vec<String> {
    let command = without_controls(command);
    if command.width() <= width {
        return vec![command];
    }
    // The longest line break has two columns.
    let room = width - 2;
    let mut lines = vec![String::new()];
    for word in words(&command) {
        let long: usize = word.iter().map(|piece| piece.text.width()).sum();
        let last = lines.len() - 1;
        if !lines[last].is_empty() {
            if lines[last].width() + 1 + long <= room {
                lines[last].push(' ');
            } else {
                lines[last].push_str(" \\");
                lines.push(String::new());
            }
        }
        for piece in word {
            let last = lines.len() - 1;
            if lines[last].width() + piece.text.width() > room {
                let (end, begin) = piece.within.line_break();
                lines[last].push_str(end);
                lines.push(begin.to_string());
            }
            if let Some(line) = lines.last_mut() {
                line.push_str(&piece.text);
            }
        }
    }
    lines
}

/// The words of a command, each in its smallest pieces.
fn words(command: &str) -> Vec<Vec<Piece>> {
    let mut words = vec![Vec::new()];
    let mut quote = Quote::None;
    let mut rest = command.chars().peekable();
    while let Some(c) = rest.next() {
        let within = quote;
        let mut text = String::from(c);
        match (quote, c) {
            (Quote::None, ' ') => {
                words.push(Vec::new());
                continue;
            }
            (Quote::None, '\'') => quote = Quote::Single,
            (Quote::None, '"') => quote = Quote::Double,
            (Quote::None, '$') if rest.next_if_eq(&'\'').is_some() => {
                text.push('\'');
                quote = Quote::Dollar;
            }
            (Quote::Single | Quote::Dollar, '\'') | (Quote::Double, '"') => quote = Quote::None,
            (Quote::None | Quote::Double | Quote::Dollar, '\\') => {
                text.extend(rest.next());
                let digits = if quote == Quote::Dollar && text.ends_with('x') { 2 } else { 0 };
                (0..digits).for_each(|_| text.extend(rest.next_if(char::is_ascii_hexdigit)));
            }
            _ => {}
        }
        if let Some(word) = words.last_mut() {
            word.push(Piece { text, within });
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// The words that `shell` reads; `None` where there is no such shell.
    fn read(shell: &str, command: &str) -> Option<String> {
        let script = format!("printf '<%s>' {command}");
        let output = Command::new(shell).args(["-c", &script]).output().ok()?;
        assert!(output.status.success(), "{script}");
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    #[test]
    fn a_short_command_stays_on_one_line_and_words_are_broken_last() {
        assert_eq!(command_lines("crosstalk run kosmos", 20), ["crosstalk run kosmos"]);
        assert_eq!(command_lines("crosstalk run kosmos --quick", 22), ["crosstalk run kosmos \\", "--quick"]);
        assert_eq!(
            command_lines("--vary fabric=ethernet-1g,x", 20),
            ["--vary \\", "fabric=ethernet-1g\\", ",x"]
        );
    }

    #[test]
    fn a_script_within_quotes_reads_the_same() {
        let script = "run -- sh -c 'for i in 1 2 3; do ./job \"$i\" | tee log; done' $'a\\nb\\x41\\'c d e f'";
        let Some(whole) = read("bash", script) else {
            eprintln!("skipped: no bash here");
            return;
        };
        for width in 20..100 {
            let broken = command_lines(script, width);
            assert!(broken.iter().all(|line| line.width() <= width), "{broken:?}");
            assert_eq!(read("bash", &broken.join("\n")), Some(whole.clone()), "{broken:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_quoted_words_read_the_same(words in prop::collection::vec("[ -~]{0,40}", 1..6), width in 20usize..80) {
            let quoted: Vec<String> =
                words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            let command = quoted.join(" ");
            let expected: String = words.iter().map(|word| format!("<{word}>")).collect();
            if let Some(read) = read("sh", &command_lines(&command, width).join("\n")) {
                prop_assert_eq!(read, expected);
            }
        }
    }
}
