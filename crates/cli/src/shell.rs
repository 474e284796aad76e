//! Words as a shell reads them back, on one line.

/// The command line as it could be typed again.
pub fn command_line() -> String {
    let arguments = std::env::args().skip(1).map(|word| quoted(&word));
    std::iter::once("crosstalk".to_string()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// One word. What would move a cursor or end the line is spelled out, in the form
/// that bash, zsh and ksh read (POSIX.1-2024, 2.2.4).
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    if !word.contains(char::is_control) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let spelled = |c: char| match c {
        '\n' => "\\n".into(),
        '\t' => "\\t".into(),
        '\\' | '\'' => format!("\\{c}"),
        c if c.is_control() => {
            c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        c => c.to_string(),
    };
    format!("$'{}'", word.chars().map(spelled).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("--vary=fabric"), "--vary=fabric");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(quoted("a\nb\u{1b}'\\"), "$'a\\nb\\x1b\\'\\\\'");
    }
}
